#pragma once

#include <cstdint>
#include <string>

namespace sluice::recordings {

/// A file as a list shows it. Two states differ if the file has probably changed.
struct file_state {
  bool exists = false;
  std::uint64_t bytes = 0;
  std::int64_t modified = 0;  ///< When the content was last changed, in ns since 1970.

  friend bool operator==(const file_state&, const file_state&) = default;
};

/// Reads the state of a regular file; `exists` is false for everything else. May block on a slow file system.
[[nodiscard]] file_state read_state(const std::string& path);

/// Formats a time for a list: "today 14:05", "yesterday", "24 Nov", and "24 Nov 2023" in another year. Both times are in
/// ns since 1970; the result is in the local time zone.
[[nodiscard]] std::string format_date(std::int64_t time, std::int64_t now);

/// The current time in ns since 1970.
[[nodiscard]] std::int64_t get_date();

}  // namespace sluice::recordings
