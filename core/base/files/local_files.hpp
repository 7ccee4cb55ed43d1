#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/files/regular_file.hpp"

namespace sluice {

/// Decides which local files may be read to show the sources and symbols of a recording. A recording from another
/// machine could name any file, so by default no file may be read. Immutable except for assignment, so several threads
/// may read it.
class local_files {
 public:
  /// No file may be read.
  local_files() = default;
  /// `as_recorded`: files may be opened at their recorded paths. `folders`: files are searched only in and below these
  /// folders; "/" has the same effect as `as_recorded`. Relative folders are relative to the current directory.
  local_files(bool as_recorded, const std::vector<std::string>& folders);

  struct opened {
    regular_file file;
    std::string path;  ///< Where the file was found.
    bool as_recorded;  ///< True if it was found at its recorded path, false if it was found in a folder that the user
                       ///< named.
  };
  /// Opens the file that a recording names `path`. First searches the folders that the user named: for `path` itself,
  /// and then for its longest suffix that exists there ("src/train.py" of "/build/src/train.py"). ".." and links cannot
  /// lead out of a folder. Then, if `as_recorded` is set, tries `path` itself if it is absolute. Errors: unavailable
  /// (no file may be read), and those of `regular_file::open`.
  [[nodiscard]] result<opened> open(const std::string& path, std::uint64_t max_bytes) const;

  /// True if at least some files may be read.
  [[nodiscard]] bool any() const { return as_recorded_ || !folders_.empty(); }
  [[nodiscard]] bool as_recorded() const { return as_recorded_; }

 private:
  bool as_recorded_ = false;
  std::vector<std::string> folders_;  ///< Absolute, links resolved, no trailing slash.
};

/// The message that is shown instead of sources and symbols if their files may not be read.
inline constexpr std::string_view untrusted_remark =
    "sources and symbols of this machine are not shown, because you did not make this recording on this machine; "
    "to see them, say where to look: --sources-from FOLDER, or File, Add source folder, in the window";

}  // namespace sluice
