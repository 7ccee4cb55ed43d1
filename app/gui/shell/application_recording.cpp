// Demos and recordings of the user's programs: how they start, what the window shows meanwhile, and what happens to
// them when the window is closed.
#include <algorithm>
#include <filesystem>

#include "app/gui/shell/application.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/processes/command_line.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

constexpr const char* progress_counter = "progress";  // name of the progress counter in a demo's recording

}  // namespace

void application::add_recording_commands() {
  commands_.add({.id = "demo.start",
                 .run =
                     [this](const argument& with) {
                       if (const auto* name = std::get_if<std::string>(&with)) start_demo(*name);
                     },
                 .enabled = [this] { return !recorder_.running(); }});
  for (const demo_entry& each : options_.demos)
    commands_.add({.id = "demo.start." + each.name,
                   .title = each.name,
                   .group = "Demo",
                   .icon = icon::play,
                   .run = [this, name = each.name](const argument&) { start_demo(name); },
                   .enabled = [this] { return !recorder_.running(); }});
  commands_.add({.id = "record.open",
                 .title = "Record a program...",
                 .group = "File",
                 .icon = icon::play,
                 .keys = {ImGuiMod_Ctrl | ImGuiKey_R},
                 .run = [this](const argument&) { record_dialog_.open(); },
                 .enabled = [this] { return options_.around.starts_programs; }});
  commands_.add({.id = "record.stop",
                 .title = "End demo or recorded program",
                 .group = "Demo",
                 .words = "stop recording",
                 .icon = icon::stop,
                 .run = [this](const argument&) { recorder_.stop(); },
                 .enabled = [this] { return recorder_.running() && !recorder_.stopping(); }});
  commands_.add({.id = "record.output",
                 .title = "Show program output",
                 .group = "File",
                 .words = "stdout stderr log",
                 .icon = icon::file,
                 .run = [this](const argument&) { record_dialog_.open(); },
                 .enabled = [this] { return !recorder_.recording().empty() && !recorder_.is_demo(); }});
}

std::string application::own_program() const {
  if (!options_.program.empty()) return options_.program;
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).string();
}

void application::start_demo(const std::string& name) {
  if (auto started = recorder_.start_demo(own_program(), name, options_.demo_device); !started) {
    notice_ = started.error().to_string();
    return;
  }
  progress_ = -1;
  progress_tracks_ = {};
  progress_series_ = {};
  recording_tried_ = recording_shown_ = false;
}

void application::start_recording(const record_request& request) {
  if (auto started = recorder_.start_recording(own_program(), request); !started) {
    notice_ = started.error().to_string();
    return;
  }
  settings_.add_command(processes::joined_words(request.command));
  tell("Recording to " + recorder_.recording());
  progress_ = -1;
  progress_tracks_ = {};
  progress_series_ = {};
  recording_tried_ = recording_shown_ = false;
}

void application::follow_recorder() {
  if (recorder_.recording().empty()) return;
  document* shown = nullptr;
  for (const auto& each : session_.all())
    if (each->path == recorder_.recording()) shown = session_.find(each->id);
  std::error_code failed;
  if (shown == nullptr && !recording_tried_ && std::filesystem::file_size(recorder_.recording(), failed) > 0 &&
      !failed) {
    session_.open(recorder_.recording(), true);
    recording_tried_ = true;
  }
  if (shown != nullptr && shown->ready() && !recording_shown_) {
    recording_shown_ = true;
    record_dialog_.close();  // The dialog would cover the recording. Opened again, it shows the output.
  }
  if (shown != nullptr && !shown->removed_at_close && recorder_.is_demo()) {
    shown->removed_at_close = true;
    shown->title = recorder_.name() + " (demo)";
  }
  if (recorder_.ended()) follow_end_of_recording(shown);
  if (shown == nullptr || !shown->engine) return;
  const auto tracks = progress_tracks_.ask(*shown->engine, {});
  if (!tracks) return;
  for (const query::track& each : tracks->tracks) {
    if (each.kind != query::track_kind::counter || each.label != progress_counter) continue;
    const auto values = progress_series_.ask(*shown->engine, {each.id, {shown->span.begin, shown->span.end + 1}, 64});
    if (!values) return;
    for (const query::band& band : values->bands)
      for (const query::bin& bin : band.bins) progress_ = std::max(progress_, std::clamp(bin.maximum, 0.0, 1.0));
  }
}

void application::follow_end_of_recording(const document* shown) {
  const std::string& path = recorder_.recording();
  std::error_code failed;
  const bool is_there = std::filesystem::exists(path, failed);
  if (recorder_.exit_status() != 0 && !recorder_.stopping()) {
    const std::string words = recorder_.last_words();
    const std::string why = words.empty() ? "exit status " + std::to_string(recorder_.exit_status()) : words;
    if (recorder_.is_demo()) notice_ = "The demo " + recorder_.name() + " failed: " + why;
    // A program that fails may leave a good recording, whose summary shows how the program ended.
    if (!recorder_.is_demo() && shown == nullptr) notice_ = recorder_.name() + ": " + why;
  }
  if (!recorder_.is_demo()) {
    if (is_there) settings_.add_recent(path);
    tell(is_there ? "Recorded " + path : std::string());
  }
  if (std::exchange(quit_when_stopped_, false)) quit();
}

application::recording_bar application::measure_recording_bar(const view_context& with) const {
  recording_bar made;
  if (!recorder_.running()) return made;
  made.narrow = ImGui::GetWindowWidth() < with.px(640);
  made.progress = made.narrow ? with.px(110) : with.px(170);
  const float stop =
      made.narrow
          ? ImGui::GetFrameHeight() * 1.15F + with.px(8)
          : std::max(ImGui::CalcTextSize("Stopping").x, ImGui::CalcTextSize(stop_label(recorder_)).x) + with.px(52);
  const float output =
      made.narrow ? ImGui::GetFrameHeight() * 1.15F + with.px(8) : ImGui::CalcTextSize("Output").x + with.px(52);
  made.width = made.progress + stop + with.px(16) + (recorder_.is_demo() ? 0 : output);
  return made;
}

/// Draws into the toolbar: the running program, its progress, its output, and a button to stop the program.
void application::draw_recording_bar() {
  if (!recorder_.running()) return;
  const view_context with = context();
  const recording_bar size = measure_recording_bar(with);
  ImGui::SameLine(ImGui::GetWindowWidth() - size.width);
  ImGui::BeginGroup();
  const std::string label = progress_ < 0
                                ? recorder_.name()
                                : recorder_.name() + "  " + std::to_string(static_cast<int>(progress_ * 100)) + " %";
  ImGui::PushStyleColor(ImGuiCol_PlotHistogram,
                        ImGui::ColorConvertU32ToFloat4(mix(with.colours.accent, with.colours.background, 0.55F)));
  ImGui::ProgressBar(progress_ < 0 ? 0.0F : static_cast<float>(progress_), {size.progress, ImGui::GetFrameHeight()},
                     label_of(printable(label)).c_str());
  ImGui::PopStyleColor();
  ImGui::EndGroup();
  if (!recorder_.is_demo() && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
    ImGui::SetTooltip("%s", printable("Recording to " + recorder_.recording()).c_str());
  ImGui::SameLine();
  if (!recorder_.is_demo()) {
    command_button(with, "record.output", "Output", size.narrow);
    ImGui::SameLine();
  }
  stop_button(with, recorder_);
}

/// The open recording of a demo that would be lost with the window because no copy was saved; null if there is none.
const document* application::unsaved_demo() const {
  const auto found = std::find_if(session_.all().begin(), session_.all().end(),
                                  [](const auto& each) { return each->removed_at_close && !each->copied; });
  return found == session_.all().end() ? nullptr : found->get();
}

void application::quit() {
  if (quit_when_stopped_)
    closing_ = true;  // On the second request, the window does not wait for the program any
                      // longer.
  quit_asked_ = !closing_ && (recorder_.records_program() || unsaved_demo() != nullptr);
  closing_ = !quit_asked_;
}

void application::close(document_id which) {
  const document* shown = session_.find(which);
  if (shown == nullptr) return;
  if (shown->removed_at_close && !shown->copied) {
    close_asked_ = which;
  } else {
    session_.close(which);
  }
}

/// Completes a "Save..." before closing: closes the document once the copy is saved, or keeps it open if no copy was
/// saved.
void application::follow_leaving() {
  if (leaves_when_saved_ == document_id::none || paths_.is_open()) return;
  const document* const left = session_.find(std::exchange(leaves_when_saved_, document_id::none));
  const bool quits = std::exchange(quit_when_saved_, false);
  if (left == nullptr || !left->copied) return;
  session_.close(left->id);
  if (quits) quit();
}

namespace {

/// Begins a confirmation in the center of the window. If `open` is null, the confirmation has no close button.
void begin_query(const view_context& with, const char* title, bool* open) {
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  const float width = std::min(with.px(520), viewport->Size.x - with.px(24));
  ImGui::SetNextWindowPos(viewport->GetCenter(), ImGuiCond_Always, {0.5F, 0.5F});
  ImGui::SetNextWindowSize({width, 0});
  for (const ImGuiCol each : {ImGuiCol_WindowBg, ImGuiCol_TitleBg, ImGuiCol_TitleBgActive})
    ImGui::PushStyleColor(each, with.colours.raised);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0F);
  ImGui::Begin(title, open,
               ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoResize | ImGuiWindowFlags_NoCollapse |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoDocking);
  ImGui::PushTextWrapPos(0);
}

void end_query() {
  ImGui::PopTextWrapPos();
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(3);
}

}  // namespace

void application::draw_quit() {
  if (!quit_asked_) return;
  const document* demo = unsaved_demo();
  // The program may have ended while the confirmation was open. Its recording is then complete, so there is nothing to
  // confirm.
  quit_asked_ = recorder_.records_program() || demo != nullptr;
  if (!quit_asked_) return;
  const view_context with = context();
  begin_query(with, "Quit", &quit_asked_);
  if (recorder_.records_program()) {
    draw_quit_of_recording(with);
  } else {
    draw_query_of_demo(with, *demo, true);
  }
  end_query();
}

void application::draw_close() {
  const document* asked = close_asked_ == document_id::none ? nullptr : session_.find(close_asked_);
  if (asked == nullptr || quit_asked_) close_asked_ = document_id::none;
  if (close_asked_ == document_id::none) return;
  const view_context with = context();
  bool open = true;
  begin_query(with, "Close", &open);
  draw_query_of_demo(with, *asked, false);
  end_query();
  if (!open) close_asked_ = document_id::none;
}

void application::draw_quit_of_recording(const view_context& with) {
  ImGui::TextUnformatted(printable(recorder_.name() + " is being recorded.").c_str());
  ImGui::TextUnformatted(
      printable("Quitting ends the program. The recording so far stays in " + recorder_.recording()).c_str());
  ImGui::Dummy({0, with.px(4)});
  if (ImGui::Button("End the program and quit")) {
    recorder_.stop();
    quit_when_stopped_ = true;
    quit_asked_ = false;
    tell("The window closes once the program has ended. Quit again to close it now.");
  }
  ImGui::SameLine();
  const float next = ImGui::CalcTextSize("Keep recording").x + with.px(20);
  if (ImGui::GetContentRegionAvail().x < next) ImGui::NewLine();
  if (ImGui::Button("Keep recording")) quit_asked_ = false;
}

void application::draw_query_of_demo(const view_context& with, const document& demo, bool quits) {
  const document_id id = demo.id;
  ImGui::TextUnformatted(demo.title.c_str());
  ImGui::TextUnformatted(quits ? "This recording is not saved and will be deleted when the window closes."
                               : "This recording is not saved and will be deleted when you close it.");
  ImGui::Dummy({0, with.px(4)});
  bool answered = false;
  const bool runs = demo.live && recorder_.running() && demo.path == recorder_.recording();
  if (runs) {
    stop_button(with, recorder_);
  } else if (ImGui::Button("Save...")) {
    session_.activate(id);
    leaves_when_saved_ = id;
    quit_when_saved_ = quits;
    ask_where_to_save(std::filesystem::path(demo.path).filename().string(), "file.save_as");
    answered = true;
  }
  ImGui::SameLine();
  if (ImGui::Button("Discard")) {
    if (runs) recorder_.stop();
    session_.close(id);
    if (quits) return quit();  // There may be another recording to confirm.
    answered = true;
  }
  ImGui::SameLine();
  if (ImGui::Button("Cancel")) answered = true;
  if (!answered) return;
  quit_asked_ = false;
  close_asked_ = document_id::none;
}

}  // namespace sluice::gui
