// sluice open, and sluice alone: the window.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/demos_of_program.hpp"
#include "app/cli/verbs.hpp"
#include "app/gui/window.hpp"
#include "core/freed_memory.hpp"
#include "core/import/import.hpp"

namespace sluice::cli {
namespace {

struct wish {
  std::vector<std::string> files;
  std::string demo;
  std::string device;
  std::uint64_t memory = query::engine_options{}.memory_bytes;
};

result<void> show(const wish& wanted) {
  keep_freed_memory();
  // A file that cannot be opened is said here, before a window covers the terminal.
  for (const std::string& file : wanted.files) {
    const auto found = importing::recognise(file);
    const bool foreign = found != importing::format::sluice && found != importing::format::unknown;
    if (foreign) continue;  // the window imports it, and shows how far it is
    if (auto opened = importing::open_any(file); !opened) return tl::unexpected(opened.error());
  }
  gui::application_options content;
  content.config_folder = gui::settings::default_folder();
  content.demos = demos_of_program();
  content.demo_device = wanted.device;
  content.files = wanted.files;
  content.memory_bytes = wanted.memory;
  auto made = gui::window::create(std::move(content));
  if (!made) return tl::unexpected(made.error());
  if (!wanted.demo.empty()) (*made)->app().start_demo(wanted.demo);
  (*made)->run();
  return {};
}

bool is_demo(const std::string& name) {
  for (const gui::demo_entry& each : demos_of_program())
    if (each.name == name) return true;
  return false;
}

}  // namespace

action declare_open(CLI::App& command) {
  auto wanted = std::make_shared<wish>();
  command.add_option("FILE", wanted->files, "Recordings to open; without one, the welcome screen")->type_name("");
  command.add_option("--demo", wanted->demo, "Run this demo and watch it live")->type_name("NAME");
  command.add_option("--device", wanted->device, "Where the demo runs")
      ->check(CLI::IsMember({"sim", "cuda"}).description(""))
      ->type_name("sim|cuda");
  command.add_option("--memory", wanted->memory, "For each recording, as 400M; some questions take more")
      ->transform(CLI::AsSizeValue(true).description(""))
      ->type_name("BYTES")
      ->default_str("400M");
  return [wanted] {
    if (!wanted->demo.empty() && !is_demo(wanted->demo)) {
      complain("there is no demo '" + wanted->demo + "'; see sluice demo --list");
      return status_usage;
    }
    if (auto shown = show(*wanted); !shown) {
      complain(shown.error().to_string());
      return status_failed;
    }
    return 0;
  };
}

}  // namespace sluice::cli
