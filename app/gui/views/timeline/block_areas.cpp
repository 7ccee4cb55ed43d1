#include "app/gui/views/timeline/block_areas.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/saturating.hpp"
#include "core/index/labels.hpp"

namespace sluice::gui {
namespace {

constexpr float least_label = 14;  // design pixels
constexpr float least_width = 44;  // design pixels
constexpr float least_parted = 4;  // design pixels; a line is left free above blocks that are at least this high
/// No blocks are asked for where more than this many are expected, because counting them takes long.
constexpr double most_expected = 20'000;

/// A range that contains `visible`, and changes only now and then while the view pans.
time_range choose_window(time_range visible) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 60U;
  const auto wanted = static_cast<std::uint64_t>(std::max<time_ns>(visible.length(), 1));
  const auto length = static_cast<time_ns>(std::bit_ceil(std::min(wanted, longest)));
  const time_ns number = visible.begin / length - (visible.begin % length < 0 ? 1 : 0);
  return {number * length, saturating_sum(number * length, length * 2)};
}

std::string name_bytes(index::category category, std::uint64_t bytes) {
  return format::capital(std::string(index::category_name(category))) + "  " + format_bytes(bytes);
}

/// Adds a name for each run of blocks of one category in the pile at `time`, for as long as none of them moves.
void name_pile(const block_shapes& shapes, time_ns time, std::vector<block_label>& into) {
  std::vector<const shape_piece*> pile;
  for (const shape_piece& each : shapes.pieces)
    if (each.begin <= time && time < each.end) pile.push_back(&each);
  std::sort(pile.begin(), pile.end(), [](const auto* a, const auto* b) { return a->offset < b->offset; });
  const std::size_t first = into.size();
  for (const shape_piece* each : pile) {
    const shaped_block& block = shapes.blocks[each->block];
    const auto category = static_cast<index::category>(block.group);
    const bool joins = into.size() > first && into.back().category == category && into.back().high == each->offset;
    if (!joins) into.push_back({{each->begin, each->end}, each->offset, each->offset, category, {}});
    block_label& run = into.back();
    run.high += block.bytes;
    run.span = {std::max(run.span.begin, each->begin), std::min(run.span.end, each->end)};
  }
}

}  // namespace

std::vector<block_label> name_blocks(const block_shapes& shapes, std::uint64_t least_bytes, time_ns least_time) {
  constexpr time_ns places = 48;
  std::vector<block_label> found;
  for (time_ns place = 0; place < places; ++place) {
    const time_ns time =
        shapes.range.begin + static_cast<time_ns>(static_cast<double>(shapes.range.length()) *
                                                  ((static_cast<double>(place) + 0.5) / static_cast<double>(places)));
    name_pile(shapes, time, found);
  }
  std::erase_if(found, [&](const block_label& each) {
    return each.high - each.low < least_bytes || each.span.length() < least_time;
  });
  // The largest names first; others of the same category must not be beside them.
  const auto area = [](const block_label& each) {
    return static_cast<double>(each.high - each.low) * static_cast<double>(each.span.length());
  };
  std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return area(a) > area(b); });
  std::vector<block_label> labels;
  for (block_label& each : found) {
    const bool named = std::any_of(labels.begin(), labels.end(), [&](const block_label& other) {
      return other.span.begin < each.span.end && each.span.begin < other.span.end && other.low < each.high &&
             each.low < other.high;
    });
    if (named) continue;
    each.text = name_bytes(each.category, each.high - each.low);
    labels.push_back(std::move(each));
  }
  return labels;
}

bool block_areas::follow(const view_context& with, query::engine& engine, const query::track& track,
                         const query::band& memory, const row_frame& where) {
  const document& shown = *with.state.active();
  const time_range window = choose_window(where.visible);
  const double share = static_cast<double>(std::min(window.length(), shown.active.length())) /
                       static_cast<double>(std::max<time_ns>(shown.active.length(), 1));
  if (!memory.by_category || where.blocks == 0 || shown.live ||
      static_cast<double>(where.blocks) * share > most_expected)
    return false;
  query::blocks_query wanted;
  wanted.range = window;
  wanted.layer = memory.layer;
  wanted.kind = memory.kind;
  wanted.device = track.device;
  wanted.sort = query::block_column::born;
  wanted.descending = false;
  wanted.rows = max_blocks + 1;
  const auto result = query_.ask(engine, wanted);
  if (!result || !result.complete) return false;
  if (result.value != table_) {
    table_ = result.value;
    std::vector<shaped_block> blocks;
    rows_.clear();
    for (std::size_t i = 0; i < table_->rows.size(); ++i) {
      const query::block_row& row = table_->rows[i];
      if (row.died != trace::unknown_time && row.died <= row.born) continue;
      const auto category = row.category.kind;
      blocks.push_back({row.block, row.born, row.died == trace::unknown_time ? INT64_MAX : row.died, row.bytes,
                        static_cast<std::uint64_t>(category), 0});
      rows_.push_back(i);
    }
    const double pixels = static_cast<double>(window.length()) / where.ns_per_pixel();
    shapes_ = table_->count > max_blocks
                  ? block_shapes{}
                  : lay_out(std::move(blocks), window, static_cast<std::size_t>(std::clamp(pixels, 1.0, 16'000.0)));
    uploaded_top_ = 0;
  }
  return !shapes_.pieces.empty();
}

void block_areas::upload(const view_context& with, const draw::rectangle& chart, double top, const row_frame& where) {
  uploaded_top_ = top;
  uploaded_height_ = chart.height();
  uploaded_zoom_ = where.ns_per_pixel();
  theme_ = with.colours.kind;
  const double bytes_per_pixel = top / std::max(1.0, static_cast<double>(chart.height()));
  static thread_local std::vector<draw::box> boxes;
  boxes.clear();
  for (const shape_piece& each : shapes_.pieces) {
    const shaped_block& block = shapes_.blocks[each.block];
    const auto bytes = static_cast<double>(block.bytes);
    const bool parted = bytes >= bytes_per_pixel * static_cast<double>(with.px(least_parted));
    const double high = static_cast<double>(each.offset) + bytes - (parted ? bytes_per_pixel : 0);
    const ImU32 colour =
        with.colours.shade(with.colours.categories[static_cast<std::size_t>(block.group)], trace::raw(block.block));
    boxes.push_back({static_cast<float>(each.begin - shapes_.range.begin),
                     static_cast<float>(each.end - shapes_.range.begin), static_cast<float>(each.offset),
                     static_cast<float>(high), colour, 0});
  }
  batch_.assign(shapes_.range.begin, boxes);
  labels_ =
      name_blocks(shapes_, static_cast<std::uint64_t>(bytes_per_pixel * static_cast<double>(with.px(least_label))),
                  static_cast<time_ns>(where.ns_per_pixel() * static_cast<double>(with.px(least_width))));
}

void block_areas::draw(view_context& with, const row_frame& where, const draw::rectangle& chart, double top,
                       ImDrawList& list) {
  if (uploaded_top_ != top || uploaded_height_ != chart.height() || uploaded_zoom_ != where.ns_per_pixel() ||
      theme_ != with.colours.kind)
    upload(with, chart, top, where);
  with.boxes.add(list, batch_, chart, where.visible, static_cast<float>(top), with.colours.background);
  const auto to_y = [&](std::uint64_t bytes) {
    return chart.max.y - static_cast<float>(static_cast<double>(bytes) / top) * chart.height();
  };
  ImGui::PushFont(nullptr, small_text);
  const float line = ImGui::GetTextLineHeight();
  for (const block_label& each : labels_) {
    const float left = std::max(where.to_x(each.span.begin), chart.min.x) + with.px(5);
    const float right = std::min(where.to_x(each.span.end), chart.max.x) - with.px(3);
    const float high = to_y(each.high), low = to_y(each.low);
    if (low - high < line || ImGui::CalcTextSize(each.text.c_str()).x > right - left) continue;
    list.AddText({std::floor(left), std::floor((low + high - line) * 0.5F)},
                 with.colours.text_on(with.colours.categories[static_cast<std::size_t>(each.category)]),
                 each.text.c_str());
  }
  ImGui::PopFont();
}

const query::block_row* block_areas::find(const row_frame& where, const draw::rectangle& chart, double top) const {
  if (!chart.contains(where.mouse) || table_ == nullptr) return nullptr;
  const time_ns time = where.time_at(where.mouse.x);
  const double bytes = top * static_cast<double>((chart.max.y - where.mouse.y) / chart.height());
  for (const shape_piece& each : shapes_.pieces) {
    const auto low = static_cast<double>(each.offset);
    if (time >= each.begin && time < each.end && bytes >= low &&
        bytes < low + static_cast<double>(shapes_.blocks[each.block].bytes))
      return &table_->rows[rows_[each.block]];
  }
  return nullptr;
}

void block_areas::tip(const view_context& with, const query::block_row& block) const {
  if (!begin_tip(with)) return;
  const float column = with.px(84);
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::TextUnformatted(name_bytes(block.category.kind, block.bytes).c_str());
  ImGui::PopFont();
  const auto at = static_cast<std::size_t>(&block - table_->rows.data());
  if (at < table_->asked_by.size()) tip_field(with, "allocated by", table_->names[table_->asked_by[at]], column);
  tip_field(with, "allocated", format_moment(block.born), column);
  tip_field(with, "freed", block.died == trace::unknown_time ? "never" : format_moment(block.died), column);
  if (block.died != trace::unknown_time) tip_field(with, "lifetime", format_time(block.died - block.born), column);
  ImGui::TextDisabled("Click to select the block.");
  end_tip();
}

}  // namespace sluice::gui
