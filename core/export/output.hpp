#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/replacement.hpp"
#include "core/base/scratch_file.hpp"

/// The destination of an export. Data is written to a temporary file, which takes the final name when complete. So no
/// incomplete export is ever visible.
namespace sluice::exports {

/// How a format writes its output.
enum class output_shape : std::uint8_t {
  stream,  ///< A sequence of bytes: `output::write`.
  file,    ///< A file that the format opens itself: `output::path`.
  folder,  ///< Files in an existing folder: `output::path`.
  /// Files in an existing folder, each at TABLE/PARTITION/PARTITION/FILE. What was there before stays: the folders of the
  /// lower partition are added to those of the data set that is there.
  data_set
};
/// True if the destination is a folder.
[[nodiscard]] constexpr bool is_folder(output_shape shape) {
  return shape == output_shape::folder || shape == output_shape::data_set;
}

class output {
 public:
  /// `path` "-" or /dev/stdout is standard output; /dev/fd/N is an open file. Output of shape `file` is copied there at
  /// the end, and a folder is an error. A stream may also go to a device, or to a pipe that has a reader. A folder must
  /// be empty or not exist; that of a data set may be one. With `replaces`, partitions that a data set has already are
  /// replaced at the end, else they are an error then. Errors: io, no_space, invalid_argument.
  [[nodiscard]] static result<output> create(const std::string& path, output_shape shape, bool replaces = false);
  output(output&& other) noexcept;
  output& operator=(output&& other) = delete;
  ~output();  ///< Removes the output unless committed.

  /// True if `path` is a file that this process already has open: "-", /dev/stdout, /dev/fd/N.
  [[nodiscard]] static bool names_open_file(const std::string& path);

  /// Appends to a stream, buffered. Errors (io, no_space) are remembered: checking at the end is enough.
  result<void> write(std::string_view bytes);

  /// For a file or a folder: where to write. A file is empty or does not exist yet.
  [[nodiscard]] const std::string& path() const { return written_at_; }

  /// True if a data set already has this partition (TABLE/PARTITION/PARTITION), and it must not be replaced.
  [[nodiscard]] bool is_taken(const std::string& partition) const;

  /// Flushes the buffer and moves the output to its final place. Errors: io, no_space.
  result<void> commit();

  /// For a stream: bytes so far. Otherwise, after `commit`: bytes of the file, or of all files.
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
  bool adds_ = false;  ///< To the data set that is there.
  int fd_ = -1;
  std::optional<replacement> place_;
  std::optional<scratch_folder> scratch_;  ///< For a file that is copied to a stream at the end.
  std::uint64_t bytes_ = 0;
  std::string kept_;
  result<void> outcome_;
};

}  // namespace sluice::exports
