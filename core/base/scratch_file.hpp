#pragma once

#include <string>

#include "core/base/error.hpp"
#include "core/base/unfinished.hpp"

namespace sluice {

/// Where scratch files go: the folder that TMPDIR names, or /tmp, or /var/tmp, whichever exists first and can be written. `/tmp` if
/// none can: making a file there then says why.
[[nodiscard]] std::string scratch_place();

/// A file for what need not outlive the program, readable by this user only. It has no name: however the program ends, nothing is left
/// behind.
class scratch_file {
 public:
  /// Empty, in `scratch_place`. Errors: io, no_space.
  [[nodiscard]] static result<scratch_file> make();

  scratch_file(scratch_file&& other) noexcept;
  scratch_file& operator=(scratch_file&&) = delete;
  ~scratch_file();

  /// What it is opened by, as long as this lives; who has opened it then keeps it.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit scratch_file(int fd);
  int fd_ = -1;
  std::string path_;
};

/// A folder for scratch files that need a name, open to this user only. It is removed with all that it holds, also when a signal ends
/// the program (see `remove_unfinished_on_signals`).
class scratch_folder {
 public:
  /// Empty, in `scratch_place`. Errors: io, no_space.
  [[nodiscard]] static result<scratch_folder> make();

  scratch_folder(scratch_folder&& other) noexcept;
  scratch_folder& operator=(scratch_folder&& other) noexcept;
  ~scratch_folder();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit scratch_folder(std::string path);
  std::string path_;
  unfinished_name unfinished_;
};

}  // namespace sluice
