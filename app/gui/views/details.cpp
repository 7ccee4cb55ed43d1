#include <algorithm>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/uses_table.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/window/format.hpp"

namespace sluice::gui {
namespace {

constexpr panel_info details_panel{.title = "Details", .place = panel_place::right, .tells_of = topic::selection};

/// Shows everything that is known about the selected event or block, with links to related items.
class details_view final : public view {
 public:
  details_view() : view(details_panel) {}
  void reset() override { query_ = {}; }

  void draw(view_context& with) override {
    const selection& chosen = with.state.selected();
    if (chosen.kind != selection_kind::event && chosen.kind != selection_kind::block)
      return empty_state(with, icon::info, "Nothing selected", "Click a box on the timeline or a row in Blocks.");
    query::details_query wanted;
    if (chosen.kind == selection_kind::event) {
      wanted.event = static_cast<trace::event_id>(chosen.id);
    } else {
      wanted.block = static_cast<trace::block_id>(chosen.id);
    }
    const auto result = query_.ask(*with.state.active()->engine, wanted);
    progress_line(with, result.complete, result.progress);
    if (result.failure) return empty_state(with, icon::warning, "Not in this recording", result.failure->message);
    if (!result) return;
    const query::event_details& found = *result.value;
    ImGui::PushFont(with.fonts.bold, 0);
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(found.title.c_str());
    ImGui::PopTextWrapPos();
    ImGui::PopFont();
    command_button(with, "selection.reveal");
    ImGui::Dummy({0, with.px(2)});
    float column = with.px(60);
    for (const query::detail& each : found.details)
      column = std::max(column, ImGui::CalcTextSize(each.label.c_str()).x + with.px(16));
    column = std::min(column, ImGui::GetContentRegionAvail().x * 0.45F);
    table_of<query::detail> table("Details", found.details);
    table.text("property", "what", [](const auto& each) { return each.label; });
    table.text("value", "value", [](const auto& each) { return each.value; });
    table.leads_to([&](const auto& each) {
      row_target target;
      target.shows =
          each.link != trace::event_id::none ? make_event_selection(with, each.link) : select_block(with, each.block);
      if (target.shows.kind == selection_kind::none) target.shows = with.state.selected();
      return target;
    });
    for (std::size_t row = 0; row < found.details.size(); ++row) {
      const query::detail& each = found.details[row];
      ImGui::PushID(static_cast<int>(row));
      const ImVec2 begin = ImGui::GetCursorPos();
      const float room = std::max(1.0F, ImGui::GetContentRegionAvail().x - column);
      tables_.item(with, table, row,
                   {0, ImGui::CalcTextSize(each.value.data(), each.value.data() + each.value.size(), false, room).y});
      ImGui::SetCursorPos(begin);
      draw_row(with, each, column);
      ImGui::PopID();
    }
    if (chosen.kind == selection_kind::block) draw_uses(with);
    if (!found.stack.empty()) {
      heading(with, "Stack");
      stack_lines(with, found.stack, &tables_);
    }
  }

 private:
  static void draw_row(const view_context& with, const query::detail& each, float column) {
    const bool to_event = each.link != trace::event_id::none;
    const bool to_block = each.block != trace::block_id::none;
    if (!to_event && !to_block) return field(with, each.label, each.value, column);
    const float left = ImGui::GetCursorPosX();
    ImGui::TextDisabled("%s", each.label.c_str());
    ImGui::SameLine(left + column);
    ImGui::PushTextWrapPos(0);
    const bool followed = link(with, each.value);
    ImGui::PopTextWrapPos();
    if (!followed) return;
    to_event ? show_event(with, each.link) : show_block(with, each.block);
  }

  /// Lists the kernels and copies that used the selected block.
  void draw_uses(const view_context& with) {
    const query::block_use_list* uses = with.followed().uses();
    heading(with, "Uses");
    if (uses == nullptr) return remark(with, "Reading the uses.");
    if (!uses->uses.empty()) {
      table_of<query::block_use> table = make_table_of_uses(*uses, with.colours);
      table.leads_to([&](const auto& each) {
        return row_target{.shows = make_event_selection(with, each.event), .range = get_time(each)};
      });
      table.on_click([&](const auto& each) { show_event(with, each.event); });
      table.tip = "Click to go there.";
      uses_.draw(with, table, {.drops_columns = true});
    }
    for (const std::string& each : describe(*uses)) remark(with, each);
  }

  screen_slot<query::details_query> query_;
  view_tables uses_;
  view_tables tables_;
};

}  // namespace

std::unique_ptr<view> make_details_view() { return std::make_unique<details_view>(); }

}  // namespace sluice::gui
