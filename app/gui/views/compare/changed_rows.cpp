#include "app/gui/views/compare/changed_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "app/gui/views/compare/comparison_header.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
namespace {

using metrics::changed_value;

std::string plain_text(double value) { return fmt::format("{:.6g}", value); }

table_cell make_value_cell(const changed_value& row, const std::optional<double>& value) {
  if (!value) return table_cell::none("unknown");
  return table_cell::words(format_value(row.unit, value), plain_text(*value));
}

void draw_difference(const view_context& with, const changed_value& row) {
  const metrics::change_trend trend = row.trend();
  const bool plain = trend == metrics::change_trend::same || trend == metrics::change_trend::open;
  const std::string text = format_difference(row);
  const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(text.c_str()).x;
  if (room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
  ImGui::PushStyleColor(ImGuiCol_Text, plain ? with.colours.muted : choose_colour(with.colours, trend));
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopStyleColor();
}

void draw_bar(const view_context& with, const changed_value& row) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float height = ImGui::GetTextLineHeight();
  const float top = std::floor(at.y + height * 0.25F), bottom = std::floor(at.y + height * 0.75F);
  const float middle = std::floor(at.x + width * 0.5F);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled({at.x, top}, {at.x + width, bottom}, with.colours.header);
  if (row.differs() && row.before && row.after) {
    const float end = middle + static_cast<float>(row.share) * width * 0.5F;
    const metrics::change_trend trend = row.trend();
    const bool plain = trend == metrics::change_trend::same || trend == metrics::change_trend::open;
    list.AddRectFilled({std::min(middle, end), top}, {std::max({middle, end, std::min(middle, end) + 1}), bottom},
                       plain ? with.colours.muted : choose_colour(with.colours, trend));
  }
  ImGui::Dummy({width, height});
}

}  // namespace

void draw_changed_rows(const view_context& with, const char* name, const std::vector<changed_value>& rows,
                       const std::shared_ptr<const void>& source, view_tables& tables) {
  table_of<changed_value> table(name, rows);
  table.source = source;
  table.text("What", "what", [](const auto& each) { return each.what; }).wide(210);
  table.text("Where", "where", [](const auto& each) { return table_cell::text(each.where).in(tone::muted); }).wide(190);
  table.duration("Before", "before", [](const auto& each) { return make_value_cell(each, each.before); }).wide(80);
  table.duration("After", "after", [](const auto& each) { return make_value_cell(each, each.after); }).wide(80);
  table_column& difference = table.duration("Difference", "difference", [](const auto& each) {
    if (!each.before || !each.after) return table_cell::none("unknown");
    return table_cell::words(format_difference(each), plain_text(each.change()));
  });
  difference.wide(90);
  difference.draw = [&with, &rows](std::size_t row) {
    draw_difference(with, rows[row]);
    return true;
  };
  table_column& bar = table.text("", "share", [](const auto& each) { return plain_text(each.share); });
  bar.title = " ";
  bar.wide(150).unsorted();
  bar.draw = [&with, &rows](std::size_t row) {
    draw_bar(with, rows[row]);
    return true;
  };
  tables.draw(with, table, {.scrolls = true, .shares_width = true, .drops_columns = true});
}

}  // namespace sluice::gui
