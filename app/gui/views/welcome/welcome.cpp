#include "app/gui/views/welcome/welcome.hpp"

#include <algorithm>
#include <cmath>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/welcome/welcome_parts.hpp"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

/// The recordings with a card: one row. The others are buttons below it.
constexpr std::size_t max_cards = 5;
/// More recent files are in the menu File, Open recent.
constexpr std::size_t max_recent = 6;

/// Where the content of the screen is.
struct screen_layout {
  float left = 0, width = 0;
  bool two = false;  ///< The cards for recording and opening are side by side.
  [[nodiscard]] float right() const { return left + width; }
};

screen_layout place_content(const view_context& with) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  screen_layout layout;
  layout.two = room.x > with.px(760);
  layout.width = std::floor(std::min(room.x - with.px(24), with.px(1360)));
  layout.left = std::floor(ImGui::GetCursorPosX() + (room.x - layout.width) * 0.5F);
  return layout;
}

void draw_title(const view_context& with, const screen_layout& layout) {
  ImGui::SetCursorPosX(layout.left);
  ImGui::PushFont(with.fonts.bold, 24.0F);
  ImGui::PushTextWrapPos(layout.right());
  ImGui::TextUnformatted("See which line holds the memory, and what the GPU waits for");
  ImGui::PopFont();
  ImGui::SetCursorPosX(layout.left);
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  ImGui::TextUnformatted(
      "A recording of any CUDA program, unchanged. Drop a file here: Sluice, PyTorch snapshot or profiler trace, "
      "Nsight Systems, JAX, ROCm, RMM.");
  ImGui::PopStyleColor();
  ImGui::PopTextWrapPos();
  ImGui::Dummy({0, with.px(6)});
}

void draw_heading(const view_context& with, const screen_layout& layout, const char* text) {
  ImGui::Dummy({0, with.px(6)});
  ImGui::SetCursorPosX(layout.left);
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::TextUnformatted(text);
  ImGui::PopFont();
  ImGui::PopStyleColor();
}

void draw_demos(const view_context& with, const screen_layout& layout, const std::vector<demo_entry>& demos,
                const platform_services& around) {
  draw_heading(with, layout,
               around.gpu_driver ? "Live demos on this machine" : "Live demos on this machine (simulated GPU)");
  bool first = true;
  for (const demo_entry& each : demos) {
    if (flowing_button(with, std::string(icon::play) + "  " + each.name, each.shows, first, layout.left,
                       layout.right()))
      with.commands.invoke("demo.start", each.name);
    first = false;
  }
}

/// Says what recording on this machine lacks.
void draw_problem(const view_context& with, const platform_services& around) {
  if (around.recording_problem.empty()) return;
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.warning);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted((std::string(icon::warning) + "  " + around.recording_problem).c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopStyleColor();
  if (link(with, "What is missing")) with.commands.invoke("record.doctor");
}

}  // namespace

void welcome_view::draw_record_card(const view_context& with, const platform_services& around, ImVec2 size) {
  begin_card(with, "Record a program", size);
  if (around.starts_programs) {
    ImGui::SetNextItemWidth(-1);
    const bool entered = ImGui::InputTextWithHint("##command", "python train.py --steps 100", &command_,
                                                  ImGuiInputTextFlags_EnterReturnsTrue);
    const bool record = main_button(with, "Record") || entered;
    if (record) with.commands.invoke(command_.empty() ? "record.open" : "record.start", command_);
    ImGui::SameLine();
    if (ImGui::Button("Options...")) with.commands.invoke("record.open", command_);
    const float next = ImGui::CalcTextSize("On another machine (ssh)...").x + with.px(20);
    ImGui::SameLine();
    if (ImGui::GetContentRegionAvail().x < next) ImGui::NewLine();
    if (ImGui::Button("On another machine (ssh)...")) with.commands.invoke("record.elsewhere", command_);
    draw_problem(with, around);
  } else {
    ImGui::TextDisabled("In a terminal, on the machine with the GPU:");
    ImGui::TextUnformatted("sluice record -- python train.py");
  }
  end_card();
}

void welcome_view::draw_open_card(const view_context& with, const settings& remembered,
                                  const std::vector<recent_row>& rows, ImVec2 size) {
  begin_card(with, "Open", size);
  const command* open = with.commands.find("file.open");
  const std::string keys = open == nullptr ? "" : key_text(*open);
  if (main_button(with, ("Open...  " + keys + "###open").c_str())) with.commands.invoke("file.open");
  ImGui::SameLine();
  command_button(with, "file.compare_two", "Compare two...");
  if (!remembered.last_session.empty()) {
    ImGui::SameLine();
    if (ImGui::GetContentRegionAvail().x < ImGui::CalcTextSize("Reopen last session").x + with.px(20)) ImGui::NewLine();
    command_button(with, "file.restore");
  }
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  for (std::size_t i = 0; i < std::min(rows.size(), max_recent); ++i)
    if (recent_line(with, rows[i], width)) with.commands.invoke("file.open_path", rows[i].path);
  ImGui::PopStyleVar();
  if (rows.empty()) ImGui::TextDisabled("Files you open are listed here.");
  end_card();
}

void welcome_view::draw_recordings(const view_context& with, const std::vector<recording_entry>& recordings, float left,
                                   float width) {
  const float gap = with.px(12);
  const auto across =
      static_cast<std::size_t>(std::clamp(std::floor((width + gap) / (with.px(196) + gap)), 1.0F, 5.0F));
  const float card_width = std::floor((width + gap) / static_cast<float>(across) - gap);
  const ImVec2 size{
      card_width,
      std::floor(std::min(card_width * 0.42F, with.px(110)) + ImGui::GetTextLineHeight() * 3) + with.px(30)};
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(gap, gap));
  const std::size_t cards = std::min(recordings.size(), max_cards);
  for (std::size_t i = 0; i < cards; ++i) {
    if (i % across == 0) {
      ImGui::SetCursorPosX(left);
    } else {
      ImGui::SameLine();
    }
    const std::string& path = recordings[i].path;
    const auto about = overviews_.find(path, [path] { return recordings::read_overview(path); });
    if (recording_card(with, recordings[i], about.get(), size)) with.commands.invoke("file.open_path", path);
  }
  ImGui::PopStyleVar();
  for (std::size_t i = cards; i < recordings.size(); ++i) {
    const recording_entry& each = recordings[i];
    if (flowing_button(with, each.title, each.shows, i == cards, left, left + width))
      with.commands.invoke("file.open_path", each.path);
  }
}

void welcome_view::draw(view_context& with, const settings& remembered, const std::vector<recording_entry>& recordings,
                        const std::vector<demo_entry>& demos, const platform_services& around) {
  const float room = ImGui::GetContentRegionAvail().y;
  const screen_layout layout = place_content(with);
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + std::floor(std::max(with.px(12), room * 0.04F)));
  draw_title(with, layout);

  lists_files_ = around.keeps_files;
  const std::vector<recent_row> rows = lists_files_ ? recent_.list(remembered, overviews_) : std::vector<recent_row>();
  const float gap = with.px(14);
  const float column = layout.two ? std::floor((layout.width - gap) * 0.5F) : layout.width;
  const auto listed = static_cast<float>(std::clamp<std::size_t>(rows.size(), 2, max_recent));
  const float row_lines = listed * (ImGui::GetTextLineHeight() + with.px(7)) / ImGui::GetFrameHeightWithSpacing();
  const float height = get_card_height(with, std::max(layout.two ? 4.0F : 0, 1.3F + row_lines));
  ImGui::SetCursorPosX(layout.left);
  draw_record_card(with, around, {column, layout.two ? height : get_card_height(with, 4.5F)});
  if (layout.two) {
    ImGui::SameLine(layout.left + column + gap);
  } else {
    ImGui::Dummy({0, with.px(4)});
    ImGui::SetCursorPosX(layout.left);
  }
  draw_open_card(with, remembered, rows, {column, height});
  if (!recordings.empty()) {
    draw_heading(with, layout, "Learn on a real recording (H200)");
    draw_recordings(with, recordings, layout.left, layout.width);
  }
  if (!demos.empty()) draw_demos(with, layout, demos, around);
}

}  // namespace sluice::gui
