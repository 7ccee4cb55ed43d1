#pragma once

#include <cstdint>

#include "instrumentation/capture/start/cuda_api.hpp"

/// Other users of CUPTI in this process. CUPTI serves one subscriber and one owner of activity buffers, and tells neither of
/// the other. Preloaded as we are, we are asked first when another library calls it: `other_profilers.cpp` interposes the few calls that
/// take something from us or ask for what we hold, notes them and passes them on unchanged. A rival is reported, not fought;
/// when it has stopped, what it took is taken back.
namespace sluice::capture {

/// How a message names whoever calls from `address`: "PyTorch's profiler", or the file that holds the code. Writes at most
/// `bytes` to `name`.
void name_caller(const void* address, char* name, std::size_t bytes) noexcept;

/// CUPTI's calls as the other library would have reached them without us; null if it has none.
[[nodiscard]] void* others_cupti(const char* function) noexcept;

/// We are attached: from here on calls of others matter.
void watch_other_profilers() noexcept;
/// In a fork's child: nobody has taken anything.
void forget_other_profilers() noexcept;

/// Somebody else has our records now, or has switched them off, or has shut CUPTI down.
[[nodiscard]] bool records_are_taken() noexcept;
/// Since when, CLOCK_MONOTONIC ns.
[[nodiscard]] std::uint64_t taken_since() noexcept;
/// It has stopped long enough ago: what it took may be taken back. `detached`: CUPTI was shut down, callbacks included.
[[nodiscard]] bool may_take_back(bool& detached) noexcept;
/// Done: the records are ours again.
void taken_back() noexcept;

/// Who subscribed before us, as far as we saw; "" if nobody did.
[[nodiscard]] const char* earlier_subscriber() noexcept;

/// Subscribes anew and enables everything, after a rival shut CUPTI down. False: CUPTI refuses.
bool attach_again() noexcept;

}  // namespace sluice::capture
