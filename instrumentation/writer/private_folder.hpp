#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

namespace sluice::writer {

/// Name of the socket, in a `private_folder`, for watching a recording (`sluice record --live`).
inline constexpr const char* live_socket_name = "live";

/// A folder that only the current user can enter. The process that made the folder deletes it, with its contents. If
/// that process is killed, the folder stays, but the lock on a file in it is released, so that a later `make` may
/// remove the folder.
class private_folder {
 public:
  /// Makes the folder; null if the path of every possible parent folder is too long for socket names. First removes
  /// folders that killed processes of this user left there: only folders that look exactly like ours, and without
  /// following links.
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
  int alive_ = -1;  ///< Descriptor of the locked file that shows that this process is alive.
};

}  // namespace sluice::writer
