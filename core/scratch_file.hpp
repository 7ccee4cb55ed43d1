#pragma once

#include <string>

#include "core/error.hpp"

namespace sluice {

/// A file for what need not outlive the program. It has lost its name when it is made: however the program ends, nothing is left behind.
class scratch_file {
 public:
  /// In TMPDIR, else /tmp; empty. Errors: io.
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

}  // namespace sluice
