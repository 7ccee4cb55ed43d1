#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/base/files/unfinished.hpp"
#include "core/base/system/unique_descriptor.hpp"

namespace sluice {

/// Returns the folder for scratch files: the first of $TMPDIR, /tmp and /var/tmp that exists and is writable. If there
/// is none, returns `/tmp`, so that creating a file there reports the reason.
[[nodiscard]] std::string scratch_place();

/// A temporary file that only this user can read. It has no name in the file system, so nothing is left behind, however
/// the program ends.
class scratch_file {
 public:
  /// Creates an empty file in `scratch_place`. Errors: io, no_space.
  [[nodiscard]] static result<scratch_file> make();

  /// A path under which the file can be opened while this object exists. Descriptors that were opened through the path
  /// remain valid after that.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit scratch_file(int fd);
  unique_descriptor fd_;
  std::string path_;
};

/// A temporary folder, accessible only to this user, for scratch files that need a name. The destructor removes it with
/// its contents; so does a signal that ends the program (see `remove_unfinished_on_signals`).
class scratch_folder {
 public:
  /// Creates an empty folder in `scratch_place`. Errors: io, no_space.
  [[nodiscard]] static result<scratch_folder> make();

  scratch_folder(scratch_folder&& other) noexcept;
  scratch_folder& operator=(scratch_folder&& other) noexcept;
  ~scratch_folder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit scratch_folder(std::string path, unfinished_name registered);
  std::string path_;
  unfinished_name unfinished_;
};

}  // namespace sluice
