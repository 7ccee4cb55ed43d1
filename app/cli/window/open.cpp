// sluice open, and sluice without a verb: opens the window.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "app/cli/demo/demos_of_program.hpp"
#include "app/cli/options/number_option.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"
#include "app/cli/window/this_machine.hpp"
#include "app/gui/shell/side_files.hpp"
#include "app/gui/window/window.hpp"
#include "core/base/freed_memory.hpp"
#include "core/import/import.hpp"
#include "core/remote/address.hpp"

namespace sluice::cli {
namespace {

struct open_options {
  std::vector<std::string> files;
  std::vector<std::string> sources_from;
  std::vector<std::string> live;
  std::string demo;
  std::string device;
  std::uint64_t memory = query::engine_options{}.memory_bytes;
};

/// Removes empty and relative folders from the environment variable `variable`. File dialogs are external programs that
/// are found through PATH, and must not be started from the current folder.
void leave_current_folder_out(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return;
  std::istringstream folders(value);
  std::string kept;
  for (std::string each; std::getline(folders, each, ':');)
    if (each.starts_with('/')) kept.append(kept.empty() ? "" : ":").append(each);
  ::setenv(variable, kept.c_str(), 1);
}

result<void> show(const open_options& wanted) {
  keep_freed_memory();
  leave_current_folder_out("PATH");
  // The window reports problems too, but if there is no display, this is the only report.
  std::optional<error> trouble;
  for (const std::string& file : wanted.files) {
    if (gui::is_saved_view(file)) {
      if (const auto view = gui::read_saved_view(file); !view) return tl::unexpected(view.error());
      continue;
    }
    if (remote::is_address(file)) continue;  // The window will connect, and show its progress.
    const auto found = importing::recognise(file);
    const bool foreign = found != importing::format::sluice && found != importing::format::unknown;
    if (foreign) continue;  // The window will import the file, and show its progress.
    if (auto opened = importing::open_any(file); !opened && !trouble) trouble = opened.error();
  }
  gui::application_options content;
  content.config_folder = gui::settings::default_folder();
  if (content.config_folder.empty())
    complain("note: neither XDG_CONFIG_HOME nor HOME names a folder: settings and recent files are not saved");
  content.demos = demos_of_program();
  describe_machine(content.around);
  content.sources_from = wanted.sources_from;
  content.demo_device = wanted.device;
  content.files = wanted.files;
  for (const std::string& socket : wanted.live) {
    std::error_code ignored;
    const auto place = std::filesystem::absolute(socket, ignored);
    content.files.push_back(std::string(remote::live_scheme) + (ignored ? socket : place.string()));
  }
  content.memory_bytes = wanted.memory;
  auto output = gui::window::create(std::move(content));
  if (!output) return tl::unexpected(trouble.value_or(output.error()));
  if (trouble) complain(trouble->to_string());
  if (!wanted.demo.empty()) (*output)->app().start_demo(wanted.demo);
  return (*output)->run();
}

bool is_demo(const std::string& name) {
  for (const gui::demo_entry& each : demos_of_program())
    if (each.name == name) return true;
  return false;
}

}  // namespace

action declare_open(CLI::App& command) {
  auto wanted = std::make_shared<open_options>();
  command
      .add_option("FILE", wanted->files,
                  "Recordings, saved views, or ssh://[USER@]HOST[:PORT]/PATH to open (default: the welcome screen)")
      ->type_name("");
  add_sources_option(command, wanted->sources_from);
  command
      .add_option("--live", wanted->live,
                  "Watch a recording while it is written: the socket that `sluice record --live` prints")
      ->allow_extra_args(false)
      ->type_name("SOCKET");
  command.add_option("--demo", wanted->demo, "Run this demo and watch it live")->type_name("NAME");
  choose(command.add_option("--device", wanted->device, "Device to run the demo on"), "sim|cuda");
  command.add_option("--memory", wanted->memory, "Memory limit per recording, such as 400M; some queries need more")
      ->transform(bytes_between(1 << 20, std::uint64_t{1} << 50, true))
      ->type_name("BYTES")
      ->default_str("400M");
  return [wanted] {
    if (!wanted->demo.empty() && !is_demo(wanted->demo)) {
      complain("no demo named '" + wanted->demo + "'; see sluice demo --list");
      return status_usage;
    }
    if (auto shown = show(*wanted); !shown) return complain_of(shown.error());
    return 0;
  };
}

}  // namespace sluice::cli
