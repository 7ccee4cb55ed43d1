#include "app/cli/live/live_option.hpp"

#include <chrono>
#include <filesystem>

#include "app/cli/output/print.hpp"

namespace sluice::cli {
namespace {

/// When a recording ends, how long to wait for clients that watch it. On a slow connection, clients keep the part that
/// they have received by then.
constexpr std::chrono::milliseconds max_after_end{3'000};

}  // namespace

result<live_option> live_option::start(const std::string& path, const std::string& socket) {
  live_option option;
  std::string place = socket;
  std::error_code ignored;
  if (socket == live_anywhere) {
    option.folder_ = writer::private_folder::make();
    if (!option.folder_)
      return fail(error_code::unavailable, "cannot create a folder for the socket in TMPDIR or /tmp", {},
                  "name a socket with --live=SOCKET");
    place = option.folder_->path() + "/" + writer::live_socket_name;
  } else if (const auto absolute = std::filesystem::absolute(socket, ignored); !ignored) {
    place = absolute.string();
  }
  const auto recording = std::filesystem::absolute(path, ignored);
  auto server = remote::live_server::start(ignored ? path : recording.string(), place);
  if (!server) return tl::unexpected(server.error());
  option.server_ = std::move(*server);
  complain("watch it live: sluice open --live " + place);
  return option;
}

void live_option::finish() { server_->finish(max_after_end); }

}  // namespace sluice::cli
