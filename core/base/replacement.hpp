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
  /// permissions (at most `privacy::allowed`) and, where allowed, owner the new file gets. Links are followed: the file is replaced, the link stays.
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

  /// True if there was a target when this object was made.
  [[nodiscard]] bool replaces_another() const { return replaced_.has_value(); }
  /// The outcome of a claim. `taken`: another process has claimed the target or writes a recording into it. `changed`: the
  /// target is another file by now, or gone: begin again. `no_locks`: the file system has no locks.
  enum class claim : std::uint8_t { got, taken, changed, no_locks };
  /// Locks the target, which must exist, so that no other process can claim it, by whatever name, until this object is
  /// destroyed or committed. Others go on reading it. A process that ends, however, keeps no claim.
  [[nodiscard]] claim claim_target();
  /// The byte that a claim locks (F_OFD_SETLK). A process that writes a recording locks this byte and all before it.
  static constexpr off_t claimed_byte = off_t{1} << 62;

  /// Renames the temporary file or folder to its target, atomically. A file that replaces another is synced to disk
  /// first; flush other descriptors of it before. Where there was no target, of several processes only one succeeds,
  /// whatever the file system. Errors: no_space; io, also if the target has changed: then it stays.
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
  /// Renames to `place_`, which must be free. Returns false with errno; EEXIST: the name was taken.
  [[nodiscard]] bool take_free_name();
  void let_go_of_target();
  [[nodiscard]] tl::unexpected<error> failure(const std::string& what, int why) const;
  void remove();

  std::string named_;  ///< The target as given by the caller, for error messages.
  std::string place_;  ///< The file to replace: absolute, links resolved.
  std::string path_;   ///< The temporary path; empty after `commit` or `keep`.
  std::optional<identity> replaced_;
  bool folder_ = false;
  bool unnamed_ = false;
  int descriptor_ = -1;
  int claimed_ = -1;  ///< A descriptor of the target, which is locked; -1: not claimed.
  unfinished_name unfinished_;
};

}  // namespace sluice
