#include "app/cli/live/live_option.hpp"

#include <chrono>
#include <filesystem>

#include "app/cli/print.hpp"

namespace sluice::cli {
namespace {

/// How long the end of a recording waits for those who watch it. On a slow line they keep what they have by then.
constexpr std::chrono::milliseconds most_after_end{3'000};

}  // namespace

result<live_option> live_option::start(const std::string& path, const std::string& socket) {
  live_option made;
  std::string place = socket;
  std::error_code ignored;
  if (socket == live_anywhere) {
    made.folder_ = collector::private_folder::make();
    if (!made.folder_)
      return fail(error_code::unavailable, "no folder for a socket can be made in TMPDIR or /tmp", {},
                  "name a socket: --live=SOCKET");
    place = made.folder_->path() + "/" + collector::live_socket_name;
  } else if (const auto absolute = std::filesystem::absolute(socket, ignored); !ignored) {
    place = absolute.string();
  }
  const auto recording = std::filesystem::absolute(path, ignored);
  auto server = remote::live_server::start(ignored ? path : recording.string(), place);
  if (!server) return tl::unexpected(server.error());
  made.server_ = std::move(*server);
  complain("watch it live: sluice open --live " + place);
  return made;
}

void live_option::finish() { server_->finish(most_after_end); }

}  // namespace sluice::cli
