#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/regular_file.hpp"

namespace sluice {

/// What of this machine may be read to show the sources and symbols of a recording. A recording names files; unless it was made here by
/// this user, it could name any file. So by default nothing is read. Immutable but for assignment: safe to read from several threads.
class local_files {
 public:
  /// Nothing may be read.
  local_files() = default;
  /// `as_recorded`: what the recording names is believed. `folders`: what it names is looked for below these, and nowhere else; "/" is
  /// the same as `as_recorded`. Relative ones are below the current folder.
  local_files(bool as_recorded, const std::vector<std::string>& folders);

  struct opened {
    regular_file file;
    std::string path;  ///< Where it was found.
    bool as_recorded;  ///< At its recorded path, which was believed; not in a folder that the user named.
  };
  /// Opens the file that a recording calls `path`: below a folder, as recorded if `path` lies there, else by the longest end of `path`
  /// that exists there ("src/train.py" of "/build/src/train.py"); neither ".." nor links lead out of a folder. Else at `path`, if that is
  /// absolute and believed. Errors: unavailable, if nothing may be read; those of `regular_file::open`.
  [[nodiscard]] result<opened> open(const std::string& path, std::uint64_t most_bytes) const;

  /// Whether anything may be read.
  [[nodiscard]] bool any() const { return as_recorded_ || !folders_.empty(); }
  [[nodiscard]] bool as_recorded() const { return as_recorded_; }

 private:
  bool as_recorded_ = false;
  std::vector<std::string> folders_;  ///< Absolute, without links, without a slash at the end.
};

/// Said where a recording's sources and symbols are not looked for.
inline constexpr std::string_view untrusted_remark =
    "sources and symbols of this machine are not shown, for this recording was not made here by you; "
    "--sources-from FOLDER says where to look for them";

}  // namespace sluice
