#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/base/unfinished.hpp"

namespace sluice {

/// A file or folder that is written next to its place and takes the place when it is whole. Until `commit` the target stays as it is,
/// whatever fails; without `commit` nothing stays. All outputs are written this way. Not thread-safe.
///
/// The name while it is being written is new and cannot be guessed (O_EXCL, O_NOFOLLOW): a file or link that someone else has put
/// there is neither followed nor removed. If a signal ends the program, see `remove_unfinished_on_signals`.
class replacement {
 public:
  /// An empty file in the folder of `target`. If `target` exists, it must be a regular file that may be written; the new file gets its
  /// permissions and, where allowed, its owner. A link to a regular file stays, and the file that it leads to is replaced; a link that
  /// leads nowhere, or that belongs to another user than this one and root, is refused. Errors: io, no_space, invalid_argument.
  [[nodiscard]] static result<replacement> of_file(const std::string& target);
  /// An empty folder next to `target`, which must not exist or be an empty folder. Errors: io, no_space, invalid_argument.
  [[nodiscard]] static result<replacement> of_folder(const std::string& target);

  replacement(replacement&& other) noexcept;
  replacement& operator=(replacement&& other) = delete;
  ~replacement();  ///< Removes what was not committed.

  /// Where to write: absolute.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The file, open for reading and writing, as long as this lives; -1 for a folder.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// The same, but from now on the caller's to close.
  [[nodiscard]] int take_descriptor();

  /// Puts it in its place at once. A file that replaces another one is on disk before. Close or flush first what has it open.
  /// Errors: io, no_space; also if the target has changed since: then nothing is replaced.
  [[nodiscard]] result<void> commit();
  /// Leaves it under the name that it has now.
  void keep();

 private:
  struct identity {
    dev_t device = 0;
    ino_t file = 0;
    friend bool operator==(const identity&, const identity&) = default;
  };
  replacement(std::string named, std::string place, bool folder);
  static std::optional<identity> look_at(const std::string& path);
  [[nodiscard]] result<void> make(mode_t mode);
  [[nodiscard]] tl::unexpected<error> failure(const std::string& what, int why) const;
  void remove();

  std::string named_;  ///< The target as the caller named it, for errors.
  std::string place_;  ///< What is replaced: absolute, links followed.
  std::string path_;   ///< Empty once it is in its place.
  std::optional<identity> replaced_;
  bool folder_ = false;
  int descriptor_ = -1;
  unfinished_name unfinished_;
};

}  // namespace sluice
