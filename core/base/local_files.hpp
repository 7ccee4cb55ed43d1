#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/regular_file.hpp"

namespace sluice {

/// Decides which local files may be read to show a recording's sources and symbols. A recording from elsewhere could
/// name any file, so by default nothing is read. Immutable except for assignment: safe to read from several threads.
class local_files {
 public:
  /// Allows no file to be read.
  local_files() = default;
  /// `as_recorded`: open files at their recorded paths. `folders`: search for them below these folders only; "/" means
  /// the same as `as_recorded`. Relative folders are below the current directory.
  local_files(bool as_recorded, const std::vector<std::string>& folders);

  struct opened {
    regular_file file;
    std::string path;  ///< Where the file was found.
    bool as_recorded;  ///< True: found at its recorded path. False: found in a folder that the user named.
  };
  /// Opens the file that a recording calls `path`. Looks in the named folders first: for `path` itself, else for its
  /// longest suffix that exists there ("src/train.py" of "/build/src/train.py"); ".." and links cannot leave a folder.
  /// Then, if `as_recorded`, an absolute `path`. Errors: unavailable (nothing may be read), as `regular_file::open`.
  [[nodiscard]] result<opened> open(const std::string& path, std::uint64_t most_bytes) const;

  /// True if any file may be read.
  [[nodiscard]] bool any() const { return as_recorded_ || !folders_.empty(); }
  [[nodiscard]] bool as_recorded() const { return as_recorded_; }

 private:
  bool as_recorded_ = false;
  std::vector<std::string> folders_;  ///< Absolute, links resolved, no trailing slash.
};

/// Shown in place of sources and symbols when they may not be read.
inline constexpr std::string_view untrusted_remark =
    "sources and symbols of this machine are not shown, for this recording was not made here by you; "
    "to see them, say where to look: --sources-from FOLDER, or File, Look for sources in, in the window";

}  // namespace sluice
