// Context menus of the timeline for a track's name, a box, or a moment.
#include "app/gui/shell/shown_range.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/timeline.hpp"

namespace sluice::gui {

void timeline_view::draw_track_menu(const view_context& with) {
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(with.px(8), with.px(8)));
  if (ImGui::BeginPopup("track menu")) {
    const track_order& order = arrangement_.order(with.state.active()->id);
    const selection track{with.state.active()->id, selection_kind::track, menu_track_};
    const query_tracks* tracks = queries(track.document);
    if (const query_tracks::one* one = tracks == nullptr ? nullptr : tracks->find(menu_track_)) {
      if (ImGui::MenuItem("Show rows in Query")) with.commands.invoke("query.run", one->text);
      if (ImGui::MenuItem("Remove this track")) with.commands.invoke("timeline.remove_query", track);
      ImGui::EndPopup();
      ImGui::PopStyleVar();
      return;
    }
    if (ImGui::MenuItem(order.pinned(menu_track_) ? "Unpin" : "Pin to the top"))
      with.commands.invoke("timeline.track_pin", track);
    if (ImGui::MenuItem("Hide")) with.commands.invoke("timeline.track_hide", track);
    if (ImGui::MenuItem("Move up")) with.commands.invoke("timeline.track_up", track);
    if (ImGui::MenuItem("Move down")) with.commands.invoke("timeline.track_down", track);
    ImGui::Separator();
    if (ImGui::MenuItem("Show all tracks", nullptr, false, order.changed()))
      with.commands.invoke("timeline.show_all_tracks");
    if (ImGui::MenuItem("Group by process", nullptr, order.by_process()))
      with.commands.invoke("timeline.group_by_process");
    ImGui::Separator();
    if (ImGui::MenuItem("Copy name"))
      if (const query::track* named = arrangement_.find(menu_track_)) ImGui::SetClipboardText(named->label.c_str());
    panel_entries(with);
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

/// Opens menus: a right click without a drag opens that of the box or moment under the mouse; the Menu key and
/// Shift+F10 open that of the selected event.
void timeline_view::open_menus(const view_context& with, const row_frame& where, const row_hit& hit) {
  const ImGuiIO& io = ImGui::GetIO();
  const float still = with.px(4);
  const bool clicked = ImGui::IsWindowHovered() && where.area.contains(where.mouse) && !ImGui::IsAnyItemHovered() &&
                       ImGui::IsMouseReleased(ImGuiMouseButton_Right) &&
                       io.MouseDragMaxDistanceSqr[ImGuiMouseButton_Right] < still * still;
  const selection& chosen = with.state.selected();
  const bool key = ImGui::IsKeyReleased(ImGuiKey_Menu) || (io.KeyShift && ImGui::IsKeyPressed(ImGuiKey_F10, false));
  if (key && ImGui::IsWindowFocused(ImGuiFocusedFlags_RootAndChildWindows) && chosen.kind == selection_kind::event) {
    row_hit of_selection;
    of_selection.event = trace::event_id{chosen.id};
    return open_menu_of(with, of_selection);
  }
  if (!clicked) return;
  if (hit.any()) return open_menu_of(with, hit);
  const time_ns time = where.time_at(where.mouse.x);
  row_target target;
  target.blocks = hit.blocks.value_or(blocks_filter{.range = {{time, time + 1}}});
  menu_.open(target, "at " + format_moment(time), {}, [time](const view_context& now) {
    const time_range at{time, time};
    if (ImGui::MenuItem("Show memory map at this moment")) {
      now.commands.invoke("moment.set", at);
      now.commands.invoke("map.open");
    }
    if (ImGui::MenuItem("Mark generation here")) now.commands.invoke("generations.mark", at);
    if (ImGui::MenuItem("Add note here")) {
      now.commands.invoke("moment.set", at);
      now.commands.invoke("notes.add");
    }
    ImGui::Separator();
  });
}

/// Opens the menu of an event. Also selects the event, because the commands of the menu apply to the selection.
void timeline_view::open_menu_of(const view_context& with, const row_hit& hit) {
  row_target target;
  target.shows = hit.block == trace::block_id::none
                     ? make_event_selection(with, hit.event)
                     : selection{with.state.active()->id, selection_kind::block, trace::raw(hit.block)};
  with.commands.invoke("selection.set", target.shows);
  std::string name, text;
  const bool known = hit.span.length() > 0;
  if (known) {
    target.range = hit.span;
    target.find = with.text(hit.slice.name);
    name = target.find.empty() ? slice_kind_name(hit.slice.kind) : target.find;
    text = name + "\t" + slice_kind_name(hit.slice.kind) + "\t" + format_moment(hit.span.begin) + "\t" +
           format_time(hit.span.length());
    if (hit.slice.bytes > 0) text += "\t" + format_bytes(hit.slice.bytes);
  }
  const selection track{with.state.active()->id, selection_kind::track, hit.track};
  menu_.open(target, name, text, [track](const view_context& now) {
    for (const char* id : {"timeline.next_same", "timeline.previous_same"}) command_entry(now, id);
    if (track.id != 0 && ImGui::MenuItem("Hide this track")) now.commands.invoke("timeline.track_hide", track);
    ImGui::Separator();
  });
}

}  // namespace sluice::gui
