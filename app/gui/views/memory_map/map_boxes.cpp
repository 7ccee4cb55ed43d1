#include "app/gui/views/memory_map/map_boxes.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::gui {
namespace {

constexpr float across = 1'000'000;  // total width in units of the renderer, which was designed for times

}  // namespace

void map_boxes::draw(view_context& with, const map_viewport& viewport, const map_colours& colours) {
  const drawn_state now{viewport.visible(), with.scale, with.colours.kind, with.state.memory_by_category,
                        colours.by_pool()};
  if (!(now == drawn_)) {
    drawn_ = now;
    upload(with, viewport, colours);
  }
  const draw::rectangle& area = viewport.area();
  const auto lines = static_cast<float>(viewport.fits() + 1);
  with.boxes.add(*ImGui::GetWindowDrawList(), batch_,
                 {area.min, {area.max.x, area.min.y + viewport.line_height() * lines}},
                 {0, static_cast<time_ns>(across)}, lines, with.colours.background);
}

void map_boxes::upload(const view_context& with, const map_viewport& viewport, const map_colours& colours) {
  holes_.clear();
  blocks_.clear();
  for (std::int64_t line = viewport.first(); line < viewport.end(); ++line) {
    for (const map_row& row : viewport.layout().rows_at(line))
      if (!row.heading) add_line(with, viewport, colours, row, line);
  }
  // Draw the holes first, so that blocks narrower than a pixel remain visible.
  holes_.insert(holes_.end(), blocks_.begin(), blocks_.end());
  batch_.assign(0, holes_);
}

void map_boxes::add_line(const view_context& with, const map_viewport& viewport, const map_colours& colours,
                         const map_row& row, std::int64_t line) {
  const std::uint64_t bytes_per_line = viewport.layout().bytes_per_line();
  const query::address_segment& segment = viewport.map()->segments[row.at];
  const map_piece on_line = viewport.layout().piece(row, line, segment.bytes);
  const std::uint64_t begin = segment.address + on_line.begin;
  const std::uint64_t end = segment.address + on_line.end;
  // The rows of one segment are close together; segments are further apart.
  const float gap = with.px(line + 1 == row.first + row.lines ? 4 : 1) / viewport.line_height();
  const float high = static_cast<float>(viewport.fits() + 1 - (line - viewport.first()));
  const auto to_x = [&, scale = static_cast<double>(across) / static_cast<double>(bytes_per_line)](std::uint64_t at) {
    return static_cast<float>(static_cast<double>(row.indent + (at - begin)) * scale);
  };
  const auto put = [&](std::vector<draw::box>& into, std::uint64_t start, std::uint64_t stop, ImU32 colour,
                       std::uint32_t style) {
    into.push_back({to_x(start), to_x(stop), high - 1 + gap, high, colour, style});
  };
  // Join adjacent blocks that are thinner than two pixels and look about the same, because with a million blocks one
  // box for each would take most of a frame.
  const float width = std::max(1.0F, viewport.area().width());
  const std::uint64_t pixel = bytes_per_line / static_cast<std::uint64_t>(width);
  constexpr float same_share = 0.1F;  // maximum difference in the share of used bytes
  struct {
    ImU32 colour = 0;
    float share = 0;
    std::uint64_t end = 0;  ///< 0: there is no box to extend.
  } last;
  std::uint64_t reached = begin;
  for (std::size_t i = item_at(segment, begin); i < segment.items.size() && segment.items[i].address < end; ++i) {
    const query::address_item& item = segment.items[i];
    const std::uint64_t start = std::max(item.address, begin);
    const std::uint64_t stop = std::min(item.address + item.bytes, end);
    const bool thin = stop - start < 2 * pixel;
    const ImU32 colour = colours.colour(with, segment, item);
    const float share = used_share(item);
    const bool goes_on = thin && last.end != 0 && last.colour == colour && std::fabs(last.share - share) < same_share &&
                         start - std::min(start, last.end) <= pixel / 2;
    if (goes_on) {
      blocks_.back().end = to_x(stop);
      last.end = stop;
    } else {
      if (start > reached) put(holes_, reached, start, with.colours.pool_free, 0);
      put(blocks_, start, stop, colours.fill(with, segment, item, thin),
          item.count == 1 && !thin ? draw::gap_after : 0U);
      last = {colour, share, thin ? stop : 0};
    }
    reached = std::max(reached, stop);
  }
  if (reached < end) put(holes_, reached, end, with.colours.pool_free, 0);
}

}  // namespace sluice::gui
