#include "app/gui/shell/dialogs/help_dialogs.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "app/gui/views/parts/dialog_window.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/glossary.hpp"
#include "core/base/version.hpp"

namespace sluice::gui {

void help_dialogs::add_commands(command_registry& commands) {
  static constexpr command_row<help_dialogs*> rows[] = {
      {.id = "help.keys",
       .title = "Keyboard and mouse",
       .group = "Help",
       .keys = {ImGuiKey_F1, ImGuiMod_Shift | ImGuiKey_Slash},
       .run = [](auto& at, auto&) { at->keys_.toggle(); }},
      {.id = "help.words",
       .title = "Glossary",
       .group = "Help",
       .run = [](auto& at, auto&) { at->glossary_open_ = !at->glossary_open_; }},
      {.id = "help.about", .title = "About Sluice", .group = "Help", .run = [](auto& at, auto&) {
         at->about_open_ = true;
       }}};
  commands.add(rows, this);
}

bool help_dialogs::close_one() {
  return keys_.close() || std::exchange(glossary_open_, false) || std::exchange(about_open_, false);
}

void help_dialogs::draw(const view_context& with) {
  keys_.draw(with);
  draw_glossary(with);
  draw_about(with);
}

/// Draws the whole glossary.
void help_dialogs::draw_glossary(const view_context& with) {
  if (!glossary_open_) return;
  const ImGuiViewport* viewport = ImGui::GetMainViewport();
  if (begin_dialog(with, "Glossary", &glossary_open_)) {
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

void help_dialogs::draw_about(const view_context& with) {
  if (!about_open_) return;
  if (begin_dialog(with, "About Sluice", &about_open_)) {
    heading(with, std::string("Sluice ") + version());
    ImGui::TextUnformatted("A profiler for GPU memory and transfers. Apache-2.0.");
    ImGui::TextDisabled("%s", "This program includes Dear ImGui, GLFW, Roboto and Font Awesome.");
  }
  end_dialog();
}

}  // namespace sluice::gui
