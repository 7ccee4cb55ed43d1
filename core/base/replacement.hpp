#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/base/unfinished.hpp"

namespace sluice {

/// An output file or folder, written under a temporary name and renamed into place when complete. Until `commit` the
/// target is unchanged; without `commit` nothing is left behind. All outputs are written this way. Not thread-safe.
///
/// The temporary name is new and cannot be guessed (O_EXCL, O_NOFOLLOW): a file or link placed there by someone else is
/// neither followed nor removed. If a signal ends the program, see `remove_unfinished_on_signals`.
class replacement {
 public:
  /// Creates an empty file in the folder of `target`. An existing `target` must be a writable regular file, whose
  /// permissions and, where allowed, owner the new file gets. Links are followed: the file is replaced, the link stays.
  /// Refused: a dangling link, or one that neither this user nor root owns. Errors: io, no_space, invalid_argument.
  [[nodiscard]] static result<replacement> of_file(const std::string& target);
  /// The same, but the file has no name before `commit` (O_TMPFILE): nothing is left behind if the program is killed. Where
  /// the file system does not support that, it has one. For a file that only this process opens, and does not `keep`.
  [[nodiscard]] static result<replacement> of_unnamed_file(const std::string& target);
  /// Creates an empty folder. `target` must not exist or be an empty folder. Errors: io, no_space, invalid_argument.
  [[nodiscard]] static result<replacement> of_folder(const std::string& target);

  replacement(replacement&& other) noexcept;
  replacement& operator=(replacement&& other) = delete;
  ~replacement();  ///< Removes the temporary file or folder unless committed.

  /// The temporary path to write to, absolute. Without a name it leads to the file while this object lives.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Descriptor of the temporary file, open for reading and writing, owned by this object; -1 for a folder.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Returns the descriptor, or another one of a file without a name, and passes its ownership to the caller; -1 if it
  /// cannot be opened.
  [[nodiscard]] int take_descriptor();

  /// Renames the temporary file or folder to its target, atomically. A file that replaces another is synced to disk
  /// first; flush other descriptors of it before. Errors: no_space; io, also if the target has changed: then it stays.
  [[nodiscard]] result<void> commit();
  /// Keeps the file or folder under its temporary name: the destructor will not remove it.
  void keep();

 private:
  struct identity {
    dev_t device = 0;
    ino_t file = 0;
    friend bool operator==(const identity&, const identity&) = default;
  };
  enum class naming : bool { named, unnamed };
  replacement(std::string named, std::string place, bool folder);
  static result<replacement> of_file(const std::string& target, naming how);
  static std::optional<identity> look_at(const std::string& path);
  [[nodiscard]] result<void> make(mode_t mode);
  /// Returns false if the file system, or a missing /proc, does not allow it.
  bool make_unnamed(mode_t mode);
  /// Gives the file a name: `place_` if it replaces nothing, else a temporary one.
  [[nodiscard]] bool give_name();
  [[nodiscard]] tl::unexpected<error> failure(const std::string& what, int why) const;
  void remove();

  std::string named_;  ///< The target as given by the caller, for error messages.
  std::string place_;  ///< The file to replace: absolute, links resolved.
  std::string path_;   ///< The temporary path; empty after `commit` or `keep`.
  std::optional<identity> replaced_;
  bool folder_ = false;
  bool unnamed_ = false;
  int descriptor_ = -1;
  unfinished_name unfinished_;
};

}  // namespace sluice
