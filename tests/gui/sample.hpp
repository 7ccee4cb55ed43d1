#pragma once

#include <cstdint>
#include <string>

namespace sluice::test {

/// Properties of the recording that `write_sample` writes. Tests compare the window's content with them.
struct sample {
  static constexpr int chunks = 60;
  static constexpr long long chunk_ns = 400'000;  ///< From the start of one chunk to the start of the next.
  static constexpr long long copy_ns = 300'000;
  static constexpr long long chunk_bytes = 16'000'000;       ///< 16 MB in 300 us: 53.3 GB/s.
  static constexpr std::uint64_t segment_bytes = 256 << 20;  ///< Size of block 1, which holds the chunks' buffers.
  static constexpr std::uint64_t slot_bytes = 32 << 20;      ///< Each buffer is at the start of a slot of this size.
  static constexpr long long peak = 63'015'384'615;          ///< Peak rate of the link, in bytes/s.
};

/// Writes a chunk pipeline as an H200 would run it: copies in, a kernel, copies out, on three streams, with
/// a host thread, driver and pool memory, a pool, samples of the device's memory, a warning and a lost event; call
/// stacks too if `with_stacks`.
/// Aborts the test on failure.
void write_sample(const std::string& path, bool with_stacks = true);

/// A path that only this process uses, because ctest runs tests in parallel. Does not create the file.
[[nodiscard]] std::string own_path(const std::string& name);

/// Writes a recording without events.
void write_empty(const std::string& path);

}  // namespace sluice::test
