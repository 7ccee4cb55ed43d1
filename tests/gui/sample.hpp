#pragma once

#include <cstdint>
#include <string>

namespace sluice::test {

/// What is in the recording that `write_sample` makes: the tests compare the window with it.
struct sample {
  static constexpr int chunks = 60;
  static constexpr long long chunk_ns = 400'000;  ///< From one chunk's begin to the next's.
  static constexpr long long copy_ns = 300'000;
  static constexpr long long chunk_bytes = 16'000'000;       ///< 16 MB in 300 us: 53.3 GB/s.
  static constexpr std::uint64_t segment_bytes = 256 << 20;  ///< Block 1, which holds the chunks' buffers:
  static constexpr std::uint64_t slot_bytes = 32 << 20;      ///< each at the begin of a place of this size.
  static constexpr long long peak = 63'015'384'615;          ///< The link's, bytes/s.
};

/// A chunk pipeline as an H200 would run it, written row by row: copies in, a kernel, copies out, on three streams, with
/// a host thread, driver and pool memory, a pool, samples of the device's memory, a warning and a lost event; and who asked
/// for what, `with_stacks`.
/// Aborts the test on failure.
void write_sample(const std::string& path, bool with_stacks = true);

/// A path for this process alone: ctest runs tests side by side. Not yet a file.
[[nodiscard]] std::string own_path(const std::string& name);

/// A recording without any event.
void write_empty(const std::string& path);

}  // namespace sluice::test
