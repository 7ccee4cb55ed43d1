#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/files/replacement.hpp"
#include "core/base/files/scratch_file.hpp"

/// The destination of an export. Data is written to a temporary file, which is renamed when it is complete, so that an
/// incomplete export is never visible.
namespace sluice::exports {

/// How a format writes its output.
enum class output_shape : std::uint8_t {
  stream,  ///< A sequence of bytes, written with `output::write`.
  file,    ///< A file that the format opens itself, at `output::path`.
  folder,  ///< Files that the format creates in the existing folder `output::path`.
  /// Like `folder`, with each file at TABLE/PARTITION/PARTITION/FILE. If the destination exists already, the folders of
  /// the inner partition are added to it, and its other files stay.
  data_set
};
/// True if the destination is a folder.
[[nodiscard]] constexpr bool is_folder(output_shape shape) {
  return shape == output_shape::folder || shape == output_shape::data_set;
}

class output {
 public:
  /// Creates the output at `path`. "-" and /dev/stdout are standard output, and /dev/fd/N is an open file. An output of
  /// the shape `file` is copied to these at the end, and a folder is an error. A stream may also be written to a
  /// device, or to a pipe that has a reader. A folder must be empty or not exist. A data set may be added to an
  /// existing one. If partitions exist already, `commit` replaces them if `replaces` is true, and fails otherwise.
  /// Errors: io, no_space, invalid_argument.
  [[nodiscard]] static result<output> create(const std::string& path, output_shape shape, bool replaces = false);
  output(output&& other) noexcept;
  output& operator=(output&& other) = delete;
  ~output();  ///< Removes the output unless it was committed.

  /// True if `path` is a file that this process already has open: "-", /dev/stdout, /dev/fd/N.
  [[nodiscard]] static bool names_open_file(const std::string& path);

  /// Appends to a stream, through a buffer. Later calls and `commit` return the same error, so it is enough to check
  /// the last one. Errors: io, no_space.
  result<void> write(std::string_view bytes);

  /// The path at which the format must write its file, or the folder for its files. The file is empty or does not exist
  /// yet.
  [[nodiscard]] const std::string& path() const { return written_at_; }

  /// True if the data set has this partition (TABLE/PARTITION/PARTITION) already, and it must not be replaced.
  [[nodiscard]] bool is_taken(const std::string& partition) const;

  /// Writes buffered data and moves the output to its final place. Errors: io, no_space.
  result<void> commit();

  /// For a stream, the number of bytes written so far. For other outputs, after `commit`, the size of the file or of
  /// all files.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  output(std::string path, output_shape shape, bool replaces);
  result<void> flush();
  result<void> begin_at(int open_file);
  result<void> begin_at_special_file();
  result<void> begin_new();
  result<void> copy_out();
  result<void> add_to_data_set();

  std::string path_;
  std::string written_at_;
  output_shape shape_;
  bool replaces_ = false;
  bool adds_ = false;  ///< True if the output is added to an existing data set.
  int fd_ = -1;
  std::optional<replacement> place_;
  std::optional<scratch_folder> scratch_;  ///< For a file that is copied to a stream at the end.
  std::uint64_t bytes_ = 0;
  std::string kept_;
  result<void> outcome_;
};

}  // namespace sluice::exports
