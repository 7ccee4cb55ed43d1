// The context menu of the memory map for a block, a segment, or the free space between blocks.
#include "app/gui/views/memory_map/memory_map_chart.hpp"
#include "app/gui/window/format.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {

void memory_map_chart::open_menu(const view_context& with, const map_spot& at) {
  row_target target;
  std::string name, text;
  if (at.item != nullptr) {
    const query::address_item& item = *at.item;
    target.shows = select_block(with, item.block);
    name = with.text(item.name);
    if (name.empty()) name = "Block of " + format_bytes(item.used);
    text = name + "\t" + format_bytes(item.used) + "\t" + format_address(item.address) + "\t" +
           std::string(get_label(item.layer));
    with.commands.invoke("selection.set", target.shows);
  } else if (at.begin < at.end) {
    name = format_bytes(at.end - at.begin) + " free";
    text = name + "\t" + format_address(at.begin);
  } else {
    const query::address_segment& segment = *at.segment;
    target.shows = select_block(with, segment.block);
    name = std::string(get_name(segment.layer)) + " segment";
    text = name + "\t" + format_address(segment.address) + "\t" + format_bytes(segment.bytes) + "\t" +
           format_bytes(segment.used) + " used";
  }
  menu_.open(target, name, text, [time = viewport_.map()->time](const view_context& now) {
    if (!ImGui::MenuItem("List blocks at this moment")) return;
    blocks_filter filter;
    filter.range = time_range{time, time + 1};
    now.commands.invoke("blocks.show", filter);
  });
}

}  // namespace sluice::gui
