#include "app/gui/views/welcome.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "app/gui/views/parts/widgets.hpp"
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
    std::string words;
    std::size_t place = SIZE_MAX;  // line in the index file
  };
  std::map<std::string, described> known;
  std::istringstream index(read_regular_file((in / "index.txt").string(), largest_index).value_or(""));
  for (std::string line; std::getline(index, line);)
    if (const auto tab = line.find('\t'); tab != std::string::npos)
      known.try_emplace(line.substr(0, tab), described{line.substr(tab + 1), known.size()});
  for (fs::directory_iterator at(in, failed), end; !failed && at != end; at.increment(failed)) {
    const fs::path& path = at->path();
    if (path.extension() != ".sluice") continue;
    found.push_back({path.string(), path.stem().string(), known[path.filename().string()].words});
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
  const bool two = room.x > with.px(760) && !recordings.empty();
  const float width = std::floor(std::min(room.x - with.px(24), with.px(two ? 1240 : 520)));
  const float gap = with.px(28);
  const float column = two ? std::floor((width - gap) * 0.5F) : width;
  const float left = std::floor(ImGui::GetCursorPosX() + (room.x - width) * 0.5F);
  ImGui::SetCursorPos({left, ImGui::GetCursorPosY() + std::floor(std::max(with.px(12), room.y * 0.07F))});

  ImGui::PushFont(with.fonts.bold, 26.0F);
  ImGui::TextUnformatted("Sluice");
  ImGui::PopFont();
  ImGui::SetCursorPosX(left);
  ImGui::TextDisabled("%s", "Shows where GPU memory goes and which copies move data.");
  ImGui::Dummy({0, with.px(10)});
  ImGui::SetCursorPosX(left);
  command_button(with, "file.open", "Open a recording...");
  if (around.starts_programs) {
    ImGui::SameLine();
    command_button(with, "record.open", "Record a program...");
  }
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  if (two) ImGui::TextDisabled("or drop a file on this window");
  ImGui::Dummy({0, with.px(8)});

  ImGui::SetCursorPosX(left);
  ImGui::BeginGroup();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(with.px(8), with.px(2)));
  if (!recordings.empty()) {
    column_title(with, "Recordings from real GPUs");
    for (const recording_entry& each : recordings)
      if (entry(with, icon::chip, each.title, each.shows, column)) with.commands.invoke("file.open_path", each.path);
  }
  ImGui::PopStyleVar();
  ImGui::EndGroup();
  if (two) {
    ImGui::SameLine(left + column + gap);
  } else {
    ImGui::SetCursorPosX(left);
  }
  ImGui::BeginGroup();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(with.px(8), with.px(2)));
  const ImVec2 gap_below(0, with.px(8));
  if (around.keeps_files) {
    draw_recent(with, remembered, column);
    ImGui::Dummy(gap_below);
  }
  if (!demos.empty()) column_title(with, "Demos");
  for (const demo_entry& each : demos)
    if (entry(with, icon::play, each.name, each.shows, column)) with.commands.invoke("demo.start", each.name);
  if (!demos.empty()) ImGui::Dummy(gap_below);
  column_title(with,
               around.starts_programs ? "Record in a terminal" : "Record in a terminal, on the machine with the GPU");
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + with.px(8));
  ImGui::TextDisabled("sluice record -- python train.py");
  ImGui::PopStyleVar();
  ImGui::EndGroup();
}

}  // namespace sluice::gui
