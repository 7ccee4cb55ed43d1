#pragma once

#include <cstdint>

/// What a program reports about itself by NVTX or sluice.h: ranges, marks, steps, names. Callable from any thread; no
/// locks (`step` may wait microseconds). Texts are `collector::intern` keys; NVTX domain 0 is the default.
namespace sluice::capture::annotations {

void push(std::uint64_t name, std::uint64_t domain) noexcept;
void pop(std::uint64_t domain) noexcept;
/// Begins a range that any thread may end. Returns its number, which is never 0.
[[nodiscard]] std::uint64_t start(std::uint64_t name, std::uint64_t domain) noexcept;
void end(std::uint64_t range) noexcept;
void mark(std::uint64_t name) noexcept;
/// Begins step `number`; -1 means one more than the last step's. Also samples pools and PyTorch's totals now, so that a
/// recording can be compared with the program's own figures for each step.
void step(std::int64_t number) noexcept;
/// Stops recording copies, kernels and waits until `resume`. Allocations and frees are still recorded, so that totals
/// stay right. Marks in the recording show the pause. Waits microseconds for CUPTI.
void pause() noexcept;
void resume() noexcept;
void name_thread(std::uint64_t tid, std::uint64_t name) noexcept;

}  // namespace sluice::capture::annotations
