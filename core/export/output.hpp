#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.hpp"

/// Where an export goes. It is written beside its place and takes it when all of it is there, so that nobody ever finds
/// half of one.
namespace sluice::exports {

/// How a format writes.
enum class output_shape : std::uint8_t {
  stream,  ///< Bytes, one after the other: `output::write`.
  file,    ///< A file that it opens itself: `output::path`.
  folder   ///< Files in a folder that is there: `output::path`.
};

class output {
 public:
  /// `path` "-" is the standard output; what has the shape of a file is then copied there at the end, and a folder is an
  /// error. A stream may go to a pipe or a device. A folder must not be there yet, or be empty. Errors: io, invalid_argument.
  [[nodiscard]] static result<output> create(const std::string& path, output_shape shape);
  output(output&& other) noexcept;
  output& operator=(output&& other) = delete;
  ~output();  ///< Takes away what was not committed.

  /// Of a stream. Kept until there is enough to be worth a write. Errors (io, no_space) stay: the caller may look at the end.
  result<void> write(std::string_view bytes);

  /// Of a file or a folder: where to write. A file is not there yet.
  [[nodiscard]] const std::string& path() const { return beside_; }

  /// Writes out what is kept and puts all of it in its place. Errors: io, no_space.
  result<void> commit();

  /// Of a stream: bytes so far. Of the others, after `commit`: bytes of the file, or of all files.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  output(std::string path, output_shape shape);
  result<void> flush();
  result<void> copy_to_standard_output();
  void discard();

  std::string path_;
  std::string beside_;
  output_shape shape_;
  int fd_ = -1;
  bool standard_ = false;
  bool done_ = false;
  std::uint64_t bytes_ = 0;
  std::string kept_;
  result<void> outcome_;
};

}  // namespace sluice::exports
