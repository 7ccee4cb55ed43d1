#pragma once

#include <cstdint>

/// Records the annotations that a program makes through NVTX or sluice.h: ranges, marks, steps, names. Any thread may
/// call these functions. They take no lock, but `step` may wait some microseconds. Texts are `ring::intern` keys;
/// domain 0 is NVTX's default domain.
namespace sluice::capture::annotations {

void push(std::uint64_t name, std::uint64_t domain) noexcept;
void pop(std::uint64_t domain) noexcept;
/// Begins a range that any thread may end. Returns its number, which is never 0.
[[nodiscard]] std::uint64_t start(std::uint64_t name, std::uint64_t domain) noexcept;
void end(std::uint64_t range) noexcept;
void mark(std::uint64_t name) noexcept;
/// Begins step `number`; -1 means the last step's number plus 1. Also samples pools and PyTorch's totals, so that a
/// recording can be compared with the program's own numbers for each step.
void step(std::int64_t number) noexcept;
/// Stops recording copies, kernels and waits until `resume`. Allocations and frees are still recorded, so that totals
/// stay right. Host threads are not sampled meanwhile. Marks in the recording show the pause. Waits some microseconds
/// for CUPTI.
void pause() noexcept;
void resume() noexcept;
/// Stops sampling the host threads of this process until `resume_sampling`; all else is recorded. Marks show the pause.
void pause_sampling() noexcept;
void resume_sampling() noexcept;
/// In a forked child, of which the writer does not know that the parent's sampling is paused: it is sampled.
void forget_sampling_pause() noexcept;
void name_thread(std::uint64_t tid, std::uint64_t name) noexcept;

}  // namespace sluice::capture::annotations
