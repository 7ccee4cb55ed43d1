#pragma once

#include <memory>
#include <string>

#include "core/base/error.hpp"
#include "core/remote/live_server.hpp"
#include "instrumentation/writer/private_folder.hpp"

/// `sluice record --live`: others watch the recording while it is written.
namespace sluice::cli {

/// The value of --live without a socket's name.
inline constexpr const char* live_anywhere = "auto";

/// The socket of a recording, and the private folder that it lies in unless the user named another place.
class live_option {
 public:
  /// Serves the recording that will be at `path`, and prints how to watch it. `socket`: its path, or `live_anywhere`.
  /// Errors: those of `live_server::start`; unavailable, if no private folder can be made.
  [[nodiscard]] static result<live_option> start(const std::string& path, const std::string& socket);
  /// The recording is complete: gives who watches it a moment to fetch the rest.
  void finish();

 private:
  live_option() = default;
  std::unique_ptr<collector::private_folder> folder_;
  std::unique_ptr<remote::live_server> server_;
};

}  // namespace sluice::cli
