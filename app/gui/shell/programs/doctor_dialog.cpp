#include "app/gui/shell/programs/doctor_dialog.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "app/gui/views/parts/dialog_window.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {
namespace {

ImU32 get_colour(const view_context& with, const std::string& state) {
  if (state == "missing") return with.colours.failure;
  return state == "warning" ? with.colours.warning : with.colours.good;
}

/// What is missing comes first.
int get_rank(const doctor_line& line) {
  if (line.state.empty()) return 0;
  return line.state == "missing" ? 1 : line.state == "warning" ? 2 : 3;
}

void draw_lines(const view_context& with, const std::vector<doctor_line>& lines) {
  for (const doctor_line& each : lines) {
    if (each.state.empty()) {
      ImGui::TextWrapped("%s", each.text.c_str());
      ImGui::Spacing();
      continue;
    }
    ImGui::TextColored(ImGui::ColorConvertU32ToFloat4(get_colour(with, each.state)), "%s", each.state.c_str());
    ImGui::SameLine(with.px(78));
    ImGui::TextDisabled("%s", each.name.c_str());
    ImGui::SameLine(with.px(176));
    ImGui::TextWrapped("%s", each.text.c_str());
  }
}

}  // namespace

std::vector<doctor_line> parse_doctor(const std::string& output) {
  std::vector<doctor_line> lines;
  std::istringstream text(printable(output, line_ends::keep));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    doctor_line one;
    words >> one.state >> one.name;
    const bool is_check = one.state == "ok" || one.state == "warning" || one.state == "missing";
    if (is_check) std::getline(words >> std::ws, one.text);
    if (!is_check) one = {{}, {}, line};
    if (!one.text.empty()) lines.push_back(std::move(one));
  }
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return get_rank(a) < get_rank(b); });
  return lines;
}

void doctor_dialog::open(const std::string& program) {
  open_ = true;
  program_ = program;
  lines_.clear();
  failure_.clear();
  running_.start([program] { return run_doctor(program); });
}

bool doctor_dialog::close() { return std::exchange(open_, false); }

void doctor_dialog::draw(const view_context& with) {
  if (auto found = running_.take()) {
    if (*found) lines_ = parse_doctor(**found);
    if (!*found) failure_ = printable(found->error().to_string());
  }
  if (!open_) return;
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  const float width = std::min(with.px(720), viewport->Size.x - with.px(24));
  ImGui::SetNextWindowSizeConstraints({width, 0}, {width, viewport->Size.y - with.px(40)});
  if (begin_dialog(with, "What recording needs", &open_)) {
    make_modal(with);
    if (running_.running()) ImGui::TextDisabled("Checking this machine (sluice doctor)...");
    if (!failure_.empty()) ImGui::TextWrapped("%s", failure_.c_str());
    draw_lines(with, lines_);
    ImGui::Spacing();
    ImGui::BeginDisabled(running_.running());
    if (ImGui::Button("Check again")) open(program_);
    ImGui::EndDisabled();
    ImGui::SameLine();
    if (ImGui::Button("Record on another machine (ssh)...")) {
      open_ = false;
      with.commands.invoke("record.elsewhere");
    }
    ImGui::SameLine();
    if (ImGui::Button("Close")) open_ = false;
  }
  end_dialog();
}

}  // namespace sluice::gui
