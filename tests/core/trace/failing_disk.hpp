#pragma once

#include <cstdint>
#include <cstdlib>

/// Simulates a disk whose writes fail: failing_disk.cpp defines `pwrite` and `ftruncate` for the program that links it,
/// and for programs that load it as a library (LD_PRELOAD).
namespace sluice::testing {

struct failing_disk {
  /// Bytes that can still be written. A write that crosses this limit is cut short; later writes fail.
  std::uint64_t room = UINT64_MAX;
  /// Maximum length of a file in bytes. Truncating a file makes its space available again.
  std::uint64_t longest = UINT64_MAX;
  /// After this many failures, space is unlimited again.
  std::uint64_t failures = UINT64_MAX;
  int why = 0;                             ///< errno of the failures.
  std::uint64_t max_at_once = UINT64_MAX;  ///< Maximum number of bytes that one call of `pwrite` writes.
  bool truncates = true;                   ///< If false, `ftruncate` fails with EIO.
};

/// The settings of this process. By default nothing fails.
failing_disk& disk();

}  // namespace sluice::testing
