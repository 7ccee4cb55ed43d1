#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/base/files/unfinished.hpp"

namespace sluice {

/// An output file or folder that is written under a temporary name and renamed into place when it is complete. Until
/// `commit`, the target is unchanged; if `commit` is not called, nothing is left behind. All outputs are written this
/// way. Not thread-safe.
///
/// The temporary name is new and cannot be guessed (O_EXCL, O_NOFOLLOW), so a file or link that someone else has placed
/// there is neither followed nor removed. For what happens if a signal ends the program, see
/// `remove_unfinished_on_signals`.
class replacement {
 public:
  /// Creates an empty file in the folder of `target`. If `target` exists, it must be a writable regular file; the new
  /// file gets its permissions (at most `privacy::allowed`) and, where allowed, its owner. Links are followed: the file
  /// that a link points to is replaced, and the link stays. A dangling link is rejected, and so is a link that neither
  /// this user nor root owns. Errors: io, no_space, invalid_argument.
  [[nodiscard]] static result<replacement> of_file(const std::string& target);
  /// Like `of_file`, but the file has no name before `commit` (O_TMPFILE), so nothing is left behind even if the
  /// program is killed. On file systems that do not support this, the file has a temporary name. Use this only if no
  /// other process opens the file and `keep` is not called.
  [[nodiscard]] static result<replacement> of_unnamed_file(const std::string& target);
  /// Creates an empty folder. `target` must be an empty folder or not exist. Errors: io, no_space, invalid_argument.
  [[nodiscard]] static result<replacement> of_folder(const std::string& target);

  replacement(replacement&& other) noexcept;
  replacement& operator=(replacement&& other) = delete;
  ~replacement();  ///< Removes the temporary file or folder unless committed.

  /// The absolute temporary path to write to. For an unnamed file, the path is valid only while this object exists.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The descriptor of the temporary file, open for reading and writing, and owned by this object; -1 for a folder.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Transfers ownership of the descriptor to the caller. For an unnamed file, opens a second descriptor and gives that
  /// one to the caller. Returns -1 if the second descriptor cannot be opened.
  [[nodiscard]] int take_descriptor();

  /// True if the target existed when this object was created.
  [[nodiscard]] bool replaces_another() const { return replaced_.has_value(); }
  /// The result of `claim_target`. `taken`: another process has claimed the target or is writing a recording into it.
  /// `changed`: the target has been replaced or removed in the meantime, so the caller must start again. `no_locks`:
  /// the file system has no locks.
  enum class claim : std::uint8_t { got, taken, changed, no_locks };
  /// Locks the target, which must exist. Until this object is destroyed or committed, no other process can claim the
  /// target, whatever name that process uses for it. Other processes can still read it. The claim also ends when this
  /// process ends.
  [[nodiscard]] claim claim_target();
  /// The byte that a claim locks (F_OFD_SETLK). A process that writes a recording locks this byte and all bytes before
  /// it.
  static constexpr off_t claimed_byte = off_t{1} << 62;

  /// Renames the temporary file or folder to its target, atomically. A file that replaces another file is first synced
  /// to disk. The caller must flush other descriptors of the file before the call. If there was no target and several
  /// processes commit, exactly one succeeds, on any file system. Errors: no_space, io. If the target has changed in the
  /// meantime, the call fails with `io` and keeps the target.
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
  static result<replacement> of_file(const std::string& target, naming options);
  static std::optional<identity> look_at(const std::string& path);
  [[nodiscard]] result<void> make(mode_t mode);
  /// Returns false if the file system does not support unnamed files, or if there is no /proc.
  bool make_unnamed(mode_t mode);
  /// Gives an unnamed file a name. The name is `place_` if the file does not replace another file, else a temporary
  /// name.
  [[nodiscard]] bool give_name();
  /// Renames the file to `place_`, where no file may exist. On failure, returns false and sets errno; EEXIST means that
  /// there is a file.
  [[nodiscard]] bool take_free_name();
  void let_go_of_target();
  [[nodiscard]] tl::unexpected<error> failure(const std::string& subject, int why) const;
  void remove();

  std::string named_;  ///< The target as the caller named it, for error messages.
  std::string place_;  ///< The path of the file to replace: absolute, with links resolved.
  std::string path_;   ///< The temporary path; empty after `commit` or `keep`.
  std::optional<identity> replaced_;
  bool folder_ = false;
  bool unnamed_ = false;
  int descriptor_ = -1;
  int claimed_ = -1;  ///< A descriptor of the locked target; -1 if the target is not claimed.
  unfinished_name unfinished_;
};

}  // namespace sluice
