#pragma once

#include <cstdint>

/// What a program says of itself, by NVTX or by sluice.h: ranges, marks, steps, names. All may be called from any thread; they
/// take no lock (`step` waits for the sampler, microseconds). Texts are keys of `collector::intern`; a domain of 0 is the default.
namespace sluice::capture::annotations {

void push(std::uint64_t name, std::uint64_t domain) noexcept;
void pop(std::uint64_t domain) noexcept;
/// A range that any thread may end. Returns its number, never 0.
[[nodiscard]] std::uint64_t start(std::uint64_t name, std::uint64_t domain) noexcept;
void end(std::uint64_t range) noexcept;
void mark(std::uint64_t name) noexcept;
/// Step `number` begins; -1: the one after the last. What is sampled (pools, PyTorch's totals) is read at this moment too, so that
/// a recording can be compared with the program's own figures step by step.
void step(std::int64_t number) noexcept;
/// Copies, kernels and waits are not recorded from a pause on until `resume`; allocations and frees are, so that totals stay
/// right. Marks say when. Waits for CUPTI, microseconds.
void pause() noexcept;
void resume() noexcept;
void name_thread(std::uint64_t tid, std::uint64_t name) noexcept;

}  // namespace sluice::capture::annotations
