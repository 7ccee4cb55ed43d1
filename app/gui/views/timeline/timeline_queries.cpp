// The part of the timeline that shows the rows of queries.
#include <algorithm>
#include <utility>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/timeline.hpp"
#include "core/base/format.hpp"
#include "core/base/printable.hpp"

namespace sluice::gui {

void timeline_view::keep(document_id document, kept_view& into) const {
  arrangement_.keep(document, into);
  if (const query_tracks* tracks = queries(document)) into.queries = tracks->texts();
}

void timeline_view::restore(const view_context& with, const kept_view& view) {
  const document& active = *with.state.active();
  arrangement_.order(active.id).restore(view);
  for (std::size_t i = view.queries.size(); i-- > 0;) queries_.add(active, view.queries[i]);
}

/// Draws the tracks of queries above all other tracks.
float timeline_view::draw_queries(view_context& with, const row_frame& where, float y, bool hovered, row_hit& hit,
                                  ImDrawList& list) {
  const document& shown = *with.state.active();
  queries_.forget_closed(with.state);
  query_tracks* tracks = queries_.find(shown.id);
  if (tracks == nullptr || tracks->all().empty()) return y;
  if (std::exchange(scroll_to_top_, false)) ImGui::SetScrollY(0);
  tracks->update();
  y = draw_group(with, where, y, "queries", "Queries", "", list);
  if (folded_.contains("queries")) return y;
  for (const query_tracks::one& each : tracks->all()) {
    const float height = std::max(each.row->height(with, each.about, {}), with.px(44));
    if (y + height >= where.area.min.y && y <= where.area.max.y) {
      row_frame place = where;
      place.area = {{where.area.min.x, y}, {where.area.max.x, y + height}};
      place.header = {{where.header.min.x, y}, {where.header.max.x, y + height}};
      place.named = hovered && place.header.contains(where.mouse) && where.header.contains(where.mouse);
      place.hovered =
          hovered && !axis_.selecting() && place.area.contains(where.mouse) && where.area.contains(where.mouse);
      on_screen_.push_back(each.id);
      const row_hit found = each.row->draw(with, *shown.engine, each.about, place, list);
      if (place.named) name_query(with, each);
      if (found.any()) hit = found;
      list.AddLineH(where.header.min.x, where.area.max.x, y + height - 1, with.colours.grid);
      list.AddLineV(where.area.min.x - 1, y, y + height, with.colours.line);
    }
    y += height;
  }
  return y;
}

/// Handles the mouse on the name of a query's track: hovering shows the full text, and a right click opens the track's
/// menu.
void timeline_view::name_query(const view_context& with, const query_tracks::one& one) {
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Right)) {
    menu_track_ = one.id;
    ImGui::OpenPopup("track menu");
    return;
  }
  if (ImGui::IsPopupOpen("track menu") || !begin_tip(with)) return;
  ImGui::PushTextWrapPos(with.px(460));
  ImGui::TextUnformatted(shortened(printable(one.text, line_ends::keep), 2000).c_str());
  ImGui::TextDisabled("%s", one.about.detail.c_str());
  ImGui::PopTextWrapPos();
  end_tip();
}

void timeline_view::add_query_commands(const command_home& home) {
  static constexpr command_row<acts_on<timeline_view>> rows[] = {
      // The argument is the text of a query.
      {.id = "timeline.add_query",
       .run =
           [](auto& at, auto& with) {
             const auto* text = std::get_if<std::string>(&with);
             if (text == nullptr || text->empty()) return;
             at.self.queries_.add(*at.state.active(), *text);
             at.self.folded_.erase("queries");
             at.self.scroll_to_top_ = true;
           },
       .enabled = when_ready},
      {.id = "timeline.remove_query",
       .run =
           [](auto& at, auto& with) {
             const auto* track = std::get_if<selection>(&with);
             if (track != nullptr) at.self.queries_.remove(at.state.active()->id, track->id);
           },
       .enabled = when_ready}};
  home.commands.add(rows, acts_on<timeline_view>{home, *this});
}

}  // namespace sluice::gui
