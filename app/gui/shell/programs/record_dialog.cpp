#include "app/gui/shell/programs/record_dialog.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "app/gui/views/parts/dialog_window.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "app/processes/command_line.hpp"
#include "core/base/printable.hpp"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 3> modes = {
    {{"memory", "Memory and copies: lowest overhead"},
     {"timeline", "Timeline: adds kernel times and waits"},
     {"all", "Everything: adds the call stack of each launch"}}};
constexpr std::array<std::pair<const char*, const char*>, 4> stacks = {
    {{"python", "Python, or native if there is none"},
     {"native", "Native"},
     {"all", "Python and native"},
     {"none", "None"}}};
constexpr std::array<std::pair<std::uint64_t, const char*>, 4> rings = {
    {{0, "All of it"}, {64 << 20, "The last 64 MiB"}, {256 << 20, "The last 256 MiB"}, {1 << 30, "The last 1 GiB"}}};

constexpr float label_width = 96;  // design pixels

/// Draws a label to the left of the next item, which gets the rest of the line.
void label(const view_context& with, const char* text) {
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("%s", text);
  ImGui::SameLine(with.px(label_width));
  ImGui::SetNextItemWidth(-1);
}

template <class Choices, class Value>
void choose(const char* id, const Choices& choices, Value& chosen) {
  const auto now = std::find_if(choices.begin(), choices.end(), [&](const auto& each) { return each.first == chosen; });
  if (!ImGui::BeginCombo(id, now == choices.end() ? "" : now->second)) return;
  for (const auto& [value, title] : choices)
    if (ImGui::Selectable(title, chosen == value)) chosen = value;
  ImGui::EndCombo();
}

/// A key that combines the inputs of `recording_place`.
std::string place_key(const record_request& asked) { return asked.folder + '\n' + asked.command.front(); }

/// Says why recording here would see no GPU, and offers what helps.
void draw_problem(const view_context& with, const std::string& problem) {
  if (problem.empty()) return;
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.warning);
  ImGui::TextWrapped("%s  %s", icon::warning, problem.c_str());
  ImGui::PopStyleColor();
  if (link(with, "What is missing")) with.commands.invoke("record.doctor");
  ImGui::SameLine(0, with.px(16));
  if (link(with, "Record on another machine (ssh)...")) with.commands.invoke("record.elsewhere");
  ImGui::Spacing();
}

}  // namespace

const char* stop_label(const recorder_process& recorder) { return recorder.is_demo() ? "Stop" : "End the program"; }

void stop_button(const view_context& with, const recorder_process& recorder) {
  const bool narrow = ImGui::GetWindowWidth() < with.px(640) && recorder.running();
  command_button(with, "record.stop", recorder.stopping() ? "Stopping" : stop_label(recorder), narrow);
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal | ImGuiHoveredFlags_AllowWhenDisabled)) return;
  if (recorder.is_demo()) {
    ImGui::SetTooltip("Ends the demo.");
  } else {
    ImGui::SetTooltip("%s",
                      "Also ends the recorded program, with the signal SIGTERM (exit status 143).\n"
                      "The recording so far is kept.");
  }
}

void record_dialog::open(const std::string& command) {
  if (!command.empty()) command_ = command;
  open_ = focus_ = true;
  looked_at_ = output_read_at_ = placed_at_ = 0;
}

result<record_request> record_dialog::request() const {
  auto command = processes::split_words(command_);
  if (!command) return tl::unexpected(command.error());
  auto environment = processes::split_words(environment_);
  if (!environment) return tl::unexpected(environment.error());
  record_request output = wanted_;
  output.command = std::move(*command);
  output.environment = std::move(*environment);
  return output;
}

std::optional<record_request> record_dialog::draw(const view_context& with, const settings& remembered,
                                                  const recorder_process& recorder, const std::string& problem) {
  if (auto found = looking_.take()) others_ = std::move(*found);
  if (auto found = placing_.take()) place_ = std::move(*found);
  if (!open_) return std::nullopt;
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  ImGui::SetNextWindowPos({viewport->GetCenter().x, viewport->Pos.y + with.px(54)}, ImGuiCond_Appearing, {0.5F, 0});
  ImGui::SetNextWindowSize({with.px(620), with.px(470)}, ImGuiCond_Appearing);
  keep_on_screen(with, "Record a program");
  for (const ImGuiCol each : {ImGuiCol_WindowBg, ImGuiCol_TitleBg, ImGuiCol_TitleBgActive})
    ImGui::PushStyleColor(each, with.colours.raised);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0F);
  read_output(recorder);
  std::optional<record_request> asked;
  if (ImGui::Begin("Record a program", &open_,
                   ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoDocking)) {
    make_modal(with);
    if (recorder.running()) {
      draw_running(with, recorder);
    } else {
      draw_problem(with, problem);
      asked = draw_fields(with, remembered);
      if (!recorder.recording().empty() && !recorder.is_demo() && !output_.empty()) {
        heading(with, "Output of " + printable(recorder.name()));
        draw_running(with, recorder);
      }
      draw_others(with);
    }
  }
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(3);
  return asked;
}

std::optional<record_request> record_dialog::draw_fields(const view_context& with, const settings& remembered) {
  if (focus_) ImGui::SetKeyboardFocusHere();
  focus_ = false;
  label(with, "Program");
  bool start = ImGui::InputTextWithHint("##command", "python train.py --steps 100", &command_,
                                        ImGuiInputTextFlags_EnterReturnsTrue);
  if (!remembered.commands().empty()) {
    label(with, "Recent");
    if (ImGui::BeginCombo("##recent", "choose an earlier command", ImGuiComboFlags_HeightLarge)) {
      for (const std::string& each : remembered.commands())
        if (ImGui::Selectable(make_label(printable(each)).c_str())) command_ = each;
      ImGui::EndCombo();
    }
  }
  label(with, "Folder");
  std::error_code unknown;
  const std::string here = printable(std::filesystem::current_path(unknown).string());
  ImGui::InputTextWithHint("##folder", ("where the window was started: " + here).c_str(), &wanted_.folder);
  label(with, "Environment");
  ImGui::InputTextWithHint("##environment", "NAME=value NAME=value", &environment_);
  draw_choices(with);
  const auto asked = request();
  const bool can_start = asked && !asked->command.empty();
  ImGui::BeginDisabled(!can_start);
  start = ImGui::Button("Record") || start;
  ImGui::EndDisabled();
  ImGui::SameLine();
  ImGui::PushTextWrapPos(0);
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  if (!asked) {
    ImGui::TextUnformatted(printable(asked.error().to_string()).c_str());
  } else if (can_start) {
    draw_terminal_line(*asked);
  }
  ImGui::PopStyleColor();
  ImGui::PopTextWrapPos();
  if (!start || !can_start) return std::nullopt;
  return *asked;
}

/// Draws the equivalent command line for a terminal, and where the recording will be stored.
void record_dialog::draw_terminal_line(const record_request& asked) {
  namespace fs = std::filesystem;
  find_place(asked);
  if (!place_ || place_->about != place_key(asked)) return ImGui::TextUnformatted("");
  if (!place_->path) return ImGui::TextUnformatted(printable(place_->path.error().to_string()).c_str());
  std::error_code failed;
  const fs::path file = *place_->path;
  const fs::path folder = fs::absolute(asked.folder.empty() ? fs::path(".") : fs::path(asked.folder), failed);
  const bool elsewhere = file.parent_path() != (folder / "file").lexically_normal().parent_path();
  const std::string output = elsewhere ? file.string() : file.filename().string();
  ImGui::TextUnformatted(printable("sluice " + processes::joined_words(record_words(asked, output))).c_str());
  const std::string why = elsewhere ? folder.string() + " is not writable: the" : "The";
  ImGui::TextUnformatted(printable(why + " recording goes to " + file.string()).c_str());
}

/// Repeats the search, because the names in a folder may change in the meantime.
void record_dialog::find_place(const record_request& asked) {
  constexpr double look_every = 2;  // seconds
  const std::string about = place_key(asked);
  const bool known = place_ && place_->about == about;
  if (known && placed_at_ != 0 && ImGui::GetTime() - placed_at_ < look_every) return;
  placing_.start([asked, about] { return place{about, recording_place(asked)}; });
  placed_at_ = ImGui::GetTime();
}

/// Reads the file from time to time rather than in every frame.
void record_dialog::read_output(const recorder_process& recorder) {
  constexpr double read_every = 0.25;  // seconds
  if (output_read_at_ != 0 && ImGui::GetTime() - output_read_at_ < read_every) return;
  output_ = printable(recorder.output(), line_ends::keep);
  output_read_at_ = ImGui::GetTime();
}

void record_dialog::draw_choices(const view_context& with) {
  const float column = with.px(label_width);
  label(with, "Record");
  choose("##mode", modes, wanted_.mode);
  label(with, "Call stacks");
  choose("##stacks", stacks, wanted_.stacks);
  label(with, "Keep");
  choose("##ring", rings, wanted_.ring_bytes);
  ImGui::SetCursorPosX(column);
  ImGui::Checkbox("Detect duplicate copies", &wanted_.find_duplicates);
  ImGui::SetCursorPosX(column);
  ImGui::Checkbox("Store source lines, to read on another machine", &wanted_.sources);
}

void record_dialog::draw_running(const view_context& with, const recorder_process& recorder) const {
  if (recorder.running()) {
    heading(with, (recorder.is_demo() ? "Running the demo " : "Recording ") + printable(recorder.name()));
  }
  if (!recorder.is_demo()) {
    ImGui::PushTextWrapPos(0);
    const char* begin = recorder.running() ? "The recording goes to " : "The recording is in ";
    ImGui::TextUnformatted(printable(begin + recorder.recording()).c_str());
    ImGui::PopTextWrapPos();
  }
  if (recorder.running()) stop_button(with, recorder);
  ImGui::BeginChild("output", {0, recorder.running() ? 0 : with.px(120)}, ImGuiChildFlags_Borders);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(output_.c_str());
  ImGui::PopTextWrapPos();
  if (recorder.running()) ImGui::SetScrollHereY(1);
  ImGui::EndChild();
}

/// Draws recordings of this user that were started elsewhere, such as in a terminal.
void record_dialog::draw_others(const view_context& with) {
  constexpr double look_every = 2;  // seconds
  if (looked_at_ == 0 || ImGui::GetTime() - looked_at_ > look_every) {
    looking_.start(processes::running_recordings);
    looked_at_ = ImGui::GetTime();
  }
  if (others_.empty()) return;
  heading(with, "Active recordings");
  for (const processes::running_recording& each : others_) {
    ImGui::PushID(static_cast<int>(each.pid));
    if (each.file.empty()) {
      ImGui::TextDisabled("%llu", static_cast<unsigned long long>(each.pid));
    } else if (link(with, "Watch")) {
      with.commands.invoke("file.open_live", each.file);
      open_ = false;
    }
    ImGui::SameLine(with.px(label_width));
    clipped_text(printable(each.command.empty() ? each.file : each.command), ImGui::GetContentRegionAvail().x);
    ImGui::PopID();
  }
}

}  // namespace sluice::gui
