// sluice serve: serves the window to a browser.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/live/serve_stdio.hpp"
#include "app/cli/options/number_option.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/page/page_folder.hpp"
#include "app/cli/serve/http_server.hpp"
#include "app/cli/serve/site.hpp"
#include "core/base/files/scratch_file.hpp"
#include "core/base/system/child_process.hpp"

namespace sluice::cli {
namespace {

struct serve_options {
  std::vector<std::string> files;
  std::vector<std::string> live;
  std::uint16_t port = 0;
  bool open = false;
  bool stdio = false;
  std::vector<std::string> sources_from;
};

/// Opens `address` in the user's browser. All users can read command lines, so the browser gets the path of a file that
/// redirects to the address and that only this user can read. Returns the folder that contains the file; keep it while
/// the server runs.
result<scratch_folder> open_in_browser(const std::string& address) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr)
    return fail(error_code::unavailable, "no display: open the address in a browser");
  auto folder = scratch_folder::make();
  if (!folder) return folder;
  const std::string file = folder->path() + "/sluice.html";
  std::string quoted;
  for (const char c : address) quoted += c == '&' ? std::string("&amp;") : std::string(1, c);
  std::ofstream out(file);
  out << "<!DOCTYPE html>\n<meta http-equiv=\"refresh\" content=\"0; url=" << quoted << "\">\n<a href=\"" << quoted
      << "\">Sluice</a>\n";
  out.close();
  if (!out) return fail(error_code::io, "cannot be written", file);
  if (auto started = child_process::start_detached({.words = {"xdg-open", file}}); !started)
    return fail(error_code::unavailable, started.error().to_string() + "; open the address in a browser");
  return folder;
}

result<int> serve_until_signal(const serve_options& wanted) {
  auto page = page::folder();
  if (!page) return tl::unexpected(page.error());
  auto server = serve::http_server::listen(wanted.port);
  if (!server) return tl::unexpected(server.error());
  auto site = serve::site::make(wanted.files, wanted.live, std::move(*page), server->port());
  if (!site) return tl::unexpected(site.error());
  say("Sluice is at " + site->address());
  say("Anyone with this address can read these recordings. Ctrl+C ends the server.");
  if (std::fflush(stdout) != 0) return fail(error_code::io, "standard output was closed or is full");
  std::optional<scratch_folder> shown;
  // Only now: the folder holds the secret address, and a signal that is not handled would leave it behind.
  const auto show = [&] {
    if (!wanted.open) return;
    if (auto opened = open_in_browser(site->address()); opened) {
      shown.emplace(std::move(*opened));
    } else {
      complain("note: " + opened.error().to_string());
    }
  };
  return server->serve([&](const serve::http_request& request) { return site->respond(request); }, show);
}

}  // namespace

action declare_serve(CLI::App& command) {
  auto wanted = std::make_shared<serve_options>();
  command.add_option("FILE", wanted->files, "Recordings or folders of recordings (default: drop a file on the page)")
      ->type_name("");
  command.add_option("--live", wanted->live, "A recording in progress: the socket that `sluice record --live` prints")
      ->allow_extra_args(false)
      ->type_name("SOCKET");
  command.add_option("--port", wanted->port, "Port on 127.0.0.1 (default: any free one)")
      ->check(whole_between(1024, 65535))
      ->type_name("N");
  command.add_flag("--open", wanted->open, "Open the address in the browser of this desktop");
  command.add_flag(
      "--stdio", wanted->stdio,
      "Serve one recording to a window on another machine, over standard input and output; started by `sluice open "
      "ssh://HOST/PATH`");
  add_sources_option(command, wanted->sources_from);
  command.footer(
      "The printed address contains a secret, which is new for each run; requests without the secret are refused.\n"
      "A folder serves the recordings directly inside it, recognized by their content; links are not served.\n"
      "To view recordings of another machine, connect with ssh -L N:127.0.0.1:N HOST, run `sluice serve --port N`\n"
      "there, and open the printed address in your own browser.");
  return [wanted] {
    if (wanted->stdio) {
      if (wanted->files.size() == 1) return serve_stdio(wanted->files.front(), wanted->sources_from);
      complain("--stdio serves one recording: sluice serve --stdio FILE");
      return status_usage;
    }
    const auto ended = serve_until_signal(*wanted);
    if (!ended) return complain_of(ended.error());
    return 128 + *ended;
  };
}

}  // namespace sluice::cli
