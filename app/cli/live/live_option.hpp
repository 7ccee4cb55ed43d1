#pragma once

#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/remote/live_server.hpp"
#include "instrumentation/writer/private_folder.hpp"

/// The option `sluice record --live`: other processes can watch the recording while it is written.
namespace sluice::cli {

/// The value of --live if the user gives no socket path.
inline constexpr const char* live_anywhere = "auto";

/// The socket through which a recording is watched, and the private folder that contains the socket unless the user
/// named another path.
class live_option {
 public:
  /// Serves the recording that will be written to `path`, and prints how to watch it. `socket`: the socket's path, or
  /// `live_anywhere`. Errors: those of `live_server::start`; unavailable if no private folder can be created.
  [[nodiscard]] static result<live_option> start(const std::string& path, const std::string& socket);
  /// Call when the recording is complete: briefly waits so that watching clients can fetch the remaining data.
  void finish();

 private:
  live_option() = default;
  std::unique_ptr<writer::private_folder> folder_;
  std::unique_ptr<remote::live_server> server_;
};

}  // namespace sluice::cli
