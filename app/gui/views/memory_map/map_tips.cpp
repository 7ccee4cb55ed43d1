#include "app/gui/views/memory_map/map_tips.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/window/format.hpp"
#include "core/index/labels.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

/// Draws the tooltip of a segment's header.
void draw_segment_tip(const view_context& with, const query::address_segment& segment) {
  const float column = with.px(96);
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::Text("%s %s", std::string(get_name(segment.layer)).c_str(),
              segment.lone ? "block outside segments" : "segment");
  ImGui::PopFont();
  tip_field(with, "address", format_address(segment.address), column);
  tip_field(with, "size", format_bytes(segment.bytes) + " of " + std::string(get_name(segment.kind)) + " memory",
            column);
  if (segment.lone) return;
  tip_field(with, "used", format_bytes(segment.used) + " by " + format_some(segment.blocks, "block"), column);
  tip_field(with, "free", format_bytes(segment.bytes - segment.used), column);
  tip_field(with, "largest free", format_bytes(segment.largest_hole), column);
  tip_field(with, "fragmentation", format_share(segment.fragmentation()), column);
}

}  // namespace

void map_tips::draw(const view_context& with, const map_spot& at, time_ns time) {
  if (!begin_tip(with)) return;
  const float column = with.px(96);
  if (at.item != nullptr) {
    draw_block(with, at, time);
  } else if (at.begin < at.end) {
    ImGui::PushFont(with.fonts.bold, 0);
    ImGui::Text("%s free", format_bytes(at.end - at.begin).c_str());
    ImGui::PopFont();
    tip_field(with, "at",
              format_address(at.begin) + ", " + format_bytes(at.begin - at.segment->address) + " from segment start",
              column);
    tip_field(with, "largest here", format_bytes(at.segment->largest_hole), column);
  } else {
    draw_segment_tip(with, *at.segment);
  }
  end_tip();
}

void map_tips::draw_block(const view_context& with, const map_spot& at, time_ns time) {
  const query::address_item& item = *at.item;
  const float column = with.px(96);
  const std::string_view name = with.text(item.name);
  ImGui::PushTextWrapPos(with.px(460));
  ImGui::PushFont(with.fonts.bold, 0);
  if (item.count > 1) {
    ImGui::Text("%s in this pixel", format_some(item.count, "block").c_str());
  } else if (name.empty()) {
    ImGui::Text("Block of %s", format_bytes(item.used).c_str());
  } else {
    ImGui::TextUnformatted(name.data(), name.data() + name.size());
  }
  ImGui::PopFont();
  ImGui::PopTextWrapPos();
  if (item.count > 1) {
    tip_field(with, "used", format_bytes(item.used) + " of " + format_bytes(item.bytes), column);
    return ImGui::TextDisabled("Zoom in to distinguish the blocks. Click to select the largest.");
  }
  tip_field(with, "size", format_bytes(item.used), column);
  tip_field(with, "age", item.born <= time ? format_time(time - item.born) : std::string("-"), column);
  tip_field(with, "layer", get_label(item.layer), column);
  if (item.category.kind != index::category::none)
    tip_field(with, "category",
              std::string(index::category_name(item.category.kind)) + (item.category.exact() ? "" : " (inferred)"),
              column);
  tip_field(
      with, "at",
      format_address(item.address) + ", " + format_bytes(item.address - at.segment->address) + " from segment start",
      column);
  if (item.stack != trace::stack_id::none) draw_allocating_line(with, item.block, column);
}

void map_tips::draw_allocating_line(const view_context& with, trace::block_id block, float column) {
  const auto details = details_.ask(*with.state.active()->engine, {trace::event_id::none, block});
  if (!details.complete || details.failure || !details) return;
  std::vector<const symbols::frame_line*> lines;
  for (const symbols::frame_line& each : details->stack) lines.push_back(&each);
  const std::size_t named = symbols::line_to_name(lines);
  if (named >= lines.size()) return;
  tip_field(with, "allocated by", short_name(*lines[named]) + "  " + symbols::get_place(*lines[named]), column);
  if (!lines[named]->source.empty()) ImGui::TextDisabled("%s", lines[named]->source.c_str());
}

}  // namespace sluice::gui
