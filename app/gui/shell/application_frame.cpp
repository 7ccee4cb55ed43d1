// Everything around the panels: menus, toolbar, command palette, help and notices.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "app/gui/shell/application.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "app/gui/window/glossary.hpp"
#include "core/base/printable.hpp"
#include "core/base/version.hpp"
#include "core/index/labels.hpp"
#include "imgui_internal.h"
#include "imgui_stdlib.h"

namespace sluice::gui {
namespace {

/// Begins a small window with a close button in the center of the main window. Always call `end_dialog` afterwards,
/// whatever this returns.
bool begin_dialog(const view_context& with, const char* title, bool* open) {
  ImGui::SetNextWindowPos(ImGui::GetMainViewport()->GetCenter(), ImGuiCond_Appearing, {0.5F, 0.5F});
  keep_on_screen(with, title);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, with.colours.raised);
  ImGui::PushStyleColor(ImGuiCol_TitleBg, with.colours.raised);
  ImGui::PushStyleColor(ImGuiCol_TitleBgActive, with.colours.raised);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0F);
  return ImGui::Begin(title, open,
                      ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoDocking |
                          ImGuiWindowFlags_NoSavedSettings);
}

void end_dialog() {
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(3);
}

}  // namespace

void application::menu_entry(std::string_view id) {
  const command* what = commands_.find(id);
  if (what == nullptr || what->title.empty()) return;
  const std::string keys = key_text(*what);
  if (ImGui::MenuItem(what->title.c_str(), keys.empty() ? nullptr : keys.c_str(), what->checked && what->checked(),
                      commands_.enabled(*what)))
    commands_.invoke(id);
}

void application::menu_entries(std::string_view group) {
  for (const command& each : commands_.all())
    if (each.group == group) menu_entry(each.id);
}

void application::menu(const char* group) {
  if (!ImGui::BeginMenu(group)) return;
  menu_entries(group);
  ImGui::EndMenu();
}

void application::draw_recent_menu() {
  if (!ImGui::BeginMenu("Open recent", !settings_.recent().empty())) return;
  for (const std::string& path : settings_.recent())
    if (ImGui::MenuItem(label_of(printable(path)).c_str())) commands_.invoke("file.open_path", path);
  ImGui::Separator();
  menu_entry("file.forget_recent");
  ImGui::EndMenu();
}

void application::draw_menu_bar() {
  if (!ImGui::BeginMainMenuBar()) return;
  if (ImGui::BeginMenu("File")) {
    menu_entry("file.open");
    menu_entry("file.type_path");
    menu_entry("record.open");
    menu_entry("record.output");
    draw_recent_menu();
    menu_entry("file.restore");
    if (!session_.all().empty()) ImGui::Separator();
    for (const auto& each : session_.all()) {
      ImGui::PushID(static_cast<int>(each->id));
      if (ImGui::MenuItem(label_of(each->title).c_str(), nullptr, each.get() == session_.active()))
        session_.activate(each->id);
      ImGui::PopID();
    }
    ImGui::Separator();
    menu_entry("file.save_as");
    menu_entry("file.save_picture");
    menu_entry("table.save_focused");
    menu_entry("file.sources_from");
    ImGui::Separator();
    menu_entry("file.close");
    menu_entry("file.quit");
    ImGui::EndMenu();
  }
  menu("Edit");
  if (ImGui::BeginMenu("View")) {
    menu_entries("View");
    ImGui::Separator();
    menu_entries("Panels");
    ImGui::Separator();
    menu_entries("Layouts");
    ImGui::EndMenu();
  }
  menu("Timeline");
  menu("Memory");
  if (ImGui::BeginMenu("Analyze")) {
    menu_entries("Analyze");
    ImGui::Separator();
    menu("Compare");
    menu("Notes");
    ImGui::EndMenu();
  }
  if (options_.around.starts_programs && ImGui::BeginMenu("Demo")) {
    for (const demo_entry& each : options_.demos) {
      menu_entry("demo.start." + each.name);
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("%s", each.shows.c_str());
    }
    if (!options_.demos.empty()) ImGui::Separator();
    menu_entry("record.stop");
    ImGui::EndMenu();
  }
  menu("Help");
  draw_status();
  const ImVec2 at = ImGui::GetWindowPos();
  const ImVec2 size = ImGui::GetWindowSize();
  ImGui::GetWindowDrawList()->AddLineH(at.x, at.x + size.x, at.y + size.y - 1, colours().line);
  ImGui::EndMainMenuBar();
}

/// Draws the right side of the menu bar: the device, whether it is simulated, and whether the recording is live.
void application::draw_status() {
  const document* shown = session_.active();
  if (shown == nullptr || !shown->engine) return;
  const view_context with = context();
  const auto snapshot = shown->engine->snapshot();
  struct badge {
    std::string text;
    ImU32 colour;
  };
  std::vector<badge> badges;
  if (snapshot->simulated()) badges.push_back({std::string(icon::flask) + "  simulated device", with.colours.warning});
  if (shown->live) badges.push_back({std::string(icon::live) + "  live", with.colours.failure});
  if (!snapshot->complete() && !shown->live)
    badges.push_back({std::string(icon::warning) + "  not closed", with.colours.warning});
  const std::string device = index::device_names(snapshot->tables(), !snapshot->simulated());
  if (!device.empty()) badges.push_back({device, with.colours.muted});
  if (badges.empty()) return;
  float width = 0;
  const float gap = with.px(16);
  for (const badge& each : badges) width += ImGui::CalcTextSize(each.text.c_str()).x + gap;
  const float room = ImGui::GetContentRegionAvail().x;
  if (room < width && !badges.empty() && !device.empty()) {
    width -= ImGui::CalcTextSize(badges.back().text.c_str()).x + gap;
    badges.pop_back();
  }
  if (room < width || badges.empty()) return;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room - width);
  for (const badge& each : badges) {
    ImGui::PushStyleColor(ImGuiCol_Text, each.colour);
    ImGui::TextUnformatted(each.text.c_str());
    ImGui::PopStyleColor();
    ImGui::SameLine(0, gap);
  }
}

void application::draw_toolbar() {
  const document* shown = session_.active();
  bars_placed_ = toolbar_drawn_;
  toolbar_drawn_ = shown != nullptr || recorder_.running();
  if (!toolbar_drawn_) return;
  const view_context with = context();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(with.px(8), with.px(4)));
  const float height = ImGui::GetFrameHeight() + with.px(8);
  const bool open = ImGui::BeginViewportSideBar(
      "##toolbar", ImGui::GetMainViewport(), ImGuiDir_Up, height,
      ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoDecoration);
  ImGui::PopStyleVar();
  if (open) {
    ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0.0F);
    for (const char* id : {"file.open", "selection.back", "selection.forward", "timeline.fit", "timeline.zoom_out",
                           "timeline.zoom_in"}) {
      command_button(with, id, nullptr, true);
      ImGui::SameLine(0, with.px(2));
    }
    ImGui::PopStyleVar();
    ImGui::SameLine(0, with.px(14));
    ImGui::AlignTextToFramePadding();
    const float right = measure_recording_bar(with).width + with.px(10);
    if (shown != nullptr && ImGui::GetContentRegionAvail().x - right > with.px(40)) {
      ImGui::PushFont(with.fonts.bold, 0);
      const float title = ImGui::CalcTextSize(shown->title.c_str()).x;
      clipped_text(shown->title, std::min(title + 1, ImGui::GetContentRegionAvail().x - right));
      ImGui::PopFont();
      const std::string facts =
          format_time(shown->span.length()) + ",  " +
          (shown->engine ? format_bytes(static_cast<double>(shown->engine->snapshot()->file_bytes())) : std::string());
      ImGui::SameLine(0, with.px(12));
      if (ImGui::GetContentRegionAvail().x - right > ImGui::CalcTextSize(facts.c_str()).x && shown->ready()) {
        ImGui::TextDisabled("%s", facts.c_str());
      }
    }
    draw_recording_bar();
    const ImVec2 at = ImGui::GetWindowPos();
    const ImVec2 size = ImGui::GetWindowSize();
    ImGui::GetWindowDrawList()->AddLineH(at.x, at.x + size.x, at.y + size.y - 1, with.colours.line);
  }
  ImGui::End();
}

void application::draw_palette() {
  if (!palette_open_) return;
  const view_context with = context();
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  const float width = std::min(with.px(520), viewport->Size.x - with.px(24));
  ImGui::SetNextWindowPos(
      {viewport->Pos.x + std::floor((viewport->Size.x - width) * 0.5F), viewport->Pos.y + with.px(54)});
  ImGui::SetNextWindowSize({width, 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, with.colours.raised);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0F);
  ImGui::Begin("##palette", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoNavInputs);
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  ImGui::SetNextItemWidth(-1);
  const bool chosen =
      ImGui::InputTextWithHint("##find", "Type a command", &palette_text_, ImGuiInputTextFlags_EnterReturnsTrue);
  std::vector<const command*> found;
  for (const int wanted : {2, 1})  // List better matches first.
    for (const command& each : commands_.all())
      if (!each.title.empty() && commands_.enabled(each) && match_of(each, palette_text_) == wanted)
        found.push_back(&each);
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) ++palette_choice_;
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) --palette_choice_;
  palette_choice_ = std::clamp(palette_choice_, 0, std::max(0, static_cast<int>(found.size()) - 1));
  const float line = ImGui::GetTextLineHeightWithSpacing();
  const float room = std::min(line * 12, viewport->Size.y * 0.55F);
  ImGui::BeginChild(
      "found", {0, std::min(room, line * static_cast<float>(std::max<std::size_t>(found.size(), 1)) + with.px(4))});
  if (found.empty()) ImGui::TextDisabled("No matching command.");
  const command* run = nullptr;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool current = static_cast<int>(i) == palette_choice_;
    ImGui::PushID(found[i]->id.c_str());
    if (ImGui::Selectable("##row", current)) run = found[i];
    if (current && !ImGui::IsItemVisible()) ImGui::SetScrollHereY();
    ImGui::SameLine(with.px(6));
    ImGui::TextDisabled("%s", found[i]->group.c_str());
    ImGui::SameLine(with.px(90));
    ImGui::TextUnformatted(found[i]->title.c_str());
    const std::string keys = key_text(*found[i]);
    if (!keys.empty()) {
      ImGui::SameLine(ImGui::GetWindowWidth() - ImGui::CalcTextSize(keys.c_str()).x - with.px(16));
      ImGui::TextDisabled("%s", keys.c_str());
    }
    ImGui::PopID();
  }
  ImGui::EndChild();
  if (chosen && !found.empty()) run = found[static_cast<std::size_t>(palette_choice_)];
  const bool away = !ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows) && !ImGui::IsWindowAppearing();
  if (run != nullptr || away || ImGui::IsKeyPressed(ImGuiKey_Escape)) palette_open_ = false;
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  if (run == nullptr) return;
  // The command may act on the window that had the focus before the palette.
  if (ImGuiWindow* before = ImGui::FindWindowByID(palette_over_)) ImGui::FocusWindow(before);
  commands_.invoke(run->id);
}

void application::draw_keys() {
  if (!keys_open_) return;
  const view_context with = context();
  if (begin_dialog(with, "Keyboard and mouse", &keys_open_)) {
    const float column = with.px(150);
    heading(with, "Mouse on the timeline");
    tip_field(with, "wheel", "zoom around the cursor", column);
    tip_field(with, "Ctrl + wheel", "scroll the tracks (over their names, the wheel alone is enough)", column);
    tip_field(with, "Shift + wheel", "pan", column);
    tip_field(with, "click", "select a box; the memory map shows that moment", column);
    tip_field(with, "drag", "select a range", column);
    tip_field(with, "right drag", "pan; also with the middle button", column);
    tip_field(with, "double-click", "zoom to a box; on memory, list its blocks; elsewhere, show all", column);
    heading(with, "Keys on the timeline (click it first)");
    tip_field(with, "Left, Right", "pan", column);
    tip_field(with, "Up, Down", "scroll the tracks", column);
    heading(with, "Rows of tables (click one first)");
    tip_field(with, "Up, Down", "move to another row", column);
    tip_field(with, "Shift + Up, Down", "select rows; also Shift + click, or Ctrl + click to add one", column);
    tip_field(with, "Menu, Shift+F10", "open the row's menu; also a right click, as on boxes", column);
    heading(with, "Command keys: click one, then press the new key");
    for (const command& each : commands_.all())
      if (!each.title.empty() && (!each.keys.empty() || each.remapped)) draw_key_of(each, column);
    take_new_key();
  } else {
    new_key_for_.clear();
  }
  end_dialog();
}

void application::draw_key_of(const command& each, float column) {
  const view_context with = context();
  const float left = ImGui::GetCursorPosX();
  ImGui::PushID(each.id.c_str());
  const std::string text = each.id == new_key_for_ ? "press a key" : key_text(each);
  if (link(with, text.empty() ? "no key" : text)) new_key_for_ = each.id;
  ImGui::SameLine(left + column);
  ImGui::TextUnformatted(each.title.c_str());
  ImGui::PopID();
}

/// Assigns the next key pressed to the command that waits for one, and removes the key from any other command. Escape
/// changes nothing; Backspace removes the command's key.
void application::take_new_key() {
  if (new_key_for_.empty()) return;
  const ImGuiIO& io = ImGui::GetIO();
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_NamedKey_END; ++key) {
    const auto pressed = static_cast<ImGuiKey>(key);
    const bool modifier = pressed >= ImGuiKey_LeftCtrl && pressed <= ImGuiKey_RightSuper;
    if (modifier || ImGui::IsMouseKey(pressed) || key >= ImGuiKey_GamepadStart || !ImGui::IsKeyPressed(pressed, false))
      continue;
    const std::string id = std::exchange(new_key_for_, {});
    if (pressed == ImGuiKey_Escape) return;
    std::optional<ImGuiKeyChord> chord = io.KeyMods | key;
    if (pressed == ImGuiKey_Backspace) chord.reset();
    for (const command& each : commands_.all())
      if (chord && each.id != id && std::find(each.keys.begin(), each.keys.end(), *chord) != each.keys.end()) {
        settings_.keys[each.id] = "";
        commands_.set_key(each.id, std::nullopt);
      }
    commands_.set_key(id, chord);
    settings_.keys[id] = key_text(*commands_.find(id));
    settings_.save();
    return;
  }
}

/// Draws the whole glossary.
void application::draw_words() {
  if (!words_open_) return;
  const view_context with = context();
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  if (begin_dialog(with, "Glossary", &words_open_)) {
    const float width = std::min(with.px(520), viewport->Size.x - with.px(80));
    for (const term& each : all_terms()) {
      heading(with, each.name);
      ImGui::PushTextWrapPos(width);
      ImGui::TextUnformatted(each.explanation.data(), each.explanation.data() + each.explanation.size());
      ImGui::PopTextWrapPos();
    }
  }
  end_dialog();
}

void application::draw_about() {
  if (!about_open_) return;
  const view_context with = context();
  if (begin_dialog(with, "About Sluice", &about_open_)) {
    heading(with, std::string("Sluice ") + version());
    ImGui::TextUnformatted("A profiler for GPU memory and transfers. Apache-2.0.");
    ImGui::TextDisabled("%s", "This program includes Dear ImGui, GLFW, Roboto and Font Awesome.");
  }
  end_dialog();
}

void application::tell(std::string message) {
  reported_ = std::move(message);
  reported_at_ = ImGui::GetTime();
}

void application::draw_notice() {
  constexpr double reported_for = 15;  // seconds; after that, the next frame removes the text
  if (ImGui::GetTime() - reported_at_ > reported_for) reported_.clear();
  const bool failed = !notice_.empty();
  std::string& shown = failed ? notice_ : reported_;
  if (shown.empty()) return;
  const view_context with = context();
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  const float width = std::min(with.px(640), viewport->Size.x - with.px(24));
  ImGui::SetNextWindowPos({viewport->Pos.x + viewport->Size.x * 0.5F, viewport->Pos.y + viewport->Size.y - with.px(14)},
                          ImGuiCond_Always, {0.5F, 1});
  ImGui::SetNextWindowSize({width, 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, with.colours.raised);
  const ImU32 colour = failed ? with.colours.failure : with.colours.accent;
  ImGui::PushStyleColor(ImGuiCol_Border, colour);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1.0F);
  ImGui::Begin("##notice", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::TextColored(ImGui::ColorConvertU32ToFloat4(colour), "%s", failed ? icon::warning : icon::info);
  ImGui::SameLine(0, with.px(8));
  const float button = ImGui::GetFrameHeight();
  ImGui::PushTextWrapPos(width - button - with.px(24));
  ImGui::TextUnformatted(printable(shown, line_ends::keep).c_str());
  ImGui::PopTextWrapPos();
  ImGui::SameLine(width - button - with.px(10));
  if (ImGui::SmallButton(icon::close)) shown.clear();
  ImGui::End();
  ImGui::PopStyleVar();
  ImGui::PopStyleColor(2);
}

/// Draws the progress of an import or summary, with a button to cancel it.
void application::draw_opening() {
  const float done = session_.opening_progress();
  if (done <= 0) return;
  const view_context with = context();
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  const float width = std::min(with.px(420), viewport->Size.x - with.px(24));
  const float above_notice = notice_.empty() && reported_.empty() ? 0 : with.px(56);
  ImGui::SetNextWindowPos(
      {viewport->Pos.x + viewport->Size.x * 0.5F, viewport->Pos.y + viewport->Size.y - with.px(14) - above_notice},
      ImGuiCond_Always, {0.5F, 1});
  ImGui::SetNextWindowSize({width, 0});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, with.colours.raised);
  ImGui::Begin("##import", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoDocking | ImGuiWindowFlags_NoFocusOnAppearing);
  clipped_text(session_.opening_words(), width - with.px(24));
  const float button = ImGui::CalcTextSize("Cancel").x + with.px(44);
  ImGui::PushStyleColor(ImGuiCol_PlotHistogram,
                        ImGui::ColorConvertU32ToFloat4(mix(with.colours.accent, with.colours.background, 0.55F)));
  ImGui::ProgressBar(done, {width - button - with.px(32), ImGui::GetFrameHeight()});
  ImGui::PopStyleColor();
  ImGui::SameLine();
  command_button(with, "file.cancel_opening", "Cancel");
  ImGui::End();
  ImGui::PopStyleColor();
}

}  // namespace sluice::gui
