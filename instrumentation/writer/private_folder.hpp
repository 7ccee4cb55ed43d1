#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

namespace sluice::collector {

/// The name of the socket in such a folder through which a recording is watched (`sluice record --live`).
inline constexpr const char* live_socket_name = "live";

/// A folder that only the current user can enter. The process that made it deletes it, with its contents. If that
/// process is killed, the folder stays, but the lock on a file in it is released: a later `make` may then remove it.
class private_folder {
 public:
  /// Makes the folder; null if no place has short enough names for sockets. First removes folders that killed processes
  /// of this user left in these places: only folders that look exactly like ours, and without following links.
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
  int alive_ = -1;  ///< A locked file descriptor.
};

}  // namespace sluice::collector
