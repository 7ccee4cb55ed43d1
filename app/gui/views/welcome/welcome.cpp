#include "app/gui/views/welcome/welcome.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "core/base/files/regular_file.hpp"
#include "core/base/printable.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_index = std::uint64_t{1} << 20;  // bytes

std::string recordings_near_program() {
  if (const char* named = std::getenv("SLUICE_RECORDINGS"); named != nullptr && named[0] != '\0') return named;
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  for (const fs::path place : {"share/sluice/recordings", "assets/recordings"}) {
    fs::path folder = program.parent_path();
    for (int up = 0; up < 4; ++up) {
      if (fs::is_directory(folder / place, failed)) return (folder / place).string();
      folder = folder.parent_path();
    }
  }
  return {};
}

/// Draws a clickable row: a name, and muted text to the right of it or below it.
bool entry(const view_context& with, const char* sign, const std::string& name, const std::string& about, float width) {
  const std::string title = printable(name), words = printable(about);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float pad = with.px(8);
  const float text_left = at.x + with.px(30);
  const float room = width - (text_left - at.x) - pad;
  const float line = ImGui::GetTextLineHeight();
  const float height = words.empty() ? line + pad * 1.5F : line * 2 + pad * 1.5F + 1;
  ImGui::PushID(make_label(title).c_str());
  ImGui::PushID(make_label(words).c_str());
  const bool clicked = ImGui::InvisibleButton("entry", {width, std::floor(height)});
  ImGui::PopID();
  ImGui::PopID();
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (ImGui::IsItemHovered() || ImGui::IsItemFocused())
    list->AddRectFilled(at, {at.x + width, at.y + std::floor(height)}, with.colours.hover, with.px(4));
  const float top = std::floor(at.y + pad * 0.75F);
  list->AddText({at.x + pad, top}, with.colours.accent, sign);
  const auto write = [&](float y, ImU32 colour, std::string_view text) {
    const ImVec2 size = ImGui::CalcTextSize(text.data(), text.data() + text.size());
    ImGui::PushStyleColor(ImGuiCol_Text, colour);
    ImGui::RenderTextEllipsis(list, {text_left, y}, {text_left + room, y + line + 2}, text_left + room, text.data(),
                              text.data() + text.size(), &size);
    ImGui::PopStyleColor();
    if (size.x > room && ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
      ImGui::SetTooltip("%.*s", static_cast<int>(text.size()), text.data());
  };
  write(top, with.colours.text, title);
  if (!words.empty()) write(top + line + 1, with.colours.muted, words);
  return clicked;
}

/// Draws a clickable card: a thumbnail, a title, and up to two lines about the recording.
bool card(const view_context& with, const recording_entry& each, const thumbnail* picture, ImVec2 size) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float pad = with.px(10);
  ImGui::PushID(make_label(each.path).c_str());
  const bool clicked = ImGui::InvisibleButton("card", size);
  ImGui::PopID();
  const bool pointed = ImGui::IsItemHovered() || ImGui::IsItemFocused();
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, pointed ? with.colours.hover : with.colours.raised,
                      with.px(5));
  const float line = ImGui::GetTextLineHeight();
  const float text_top = at.y + size.y - pad - line * 3 - 2;
  const draw::rectangle area{{at.x + pad, at.y + pad}, {at.x + size.x - pad, text_top - with.px(8)}};
  if (picture != nullptr) draw_thumbnail(*picture, with.colours, area);
  const std::string title = printable(each.title), words = printable(each.shows);
  ImGui::PushFont(with.fonts.bold, 0);
  draw_text_until(*list, {area.min.x, text_top}, area.max.x, with.colours.text, title);
  ImGui::PopFont();
  list->PushClipRect({area.min.x, text_top}, {area.max.x, at.y + size.y - pad - 1}, true);
  list->AddText(nullptr, 0, {area.min.x, text_top + line + 1}, with.colours.muted, words.data(),
                words.data() + words.size(), area.width());
  list->PopClipRect();
  return clicked;
}

/// Draws the recordings as cards, as many in a row as fit.
void draw_cards(const view_context& with, const std::vector<recording_entry>& recordings, thumbnails& pictures,
                float left, float width) {
  const float gap = with.px(12);
  const auto across =
      static_cast<std::size_t>(std::clamp(std::floor((width + gap) / (with.px(210) + gap)), 1.0F, 4.0F));
  const float card_width = std::floor((width + gap) / static_cast<float>(across) - gap);
  const ImVec2 size{card_width, std::floor(card_width * 0.32F + ImGui::GetTextLineHeight() * 3 + with.px(30))};
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(gap, gap));
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    if (i % across == 0) {
      ImGui::SetCursorPosX(left);
    } else {
      ImGui::SameLine();
    }
    const recording_entry& each = recordings[i];
    if (card(with, each, pictures.find(each.path), size)) with.commands.invoke("file.open_path", each.path);
  }
  ImGui::PopStyleVar();
}

void column_title(const view_context& with, const char* text) {
  ImGui::Indent(with.px(8));
  heading(with, text);
  ImGui::Unindent(with.px(8));
}

/// Draws the list of recently opened files.
void draw_recent(const view_context& with, const settings& remembered, float column) {
  column_title(with, "Recent");
  if (!remembered.last_session.empty() &&
      entry(with, icon::open, "Reopen last session",
            fs::path(remembered.last_session.front().path).filename().string() +
                (remembered.last_session.size() > 1
                     ? " and " + std::to_string(remembered.last_session.size() - 1) + " more"
                     : std::string()),
            column))
    with.commands.invoke("file.restore");
  if (remembered.recent().empty()) {
    ImGui::SetCursorPosX(ImGui::GetCursorPosX() + with.px(8));
    ImGui::TextDisabled("Files you open are listed here.");
  }
  for (const std::string& path : remembered.recent()) {
    const fs::path file(path);
    if (entry(with, icon::file, file.filename().string(), file.parent_path().string(), column))
      with.commands.invoke("file.open_path", path);
  }
}

}  // namespace

std::vector<recording_entry> find_recordings(const std::string& folder) {
  const fs::path in = folder.empty() ? recordings_near_program() : folder;
  std::vector<recording_entry> found;
  std::error_code failed;
  if (in.empty() || !fs::is_directory(in, failed)) return found;
  struct described {
    std::string title, words;
    std::size_t place = SIZE_MAX;  // line in the index file
  };
  std::map<std::string, described> known;
  std::istringstream index(read_regular_file((in / "index.txt").string(), largest_index).value_or(""));
  for (std::string line; std::getline(index, line);)
    if (const auto tab = line.find('\t'), second = line.find('\t', tab + 1); second != std::string::npos)
      known.try_emplace(line.substr(0, tab),
                        described{line.substr(tab + 1, second - tab - 1), line.substr(second + 1), known.size()});
  for (fs::directory_iterator at(in, failed), end; !failed && at != end; at.increment(failed)) {
    const fs::path& path = at->path();
    if (path.extension() != ".sluice") continue;
    const described& about = known[path.filename().string()];
    found.push_back({path.string(), about.title.empty() ? path.stem().string() : about.title, about.words});
  }
  const auto place = [&](const recording_entry& each) { return known[fs::path(each.path).filename().string()].place; };
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    return place(a) != place(b) ? place(a) < place(b) : a.title < b.title;
  });
  return found;
}

void welcome_view::draw(view_context& with, const settings& remembered, const std::vector<recording_entry>& recordings,
                        const std::vector<demo_entry>& demos, const platform_services& around) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool two = room.x > with.px(760);
  const float width = std::floor(std::min(room.x - with.px(24), with.px(two ? 1240 : 520)));
  const float gap = with.px(28);
  const float column = two ? std::floor((width - gap) * 0.5F) : width;
  const float left = std::floor(ImGui::GetCursorPosX() + (room.x - width) * 0.5F);
  ImGui::SetCursorPos({left, ImGui::GetCursorPosY() + std::floor(std::max(with.px(12), room.y * 0.04F))});

  ImGui::PushFont(with.fonts.bold, 24.0F);
  ImGui::PushTextWrapPos(left + width);
  ImGui::TextUnformatted("See which line holds the memory, and what the GPU waits for");
  ImGui::PopFont();
  ImGui::SetCursorPosX(left);
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  ImGui::TextUnformatted(
      "Sluice records any CUDA program, unchanged. It also opens files of PyTorch (snapshots and profiler "
      "traces), Nsight Systems, JAX, ROCm and RMM: drop one here.");
  ImGui::PopStyleColor();
  ImGui::PopTextWrapPos();
  ImGui::Dummy({0, with.px(6)});
  ImGui::SetCursorPosX(left);
  command_button(with, "file.open", "Open a recording...");
  if (around.starts_programs) {
    ImGui::SameLine();
    command_button(with, "record.open", "Record a program...");
  }
  ImGui::Dummy({0, with.px(8)});

  if (!recordings.empty()) {
    ImGui::SetCursorPosX(left);
    ImGui::BeginGroup();
    heading(with, "Learn on a real recording");
    ImGui::EndGroup();
    ImGui::Dummy({0, with.px(2)});
    draw_cards(with, recordings, thumbnails_, left, width);
    ImGui::Dummy({0, with.px(8)});
  }
  ImGui::SetCursorPosX(left);
  ImGui::BeginGroup();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(with.px(8), with.px(2)));
  const ImVec2 gap_below(0, with.px(8));
  if (around.keeps_files) {
    draw_recent(with, remembered, column);
    ImGui::Dummy(gap_below);
  }
  column_title(with,
               around.starts_programs ? "Record in a terminal" : "Record in a terminal, on the machine with the GPU");
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + with.px(8));
  ImGui::TextDisabled("sluice record -- python train.py");
  ImGui::PopStyleVar();
  ImGui::EndGroup();
  if (demos.empty()) return;
  if (two) {
    ImGui::SameLine(left + column + gap);
  } else {
    ImGui::Dummy(gap_below);
    ImGui::SetCursorPosX(left);
  }
  ImGui::BeginGroup();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(with.px(8), with.px(2)));
  column_title(with, "Demos to run here, with or without a GPU");
  for (const demo_entry& each : demos)
    if (entry(with, icon::play, each.name, each.shows, column)) with.commands.invoke("demo.start", each.name);
  ImGui::PopStyleVar();
  ImGui::EndGroup();
}

}  // namespace sluice::gui
