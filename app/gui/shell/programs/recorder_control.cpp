#include "app/gui/shell/programs/recorder_control.hpp"

#include <algorithm>
#include <filesystem>

#include "app/processes/command_line.hpp"

namespace sluice::gui {
namespace {

constexpr const char* progress_counter = "progress";  // name of the progress counter in a demo's recording

/// The text of a command's argument; empty if there is none.
std::string get_text(const argument& with) {
  const auto* text = std::get_if<std::string>(&with);
  return text == nullptr ? std::string() : *text;
}

}  // namespace

void recorder_control::add_commands(command_registry& commands) {
  static constexpr auto programs_start = [](auto& at) { return bool{at->options_.around.starts_programs}; };
  static constexpr command_row<recorder_control*> demo[] = {
      {.id = "demo.start",
       .run =
           [](auto& at, auto& with) {
             if (const auto* name = std::get_if<std::string>(&with)) at->start_demo(*name);
           },
       .enabled = [](auto& at) { return !at->process_.running(); }},
      {.id = "record.start",
       .run = [](auto& at, auto& with) { at->start_command(get_text(with)); },
       .enabled = [](auto& at) { return at->options_.around.starts_programs && !at->process_.running(); }}};
  static constexpr command_row<recorder_control*> rows[] = {
      {.id = "record.open",
       .title = "Record a program...",
       .group = "File",
       .icon = icon::play,
       .keys = {ImGuiMod_Ctrl | ImGuiKey_R},
       .run = [](auto& at, auto& with) { at->dialog_.open(get_text(with)); },
       .enabled = programs_start},
      {.id = "record.elsewhere",
       .title = "Record on another machine (ssh)...",
       .group = "File",
       .words = "remote server host",
       .icon = icon::play,
       .run =
           [](auto& at, auto& with) {
             at->dialog_.close();
             at->remote_.open(get_text(with));
           },
       .enabled = programs_start},
      {.id = "record.doctor",
       .title = "What recording needs on this machine",
       .group = "Help",
       .words = "doctor driver gpu missing check",
       .run = [](auto& at, auto&) { at->doctor_.open(at->own_program()); },
       .enabled = programs_start},
      {.id = "record.stop",
       .title = "End demo or recorded program",
       .group = "Demo",
       .words = "stop recording",
       .icon = icon::stop,
       .run = [](auto& at, auto&) { at->process_.stop(); },
       .enabled = [](auto& at) { return at->process_.running() && !at->process_.stopping(); }},
      {.id = "record.output",
       .title = "Show program output",
       .group = "File",
       .words = "stdout stderr log",
       .icon = icon::file,
       .run = [](auto& at, auto&) { at->dialog_.open(); },
       .enabled = [](auto& at) { return !at->process_.recording().empty() && !at->process_.is_demo(); }}};
  commands.add(demo, this);
  for (const demo_entry& each : options_.demos)
    commands.add({.id = "demo.start." + each.name,
                  .title = each.name,
                  .group = "Demo",
                  .icon = icon::play,
                  .run = [this, name = each.name](const argument&) { start_demo(name); },
                  .enabled = [this] { return !process_.running(); }});
  commands.add(rows, this);
}

/// The path of the program that runs demos and records.
std::string recorder_control::own_program() const {
  if (!options_.program.empty()) return options_.program;
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).string();
}

void recorder_control::start_demo(const std::string& name) {
  if (auto started = process_.start_demo(own_program(), name, options_.demo_device); !started)
    return notices_.say(started.error().to_string());
  begin();
}

void recorder_control::start_recording(const record_request& request) {
  if (auto started = process_.start_recording(own_program(), request); !started)
    return notices_.say(started.error().to_string());
  settings_.add_command(processes::joined_words(request.command));
  notices_.tell("Recording to " + process_.recording());
  begin();
}

void recorder_control::start_command(const std::string& line) {
  dialog_.set_command(line);
  const auto asked = dialog_.request();
  if (asked && !asked->command.empty()) return start_recording(*asked);
  dialog_.open(line);  // The dialog says what is wrong.
}

void recorder_control::begin() {
  progress_ = -1;
  tracks_ = {};
  series_ = {};
  tried_ = shown_ = false;
}

bool recorder_control::follow() {
  if (process_.recording().empty()) return false;
  document* shown = recorded();
  std::error_code failed;
  if (shown == nullptr && !tried_ && std::filesystem::file_size(process_.recording(), failed) > 0 && !failed) {
    session_.open(process_.recording(), true);
    tried_ = true;
  }
  if (shown != nullptr && shown->ready() && !shown_) {
    shown_ = true;
    dialog_.close();  // The dialog would cover the recording. Opened again, it shows the output.
  }
  if (shown != nullptr && !shown->removed_at_close && process_.is_demo()) {
    shown->removed_at_close = true;
    shown->title = process_.name() + " (demo)";
  }
  const bool ended = process_.ended();
  if (ended) report_end(shown != nullptr);
  if (shown != nullptr && shown->engine) read_progress(*shown);
  return ended;
}

bool recorder_control::retries(const error& failure) {
  if (failure.file != process_.recording() || !process_.running()) return false;
  tried_ = false;
  return true;
}

/// The open document with the recording; null if it is not open yet.
document* recorder_control::recorded() {
  document* found = nullptr;
  for (const auto& each : session_.all())
    if (each->path == process_.recording()) found = each.get();
  return found;
}

/// Reports how the program ended. `shown`: the recording is open.
void recorder_control::report_end(bool shown) {
  const std::string& path = process_.recording();
  std::error_code failed;
  const bool is_there = std::filesystem::exists(path, failed);
  if (process_.exit_status() != 0 && !process_.stopping()) {
    const std::string words = process_.last_words();
    const std::string why = words.empty() ? "exit status " + std::to_string(process_.exit_status()) : words;
    if (process_.is_demo()) notices_.say("The demo " + process_.name() + " failed: " + why);
    // A program that fails may leave a good recording, whose summary shows how the program ended.
    if (!process_.is_demo() && !shown) notices_.say(process_.name() + ": " + why);
  }
  if (process_.is_demo()) return;
  if (is_there) settings_.add_recent(path);
  notices_.tell(is_there ? "Recorded " + path : std::string());
}

/// Reads the largest value of the counter with the progress.
void recorder_control::read_progress(const document& shown) {
  const auto tracks = tracks_.ask(*shown.engine, {});
  if (!tracks) return;
  for (const query::track& each : tracks->tracks) {
    if (each.kind != query::track_kind::counter || each.label != progress_counter) continue;
    const auto values = series_.ask(*shown.engine, {each.id, {shown.span.begin, shown.span.end + 1}, 64});
    if (!values) return;
    for (const query::band& band : values->bands)
      for (const query::bin& bin : band.bins) progress_ = std::max(progress_, std::clamp(bin.maximum, 0.0, 1.0));
  }
}

void recorder_control::draw_dialogs(const view_context& with) {
  const std::string& problem = options_.around.recording_problem;
  if (const auto asked = dialog_.draw(with, settings_, process_, problem)) start_recording(*asked);
  remote_.draw(with, settings_);
  doctor_.draw(with);
}

bool recorder_control::close_dialog() {
  if (doctor_.close() || remote_.close()) return true;
  const bool was_open = dialog_.is_open();
  dialog_.close();
  return was_open;
}

}  // namespace sluice::gui
