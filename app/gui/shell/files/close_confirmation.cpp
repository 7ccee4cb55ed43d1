#include "app/gui/shell/files/close_confirmation.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/gui/shell/programs/record_dialog.hpp"
#include "app/gui/views/parts/dialog_window.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

/// Begins a confirmation in the center of the window.
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
  make_modal(with);
  ImGui::PushTextWrapPos(0);
}

void end_query() {
  ImGui::PopTextWrapPos();
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(3);
}

}  // namespace

/// The open recording of a demo that would be lost with the window because no copy was saved; null if there is none.
const document* close_confirmation::unsaved_demo() const {
  const auto found = std::find_if(session_.all().begin(), session_.all().end(),
                                  [](const auto& each) { return each->removed_at_close && !each->copied; });
  return found == session_.all().end() ? nullptr : found->get();
}

void close_confirmation::quit() {
  if (quit_when_stopped_) closing_ = true;  // On the second request, the window does not wait for the program.
  quit_asked_ = !closing_ && (recorder_.records_program() || unsaved_demo() != nullptr);
  closing_ = !quit_asked_;
}

void close_confirmation::close(document_id which) {
  const document* shown = session_.find(which);
  if (shown == nullptr) return;
  if (shown->removed_at_close && !shown->copied) {
    close_asked_ = which;
  } else {
    session_.close(which);
  }
}

void close_confirmation::follow() {
  if (leaves_when_saved_ == document_id::none || choosers_.is_open()) return;
  const document* const left = session_.find(std::exchange(leaves_when_saved_, document_id::none));
  const bool quits = std::exchange(quit_when_saved_, false);
  if (left == nullptr || !left->copied) return;
  session_.close(left->id);
  if (quits) quit();
}

void close_confirmation::recording_ended() {
  if (std::exchange(quit_when_stopped_, false)) quit();
}

bool close_confirmation::cancel_quit() { return std::exchange(quit_asked_, false); }

bool close_confirmation::cancel_close() { return std::exchange(close_asked_, document_id::none) != document_id::none; }

void close_confirmation::draw(const view_context& with) {
  draw_quit(with);
  draw_close(with);
}

void close_confirmation::draw_quit(const view_context& with) {
  if (!quit_asked_) return;
  const document* demo = unsaved_demo();
  // The program may have ended while the confirmation was open. Its recording is then complete, so there is nothing to
  // confirm.
  quit_asked_ = recorder_.records_program() || demo != nullptr;
  if (!quit_asked_) return;
  begin_query(with, "Quit", &quit_asked_);
  if (recorder_.records_program()) {
    ask_about_recording(with);
  } else {
    ask_about_demo(with, *demo, true);
  }
  end_query();
}

void close_confirmation::draw_close(const view_context& with) {
  const document* asked = close_asked_ == document_id::none ? nullptr : session_.find(close_asked_);
  if (asked == nullptr || quit_asked_) close_asked_ = document_id::none;
  if (close_asked_ == document_id::none) return;
  bool open = true;
  begin_query(with, "Close", &open);
  ask_about_demo(with, *asked, false);
  end_query();
  if (!open) close_asked_ = document_id::none;
}

void close_confirmation::ask_about_recording(const view_context& with) {
  ImGui::TextUnformatted(printable(recorder_.name() + " is being recorded.").c_str());
  ImGui::TextUnformatted(
      printable("Quitting ends the program. The recording so far stays in " + recorder_.recording()).c_str());
  ImGui::Dummy({0, with.px(4)});
  if (ImGui::Button("End the program and quit")) {
    recorder_.stop();
    quit_when_stopped_ = true;
    quit_asked_ = false;
    notices_.tell("The window closes once the program has ended. Quit again to close it now.");
  }
  ImGui::SameLine();
  const float next = ImGui::CalcTextSize("Keep recording").x + with.px(20);
  if (ImGui::GetContentRegionAvail().x < next) ImGui::NewLine();
  if (ImGui::Button("Keep recording")) quit_asked_ = false;
}

/// Asks before `demo` is closed. `quits`: the window closes too.
void close_confirmation::ask_about_demo(const view_context& with, const document& demo, bool quits) {
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
    choosers_.ask_where_to_save(std::filesystem::path(demo.path).filename().string(), "file.save_as");
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
