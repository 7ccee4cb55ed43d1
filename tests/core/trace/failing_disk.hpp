#pragma once

#include <cstdint>
#include <cstdlib>

/// A disk whose writes fail: failing_disk.cpp defines `pwrite` and `ftruncate` for the program that links it, and for the
/// programs that load it as a library (LD_PRELOAD).
namespace sluice::testing {

struct failing_disk {
  /// Bytes that can still be written; then each write fails, and one that begins before comes to its end there.
  std::uint64_t room = UINT64_MAX;
  /// A file cannot become longer, in bytes: what is cut off gives its room back.
  std::uint64_t longest = UINT64_MAX;
  /// After so many failures there is room again, without end.
  std::uint64_t failures = UINT64_MAX;
  int why = 0;                              ///< errno of the failures.
  std::uint64_t most_at_once = UINT64_MAX;  ///< Bytes that one write takes; the rest is left to the next.
  bool truncates = true;                    ///< Or `ftruncate` fails with EIO.
};

/// Settings of this process. By default nothing fails.
failing_disk& disk();

}  // namespace sluice::testing
