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
  /// Creates an empty file in the folder of `target`. An existing `target` must be a writable regular file; the new one
  /// gets its permissions and, where allowed, its owner. Links are followed: the file is replaced and the link stays. A
  /// dangling link, or one owned by neither this user nor root, is refused. Errors: io, no_space, invalid_argument.
  [[nodiscard]] static result<replacement> of_file(const std::string& target);
  /// Creates an empty folder. `target` must not exist or be an empty folder. Errors: io, no_space, invalid_argument.
  [[nodiscard]] static result<replacement> of_folder(const std::string& target);

  replacement(replacement&& other) noexcept;
  replacement& operator=(replacement&& other) = delete;
  ~replacement();  ///< Removes the temporary file or folder unless committed.

  /// The temporary path to write to, absolute.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The file, open for reading and writing, owned by this object; -1 for a folder.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// The descriptor, whose ownership passes to the caller.
  [[nodiscard]] int take_descriptor();

  /// Renames it into place atomically; if it replaces a file, it is synced to disk first. Flush or close other writers
  /// before. Errors: io, no_space; if the target has changed in the meantime, nothing is replaced.
  [[nodiscard]] result<void> commit();
  /// Keeps the file under its temporary name: the destructor will not remove it.
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

  std::string named_;  ///< The target as given by the caller, for error messages.
  std::string place_;  ///< The file to replace: absolute, links resolved.
  std::string path_;   ///< The temporary path; empty after `commit` or `keep`.
  std::optional<identity> replaced_;
  bool folder_ = false;
  int descriptor_ = -1;
  unfinished_name unfinished_;
};

}  // namespace sluice
