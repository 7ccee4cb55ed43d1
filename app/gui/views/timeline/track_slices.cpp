#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/timeline/query_tracks.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/window/format.hpp"
#include "core/index/work/device_work.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr float lane_height = 18;  // design pixels
constexpr float padding = 4;
/// Maximum number of levels of nested slices. Stacks of Python programs have about 90 levels. Deeper levels are not
/// drawn; a line of text states how many there are.
constexpr int max_lanes = 128;
/// The same for the rows of a query. Any number of them may overlap, as blocks do.
constexpr int max_query_lanes = query::sql_track::drawn_lanes;

bool is_copy(query::slice_kind kind) { return kind >= query::slice_kind::h2d && kind <= query::slice_kind::migration; }

class slice_row final : public track_row {
 public:
  /// Makes a row for events.
  slice_row() = default;
  /// Makes a row for the rows of a query, which are null until they are known.
  explicit slice_row(std::shared_ptr<const query::sql_track> rows)
      : of_query_(true), rows_(std::move(rows)), max_lanes_(max_query_lanes) {}

  [[nodiscard]] float height(const view_context& with, const query::track& track,
                             const memory_scale& /*scale*/) const override {
    const int lanes = std::clamp<int>(track.depth, 1, max_lanes_);
    return with.px(lane_height) * static_cast<float>(lanes) + with.px(padding) * 2;
  }

  [[nodiscard]] std::optional<float> find_middle(trace::event_id event) const override {
    if (shown_ == nullptr) return std::nullopt;
    for (const query::slice& s : shown_->slices)
      if (s.event == event && s.count == 1 && is_drawn(s))
        return padding_ + lane_ * (static_cast<float>(s.depth) + 0.5F) - 1;
    return std::nullopt;
  }

  row_hit draw(view_context& with, query::engine& engine, const query::track& track, const row_frame& where,
               ImDrawList& list) override {
    padding_ = with.px(padding);
    lane_ = with.px(lane_height);
    lanes_ = std::clamp<int>(track.depth, 1, max_lanes_);
    const draw::rectangle lanes{
        {where.area.min.x, where.area.min.y + with.px(padding)},
        {where.area.max.x, where.area.min.y + with.px(padding) + lane_ * static_cast<float>(lanes_)}};
    draw_row_label(with, list, where, track, with.px(8));
    const auto result = get_slices(engine, track, where);
    if (!result) return {};
    if (result != shown_ || theme_ != with.colours.kind || scale_ != with.scale) {
      shown_ = result;
      theme_ = with.colours.kind;
      scale_ = with.scale;
      upload(with, static_cast<double>(where.area.width()));
    }
    with.boxes.add(list, batch_, lanes, where.visible, lanes.height(), with.colours.background);
    draw_labels(with, where, lanes, list);
    draw_selected(with, where, lanes, list);
    if (track.depth > lanes_) draw_depth(with, where, lanes, track.depth - lanes_, list);
    return hover(with, track, where, lanes, list);
  }

 private:
  [[nodiscard]] std::shared_ptr<const query::slice_list> get_slices(query::engine& engine, const query::track& track,
                                                                    const row_frame& where) {
    const auto width = static_cast<std::uint32_t>(std::max(1.0F, where.area.width()));
    if (!of_query_) return query_.ask(engine, {track.id, where.visible, width}).value;
    const bool drawn = drawn_ != nullptr && drawn_->range == where.visible && drawn_width_ == width;
    if (rows_ == nullptr || drawn) return drawn_;
    static thread_local std::vector<timeline::drawn_slice> slices;
    slices.clear();
    rows_->draw(where.visible, width, slices);
    auto list = std::make_shared<query::slice_list>();
    list->range = where.visible;
    list->slices.reserve(slices.size());
    for (const timeline::drawn_slice& each : slices) {
      query::slice& to = list->slices.emplace_back();
      to.begin = each.item.begin;
      to.end = each.item.end;
      to.depth = each.lane;
      to.kind = query::slice_kind::range;
      to.count = each.count;
      to.busy = std::min(1.0F, each.busy);
      to.name = each.item.name;
      to.event = each.item.event;
    }
    drawn_ = std::move(list);
    drawn_width_ = width;
    return drawn_;
  }

  [[nodiscard]] std::string get_name(const view_context& with, trace::string_id name) const {
    return of_query_ && rows_ != nullptr ? printable(rows_->name(name)) : std::string(with.text(name));
  }
  [[nodiscard]] const char* get_kind(const query::slice& s) const {
    return of_query_ ? "row of a query" : slice_kind_name(s.kind);
  }

  /// Draws a line of text below the levels that states how many deeper levels there are.
  static void draw_depth(const view_context& with, const row_frame& where, const draw::rectangle& lanes, int deeper,
                         ImDrawList& list) {
    const std::string text = "+" + std::to_string(deeper) + " deeper levels, not drawn";
    ImGui::PushFont(nullptr, box_text);
    const ImVec2 size = ImGui::CalcTextSize(text.c_str());
    const ImVec2 at(where.area.min.x + with.px(4), lanes.max.y - size.y);
    list.AddRectFilled(at, {at.x + size.x, at.y + size.y}, with.colours.background);
    list.AddText(at, with.colours.text, text.c_str());
    ImGui::PopFont();
  }

  [[nodiscard]] bool is_drawn(const query::slice& s) const { return static_cast<int>(s.depth) < lanes_; }

  [[nodiscard]] ImU32 choose_colour(const view_context& with, const query::slice& s) const {
    ImU32 colour = with.colours.slice(s.kind);
    if (s.kind == query::slice_kind::kernel || s.kind == query::slice_kind::range)
      colour = with.colours.shade(colour, trace::raw(s.name));
    return colour;
  }

  void upload(const view_context& with, double width) {
    static thread_local std::vector<draw::box> boxes;
    boxes.clear();
    const time_ns origin = shown_->range.begin;
    const float top = lane_ * static_cast<float>(lanes_);
    const double ns_per_pixel = std::max(1.0, static_cast<double>(shown_->range.length()) / std::max(1.0, width));
    for (const query::slice& s : shown_->slices) {
      if (!is_drawn(s)) continue;
      // A slice narrower than a pixel is drawn with a height in proportion to the share of the pixel's time in which it
      // ran. Thus the coloured area represents the busy time at every zoom level. A slice is never too low to be
      // visible.
      const float low = top - lane_ * static_cast<float>(s.depth + 1) + 2;
      const float full = lane_ - 2;
      const double share =
          static_cast<double>(s.busy) * std::min(1.0, static_cast<double>(s.end - s.begin) / ns_per_pixel);
      const float filled = std::max(with.px(3), full * static_cast<float>(std::clamp(share, 0.0, 1.0)));
      boxes.push_back({static_cast<float>(s.begin - origin), static_cast<float>(s.end - origin), low, low + filled,
                       choose_colour(with, s), s.count == 1 ? draw::gap_after : 0U});
    }
    draw::simplify(boxes, top, top);
    batch_.assign(origin, boxes);
  }

  [[nodiscard]] draw::rectangle make_box(const row_frame& where, const draw::rectangle& lanes,
                                         const query::slice& s) const {
    const float top = lanes.min.y + lane_ * static_cast<float>(s.depth);
    const float left = std::floor(std::max(where.to_x(s.begin), where.area.min.x - 2) + 0.5F);
    const float right = std::floor(std::min(where.to_x(s.end), where.area.max.x + 2) + 0.5F);
    return {{left, top}, {std::max(right, left + 1), top + lane_ - 2}};
  }

  [[nodiscard]] std::string make_label(const view_context& with, const query::slice& s) const {
    const std::string name = get_name(with, s.name);
    if (is_copy(s.kind) && s.bytes > 0) return format_bytes(static_cast<double>(s.bytes));
    if (!name.empty()) return of_query_ ? name : short_name(name);
    return of_query_ ? std::string() : slice_kind_name(s.kind);
  }

  void draw_labels(const view_context& with, const row_frame& where, const draw::rectangle& lanes,
                   ImDrawList& list) const {
    const double ns_per_pixel = where.ns_per_pixel();
    const double least = static_cast<double>(with.px(26)) * ns_per_pixel;
    ImGui::PushFont(nullptr, box_text);
    const float line = ImGui::GetTextLineHeight();
    for (const query::slice& s : shown_->slices) {
      if (!is_drawn(s) || s.count > 1 || static_cast<double>(s.end - s.begin) < least) continue;
      const draw::rectangle box = make_box(where, lanes, s);
      const float left = std::max(box.min.x, where.area.min.x) + with.px(4);
      const float right = std::min(box.max.x, where.area.max.x) - with.px(3);
      if (right - left < with.px(18)) continue;
      const std::string label = make_label(with, s);
      const ImVec2 size = ImGui::CalcTextSize(label.c_str());
      // A name that is cut off is still useful; a number is not.
      if (size.x > right - left && (is_copy(s.kind) || right - left < with.px(40))) continue;
      const ImVec2 at(left, std::floor(box.min.y + (box.height() - line) * 0.5F));
      ImGui::PushStyleColor(ImGuiCol_Text, with.colours.text_on(choose_colour(with, s)));
      ImGui::RenderTextEllipsis(&list, at, ImVec2(right, box.max.y), right, label.c_str(), label.c_str() + label.size(),
                                &size);
      ImGui::PopStyleColor();
    }
    ImGui::PopFont();
  }

  void draw_selected(const view_context& with, const row_frame& where, const draw::rectangle& lanes,
                     ImDrawList& list) const {
    const selection& chosen = with.state.selected();
    const auto kind = ids_are_blocks() ? selection_kind::block : selection_kind::event;
    list.PushClipRect(where.area.min, where.area.max, true);
    for (const query::slice& s : shown_->slices) {
      if (!is_drawn(s) || s.event == trace::event_id::none) continue;
      const bool selected = chosen.kind == kind && trace::raw(s.event) == chosen.id;
      const bool lit = ids_are_blocks() ? with.followed().lights(trace::block_id{trace::raw(s.event)})
                                        : with.followed().lights(s.event);
      if (!selected && !lit) continue;
      const draw::rectangle box = make_box(where, lanes, s);
      list.AddRect({box.min.x - 2, box.min.y - 2}, {box.max.x + 2, box.max.y + 2}, with.colours.background, 0,
                   with.px(1));
      list.AddRect({box.min.x - 1, box.min.y - 1}, {box.max.x + 1, box.max.y + 1},
                   selected ? with.colours.text : with.colours.accent, 0, with.px(2));
    }
    list.PopClipRect();
  }

  row_hit hover(const view_context& with, const query::track& track, const row_frame& where,
                const draw::rectangle& lanes, ImDrawList& list) const {
    if (!where.hovered || !lanes.contains(where.mouse)) return {};
    const int lane = static_cast<int>((where.mouse.y - lanes.min.y) / lane_);
    const query::slice* best = nullptr;
    float distance = with.px(3);
    for (const query::slice& s : shown_->slices) {
      if (static_cast<int>(s.depth) != lane) continue;
      const draw::rectangle box = make_box(where, lanes, s);
      const float away = std::max({box.min.x - where.mouse.x, where.mouse.x - box.max.x, 0.0F});
      if (away < distance) {
        distance = away;
        best = &s;
      }
    }
    if (best == nullptr) return {};
    const draw::rectangle box = make_box(where, lanes, *best);
    list.PushClipRect(where.area.min, where.area.max, true);
    list.AddRect({box.min.x - 1, box.min.y - 1}, {box.max.x + 1, box.max.y + 1}, with.colours.text);
    list.PopClipRect();
    tip(with, track, *best);
    const time_range span{best->begin, best->end};
    query::slice drawn = *best;
    if (rows_ != nullptr) drawn.name = trace::string_id::none;  // Texts of the query's result are not names of events.
    if (ids_are_blocks())
      return {trace::event_id::none, span, track.id, drawn, trace::block_id{trace::raw(best->event)}};
    return {best->event, span, track.id, drawn, trace::block_id::none};
  }

  void tip(const view_context& with, const query::track& track, const query::slice& s) const {
    if (!begin_tip(with)) return;
    const std::string name = get_name(with, s.name);
    ImGui::PushTextWrapPos(with.px(460));
    ImGui::PushFont(with.fonts.bold, 0);
    if (name.empty()) {
      ImGui::TextUnformatted(get_kind(s));
    } else {
      ImGui::TextUnformatted(name.data(), name.data() + name.size());
    }
    ImGui::PopFont();
    ImGui::PopTextWrapPos();
    const float column = with.px(88);
    if (s.count > 1) {
      tip_field(with, of_query_ ? "rows" : "events", format_count(s.count) + " in this pixel", column);
      tip_field(with, "busy", format_share(static_cast<double>(s.busy)) + " of the time", column);
    } else {
      if (!name.empty()) tip_field(with, "kind", get_kind(s), column);
      tip_field(with, "duration", format_time(s.end - s.begin), column);
    }
    tip_field(with, "from", format::time_point(s.begin, std::max<time_ns>((s.end - s.begin) / 100, 1)), column);
    if (s.bytes > 0) tip_field(with, "size", format_bytes(static_cast<double>(s.bytes)), column);
    if (s.bytes > 0 && s.count == 1 && is_copy(s.kind) && s.end > s.begin)
      tip_field(with, "bandwidth", format_rate(index::compute_bandwidth(s.bytes, s.begin, s.end)), column);
    tip_field(with, "on", track.label, column);
    end_tip();
  }

  [[nodiscard]] bool ids_are_blocks() const { return rows_ != nullptr && rows_->ids_are_blocks(); }

  screen_slot<query::slices_query> query_;
  bool of_query_ = false;
  std::shared_ptr<const query::sql_track> rows_;
  std::shared_ptr<const query::slice_list> drawn_;  ///< The slices of `rows_` as drawn at `drawn_width_` pixels.
  std::uint32_t drawn_width_ = 0;
  int max_lanes_ = max_lanes;
  std::shared_ptr<const query::slice_list> shown_;
  draw::box_batch batch_;
  theme_kind theme_ = theme_kind::dark;
  float scale_ = 0;
  float lane_ = lane_height;
  float padding_ = padding;
  int lanes_ = 1;
};

}  // namespace

std::unique_ptr<track_row> make_slice_row() { return std::make_unique<slice_row>(); }
std::unique_ptr<track_row> make_query_row(std::shared_ptr<const query::sql_track> rows) {
  return std::make_unique<slice_row>(std::move(rows));
}

namespace {

/// The last component of a qualified name, without arguments and template arguments.
std::string_view last_name(std::string_view name) {
  const auto end_of_name = [&] { return std::min(name.find('<'), name.find('(')); };
  constexpr std::string_view anonymous = "(anonymous namespace)::";
  std::size_t open = end_of_name();
  while (open < name.size() && name.substr(open).starts_with(anonymous)) {
    name.remove_prefix(open + anonymous.size());
    open = end_of_name();
  }
  if (open != 0 && open != std::string_view::npos) name = name.substr(0, open);
  if (const std::size_t scope = name.rfind("::"); scope != std::string_view::npos && scope + 2 < name.size())
    name.remove_prefix(scope + 2);
  return name;
}

/// The first template argument of `name` that is a named type, that is, neither a number nor a lambda.
std::string_view first_type(std::string_view name) {
  std::size_t at = name.find('<');
  if (at == std::string_view::npos || name.find('(') < at) return {};
  for (std::size_t begin = ++at, depth = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (c == '<' || c == '(' || c == '{') ++depth;
    const bool ends = depth == 0 && (c == ',' || c == '>');
    if (depth > 0 && (c == '>' || c == ')' || c == '}')) --depth;
    if (!ends) continue;
    while (begin < at && name[begin] == ' ') ++begin;
    const std::string_view argument = name.substr(begin, at - begin);
    const bool named = !argument.empty() && (std::isalpha(static_cast<unsigned char>(argument[0])) != 0) &&
                       argument.find('{') == std::string_view::npos && argument != "true" && argument != "false";
    if (named) return argument;
    if (c == '>') break;
    begin = at + 1;
  }
  return {};
}

}  // namespace

/// True for names of Python frames in the format of torch.profiler: "/app/run.py(10): main", "<frozen runpy>(88):
/// _run_code", "<built-in method linear>".
static bool is_of_python(std::string_view name) {
  if (name.starts_with('<')) return true;
  const std::size_t close = name.find("): ");
  const std::size_t open = close == std::string_view::npos ? close : name.rfind('(', close);
  if (open == std::string_view::npos || open + 1 == close) return false;
  const std::string_view line = name.substr(open + 1, close - open - 1);
  return line.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string short_name(std::string_view full) {
  if (is_of_python(full)) return std::string(full);
  std::string_view name = full;
  if (name.starts_with("void ")) name.remove_prefix(5);
  const std::string_view last = last_name(name);
  if (last.empty()) return std::string(full);
  const std::string_view type = last_name(first_type(name));
  return type.empty() ? std::string(last) : std::string(last) + "<" + std::string(type) + ">";
}

}  // namespace sluice::gui
