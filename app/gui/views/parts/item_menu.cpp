#include "app/gui/views/parts/item_menu.hpp"

#include <algorithm>
#include <utility>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr std::size_t longest_searched = 200;  // bytes of a name that is passed to Search

/// Draws the title of a menu, which may contain "##" or "%".
void menu_title(const view_context& with, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  clipped_text(text, std::min(ImGui::CalcTextSize(text.data(), text.data() + text.size()).x + 1, with.px(320)));
  ImGui::PopStyleColor();
  ImGui::Separator();
}

}  // namespace

const ImGuiWindow* current_panel() {
  const ImGuiWindow* window = ImGui::GetCurrentWindow();
  while ((window->Flags & (ImGuiWindowFlags_ChildWindow | ImGuiWindowFlags_Popup)) != 0 &&
         window->ParentWindow != nullptr && !window->DockIsActive)
    window = window->ParentWindow;
  return window;
}

selection make_event_selection(const view_context& with, trace::event_id event) {
  if (event == trace::event_id::none) return {};
  return {with.state.active()->id, selection_kind::event, trace::raw(event)};
}

selection select_block(const view_context& with, trace::block_id block) {
  if (block == trace::block_id::none) return {};
  return {with.state.active()->id, selection_kind::block, trace::raw(block)};
}

void command_entry(const view_context& with, std::string_view id) {
  const command* subject = with.commands.find(id);
  if (subject == nullptr) return;
  const std::string keys = key_text(*subject);
  if (ImGui::MenuItem(subject->title.c_str(), keys.empty() ? nullptr : keys.c_str(),
                      subject->checked && subject->checked(), with.commands.enabled(*subject)))
    with.commands.invoke(id);
}

namespace {

/// Adds entries to copy a line of code and to open it in an editor. If `line` is null, the line is unknown or not yet
/// known.
void line_entries(const view_context& with, const symbols::frame_line* line) {
  const bool has_file = line != nullptr && !line->file.empty();
  std::string place;
  if (line != nullptr) place = has_file ? line->file + ":" + std::to_string(line->line) : line->module;
  if (ImGui::MenuItem("Copy file:line", nullptr, false, !place.empty())) ImGui::SetClipboardText(place.c_str());
  if (ImGui::MenuItem("Copy function name", nullptr, false, line != nullptr))
    ImGui::SetClipboardText(symbols::get_name(*line).c_str());
  if (ImGui::MenuItem("Copy source line", nullptr, false, line != nullptr && !line->source.empty()))
    ImGui::SetClipboardText(line->source.c_str());
  if (ImGui::MenuItem("Open in editor", nullptr, false, has_file)) with.commands.invoke("source.open", place);
}

}  // namespace

void target_entries(const view_context& with, const row_target& target) {
  const bool leads = target.shows.kind == selection_kind::event || target.shows.kind == selection_kind::block;
  const symbols::frame_line* const line = target.line ? &*target.line : nullptr;
  if (leads && ImGui::MenuItem("Show on timeline")) {
    with.commands.invoke("selection.set", target.shows);
    with.commands.invoke("selection.reveal");
  }
  if (leads && ImGui::MenuItem("Show in Details")) {
    with.commands.invoke("selection.set", target.shows);
    with.commands.invoke("panel.focus.Details");
  }
  if (target.range && ImGui::MenuItem("Zoom to its time")) show_range(with, *target.range);
  if (target.range && target.range->length() > 0 && ImGui::MenuItem("Select its time"))
    with.commands.invoke("selection.range", *target.range);
  if (target.blocks && ImGui::MenuItem("List its blocks")) with.commands.invoke("blocks.show", *target.blocks);
  if ((leads || line != nullptr) && !target.blocks && target.lists_blocks &&
      ImGui::MenuItem("List blocks of this line", nullptr, false, line != nullptr)) {
    blocks_filter filter;
    filter.text = symbols::format_place_and_name(*line);
    with.commands.invoke("blocks.show", filter);
  }
  if (!target.find.empty() && ImGui::MenuItem("Find this name in Search"))
    with.commands.invoke("search.find", target.find.substr(0, longest_searched));
  if (!leads && line == nullptr) return;
  ImGui::Separator();
  line_entries(with, line);
}

void panel_entries(const view_context& with) {
  const std::string panel = current_panel()->Name;
  if (ImGui::MenuItem("Copy panel as text")) with.commands.invoke("panel.copy_text", panel);
  if (ImGui::MenuItem("Save panel as picture...")) with.commands.invoke("panel.save_picture", panel);
}

void panel_context_menu(const view_context& with) {
  if (!ImGui::BeginPopupContextItem("panel menu")) return;
  panel_entries(with);
  ImGui::EndPopup();
}

void item_menu::find_line(const view_context& with, row_target& target) {
  const selection_kind kind = target.shows.kind;
  const bool known = kind == selection_kind::event || kind == selection_kind::block;
  if (target.line || !known || target.shows.document != with.state.active()->id) return;
  query::details_query wanted;
  if (kind == selection_kind::event) wanted.event = static_cast<trace::event_id>(target.shows.id);
  if (kind == selection_kind::block) wanted.block = static_cast<trace::block_id>(target.shows.id);
  const auto result = details_.ask(*with.state.active()->engine, wanted);
  // An incomplete result may still belong to the previous query.
  if (!result || !result.complete || result->stack.empty()) return;
  std::vector<const symbols::frame_line*> lines;
  for (const symbols::frame_line& each : result->stack) lines.push_back(&each);
  target.line = result->stack[symbols::line_to_name(lines)];
}

void item_menu::draw_entries(const view_context& with, row_target target) {
  find_line(with, target);
  target_entries(with, target);
}

void item_menu::open(row_target target, std::string name, std::string text,
                     std::function<void(const view_context&)> more) {
  about_ = {std::move(target), std::move(name), std::move(text), std::move(more)};
  ImGui::OpenPopup("item menu");
}

void item_menu::draw_opened(const view_context& with) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(with.px(8), with.px(8)));
  opened_ = ImGui::BeginPopup("item menu");
  if (opened_) {
    if (!about_.name.empty()) menu_title(with, about_.name);
    if (about_.more) about_.more(with);
    draw_entries(with, about_.target);
    ImGui::Separator();
    if (!about_.name.empty() && ImGui::MenuItem("Copy name")) ImGui::SetClipboardText(about_.name.c_str());
    if (!about_.text.empty() && ImGui::MenuItem("Copy as text")) ImGui::SetClipboardText(about_.text.c_str());
    panel_entries(with);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

}  // namespace sluice::gui
