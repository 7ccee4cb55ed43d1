#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

namespace sluice::collector {

/// A folder that only this user may enter, with what is put there; both go with this object, in the process that made it. Where that is
/// killed they stay: a lock on a file in the folder, which the system lets go of then, tells others that they may remove it.
class private_folder {
 public:
  /// Null if there is no place for one whose sockets have names short enough. Removes those that killed processes of this user left
  /// in the same place: never what does not look exactly like one, and no link is followed.
  [[nodiscard]] static std::unique_ptr<private_folder> make();
  explicit private_folder(std::string path);
  private_folder(const private_folder&) = delete;
  private_folder& operator=(const private_folder&) = delete;
  ~private_folder();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void say_alive();

  std::string path_;
  pid_t owner_;
  int alive_ = -1;  ///< Locked.
};

}  // namespace sluice::collector
