#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/replacement.hpp"
#include "core/base/scratch_file.hpp"

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
  /// `path` "-" is the standard output, as is /dev/stdout; /dev/fd/N is a file that is open already. What has the shape of a file is
  /// copied there at the end, and a folder is an error. A stream may go to a pipe that has a reader, or to a device. A folder must not
  /// exist, or be empty. Errors: io, no_space, invalid_argument.
  [[nodiscard]] static result<output> create(const std::string& path, output_shape shape);
  output(output&& other) noexcept;
  output& operator=(output&& other) = delete;
  ~output();  ///< Removes what was not committed.

  /// Whether `path` stands for a file that this process has open already: "-", /dev/stdout, /dev/fd/N.
  [[nodiscard]] static bool names_open_file(const std::string& path);

  /// Of a stream. Kept until there is enough to be worth a write. Errors (io, no_space) stay: the caller may look at the end.
  result<void> write(std::string_view bytes);

  /// Of a file or a folder: where to write. A file is empty, or does not exist yet.
  [[nodiscard]] const std::string& path() const { return written_at_; }

  /// Writes out what is kept and puts all of it in its place. Errors: io, no_space.
  result<void> commit();

  /// Of a stream: bytes so far. Of the others, after `commit`: bytes of the file, or of all files.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  output(std::string path, output_shape shape);
  result<void> flush();
  result<void> begin_at(int open_file);
  result<void> begin_at_special_file();
  result<void> begin_new();
  result<void> copy_out();

  std::string path_;
  std::string written_at_;
  output_shape shape_;
  int fd_ = -1;
  std::optional<replacement> place_;
  std::optional<scratch_folder> scratch_;  ///< Of a file that is copied to a stream at the end.
  std::uint64_t bytes_ = 0;
  std::string kept_;
  result<void> outcome_;
};

}  // namespace sluice::exports
