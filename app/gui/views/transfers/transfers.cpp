// Shows copies by direction, by line, and as a chart of their bandwidth by size.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "app/gui/views/chart/view_charts.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/process_choice.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/transfers/copy_chart.hpp"
#include "app/gui/views/views.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/metrics/base/link_share.hpp"
#include "core/query/types/transfers.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

using metrics::copy_line;
using metrics::copy_table;
using metrics::transfer_statistics;

std::string name_of_place(const metrics::code_place& place) {
  std::string name = to_text(place);
  return name.empty() ? "no stack recorded" : name;
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

row_target find_target(const view_context& with, const metrics::code_place& place, trace::event_id event) {
  row_target target;
  target.shows = make_event_selection(with, event);
  if (place.known) target.line = place.line;
  return target;
}

constexpr panel_info transfers_panel{
    .title = "Transfers", .scrolls = false, .offers_choices = true, .open = {"transfers.open", "Transfers", "Go"}};

class transfers_view final : public view {
  static constexpr float min_beside = 900;  // design pixels; in narrower panels the chart is above the tables
  static constexpr float widest_tables = 860;
  static constexpr float min_chart = 130;

  /// A predicate that is true for copies of the chosen direction.
  auto is_only() const {
    return [this](const auto& each) { return !only_ || only_->takes(each); };
  }

 public:
  transfers_view() : view(transfers_panel) {}

  void reset() override {
    copies_ = {};
    statistics_ = {};
    shown_ = nullptr;
    only_.reset();
  }

  void draw(view_context& with) override {
    const document& shown = *with.state.active();
    const time_range range = with.state.range().value_or(shown.span);
    const auto metrics = statistics_.ask(*shown.engine, {range});
    const auto copies = copies_.ask(*shown.engine, {range});
    progress_line(with, metrics.complete && copies.complete, copies.progress);
    if (metrics.failure || copies.failure)
      return empty_state(with, icon::failure, "The copies could not be read",
                         (metrics.failure ? *metrics.failure : *copies.failure).message);
    if (!metrics) return;
    if (metrics.value->transfers.empty() && metrics.complete) {
      range_line(with, range);
      return empty_state(with, icon::chart, with.state.range() ? "No copies in this range" : "No copies",
                         with.state.range()
                             ? "Drag over the timeline to select another range."
                             : "The recording has no copies between host and device or within a device.");
    }
    if (copies.value != nullptr) shown_ = copies.value;
    if (only_ && std::none_of(metrics.value->transfers.begin(), metrics.value->transfers.end(), is_only()))
      only_.reset();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    if (room.x >= with.px(min_beside)) {
      if (ImGui::BeginChild("tables", {std::min(with.px(widest_tables), room.x * 0.58F), 0}))
        draw_tables(with, *metrics.value, range);
      ImGui::EndChild();
      ImGui::SameLine(0, with.px(16));
      draw_copies(with, *metrics.value, ImGui::GetContentRegionAvail());
    } else {
      draw_copies(with, *metrics.value, {room.x, std::max(with.px(min_chart), room.y * 0.42F)});
      if (ImGui::BeginChild("tables")) draw_tables(with, *metrics.value, range);
      ImGui::EndChild();
    }
  }

 private:
  void draw_copies(const view_context& with, const metrics::range_statistics& statistics, ImVec2 size) {
    static const metrics::copy_table nothing;
    const metrics::copy_table& table = shown_ == nullptr ? nothing : *shown_;
    chart_model model = make_copies_model(table, statistics, only_, with.colours);
    for (std::size_t i = 0; i < table.cells.size(); ++i)
      if (with.followed().lights(table.cells[i].fastest))
        for (chart_series& each : model.series) each.chosen = static_cast<std::uint32_t>(i);
    model.click = [&](const chart_pointer& pointer) {
      if (pointer.series) show_event(with, table.cells[pointer.item].fastest);
    };
    charts_.draw(with, "##chart", model, size);
  }

  /// "GPU 0, " if there are several devices; otherwise empty.
  std::string on(const view_context& with, trace::device_id device, const metrics::range_statistics& statistics) const {
    const bool several = std::any_of(statistics.transfers.begin(), statistics.transfers.end(), [&](const auto& each) {
      return each.device != statistics.transfers.front().device;
    });
    return several ? device_words(with, device) + ", " : std::string();
  }

  // --- tables -------------------------------------------------------------------------------------------------------

  void draw_tables(const view_context& with, const metrics::range_statistics& statistics, time_range range) {
    range_line(with, range);
    draw_ways(with, statistics);
    if (shown_ == nullptr) return remark(with, "Reading copies.");
    draw_lines(with, statistics);
    draw_storms(with);
    draw_round_trips(with);
    if (!shown_->contents_checked) {
      ImGui::Dummy({0, with.px(4)});
      remark(with,
             "Duplicate copies were not detected: record with \"Detect duplicate copies\" (File, Record a program).");
    }
  }

  void draw_ways(const view_context& with, const metrics::range_statistics& statistics) {
    table_of<transfer_statistics> table("Copies by direction", statistics.transfers);
    const auto part_of = [](trace::memory_kind side) {
      return [side](const auto& each) {
        const auto part = std::find_if(each.parts.begin(), each.parts.end(),
                                       [side](const auto& subject) { return subject.host_side == side; });
        return part == each.parts.end() ? std::nullopt : std::optional(part->bytes);
      };
    };
    table.text("direction", "direction", [&](const auto& each) {
      return table_cell::words(on(with, each.device, statistics) + std::string(get_name(each.direction)),
                               get_name(each.direction))
          .marked(with.colours.directions[static_cast<std::size_t>(each.direction)]);
    });
    table.bytes("bytes", "bytes", [](const auto& each) { return each.bytes; });
    table.rate("rate", "bytes_per_second", [](const auto& each) { return each.mean_bandwidth; });
    table.share("of peak", "share_of_peak",
                [](const auto& each) { return metrics::link_share(each.mean_bandwidth, each.link_peak); });
    table.count("copies", "copies", [](const auto& each) { return each.count; });
    table.duration("busy", "busy_ns", [](const auto& each) { return each.busy; });
    table.bytes("pageable", "pageable_bytes", part_of(trace::memory_kind::host));
    table.bytes("pinned", "pinned_bytes", part_of(trace::memory_kind::pinned));
    table.text("", "device", [&](const auto& each) { return device_words(with, each.device); });
    const auto way_of = [](const transfer_statistics& each) { return copy_way{each.device, each.direction}; };
    table.choose([=, this](const auto& each) { return only_ == way_of(each); });
    table.on_click(
        [=, this](const auto& each) { only_ = only_ == way_of(each) ? std::nullopt : std::optional(way_of(each)); });
    table.tip = "Click to show only these copies.";
    tables_.draw(with, table, {.drops_columns = true});
  }

  void draw_lines(const view_context& with, const metrics::range_statistics& statistics) {
    heading(with, "By line");
    table_of<copy_line> table("Copies by line", shown_->lines, is_only());
    if (table.rows == 0) return remark(with, "None.");
    table
        .text("line, direction", "line",
              [&](const auto& each) { return make_name(with, each, on(with, each.device, statistics)); })
        .tip("The line of the program that issued the copies.")
        .wide(170);
    table.bytes("bytes", "bytes", [](const auto& each) { return each.bytes; }).tip("Bytes copied.").wide(66);
    table.rate("rate", "bytes_per_second", [](const auto& each) { return each.rate(); })
        .tip("Bytes divided by the time spent copying them.")
        .wide(72);
    table.share("of peak", "share_of_peak", [&](const auto& each) { return get_share_of_peak(statistics, each); })
        .tip("The rate as a share of the link's theoretical peak.")
        .wide(56);
    table.duration("time", "time_ns", [](const auto& each) { return each.busy; })
        .tip("Sum of the copies' durations.")
        .wide(66)
        .sorted_at_first();
    table
        .share("with kernels", "share_with_kernels",
               [](const auto& each) {
                 const double part = share(static_cast<double>(each.busy - each.alone), static_cast<double>(each.busy));
                 return each.kernels_known ? std::optional(part) : std::nullopt;
               })
        .tip("Share of the copy time during which a kernel also ran. The rest is waiting.")
        .wide(86);
    table.count("copies", "copies", [](const auto& each) { return each.count; }).tip("Number of copies.").wide(54);
    table
        .share("pageable", "pageable_share",
               [](const auto& each) {
                 const double part = share(static_cast<double>(each.pageable_bytes), static_cast<double>(each.bytes));
                 return has_host_side(each.direction) ? std::optional(part) : std::nullopt;
               })
        .tip("Share of the bytes whose host side is pageable memory. The rest is pinned.")
        .wide(70);
    const auto if_any = [](std::uint64_t bytes) { return bytes > 0 ? std::optional(bytes) : std::nullopt; };
    const bool checked = shown_->contents_checked;
    table
        .bytes(checked ? "repeated" : "", "repeated_bytes",
               [=](const auto& each) { return if_any(each.repeated.bytes); })
        .tip("Bytes that had been sent to the GPU before.")
        .wide(74);
    table
        .bytes(checked ? "round trips" : "", "round_trip_bytes",
               [=](const auto& each) { return if_any(each.round_trips.bytes); })
        .tip("Bytes copied to the host and back unchanged, counted both ways.")
        .wide(82);
    table.text("", "device", [&](const auto& each) { return device_words(with, each.device); });
    table.text("", "direction", [](const auto& each) { return get_name(each.direction); });
    table.source = shown_;
    table.variant =
        only_ ? trace::raw(only_->device) * trace::direction_count + static_cast<std::uint64_t>(only_->direction) + 1
              : 0;
    table.leads_to([&](const auto& each) { return find_target(with, each.place, each.largest); });
    table.choose([&](const auto& each) { return is_lit(with, each); });
    table.on_click([&](const auto& each) { show_event(with, each.largest); });
    table.explain([&](const auto& each) { draw_line_tip(with, each); });
    table.tip = "Click to select the largest copy.";
    tables_.draw(with, table, {.drops_columns = true, .follows_selection = true});
  }

  /// True for the line of the selected event, and for the lines of the copies that used the selected block.
  static bool is_lit(const view_context& with, const copy_line& line) {
    const followed_item& item = with.followed();
    if (item.lights(line.largest)) return true;
    const std::string words = line.place.known ? symbols::format_place_and_name(line.place.line) : std::string();
    if (words.empty()) return false;
    if (with.state.selected().kind == selection_kind::event) return item.line() == words;
    if (item.uses() == nullptr) return false;
    return std::any_of(item.uses()->uses.begin(), item.uses()->uses.end(), [&](const query::block_use& each) {
      return each.kind == query::use_kind::copy && each.direction == line.direction && each.line == words;
    });
  }

  /// `device`: "GPU 0, " or empty.
  static table_cell make_name(const view_context& with, const copy_line& line, const std::string& device) {
    const std::string name = name_of_place(line.place);
    return table_cell::words(name + ",  " + device + std::string(get_name(line.direction)), name)
        .marked(with.colours.directions[static_cast<std::size_t>(line.direction)]);
  }

  static std::optional<double> get_share_of_peak(const metrics::range_statistics& statistics, const copy_line& line) {
    const auto way = std::find_if(statistics.transfers.begin(), statistics.transfers.end(), [&](const auto& each) {
      return each.device == line.device && each.direction == line.direction;
    });
    return way == statistics.transfers.end() ? std::nullopt : metrics::link_share(line.rate(), way->link_peak);
  }

  static void draw_line_tip(const view_context& with, const copy_line& line) {
    ImGui::TextUnformatted(name_of_place(line.place).c_str());
    if (!line.place.module.empty()) ImGui::TextDisabled("%s", line.place.module.c_str());
    const float wide = with.px(120);
    tip_field(with, "copies", format_count(line.count) + ", " + format_bytes(line.bytes), wide);
    tip_field(with, "time", format_time(line.busy), wide);
    if (line.kernels_known) tip_field(with, "without a kernel", format_time(line.alone), wide);
    tip_field(with, "launch delay", format_time(line.queued), wide);
    tip_field(with, "largest copy", format_bytes(line.largest_bytes), wide);
  }

  void draw_storms(const view_context& with) {
    const auto is_shown = is_only();
    table_of<copy_line> table("Many small copies", shown_->lines,
                              [&](const auto& each) { return each.storm && is_shown(each); });
    if (table.rows == 0) return;
    heading(with, "Many small copies");
    table.text("line, direction", "line", [&](const auto& each) { return make_name(with, each, {}); });
    table.count("copies", "copies", [](const auto& each) { return each.small; });
    table.bytes("average", "average_bytes", [](const auto& each) {
      return share(static_cast<double>(each.small_bytes), static_cast<double>(each.small));
    });
    table.duration("total time", "time_ns", [](const auto& each) { return each.small_spread; });
    table.text("", "direction", [](const auto& each) { return get_name(each.direction); });
    table.leads_to([&](const auto& each) {
      row_target target = find_target(with, each.place, trace::event_id::none);
      target.range = each.range;
      return target;
    });
    table.on_click([&](const auto& each) {
      with.commands.invoke("selection.range", each.range);
      show_range(with, each.range);
    });
    table.tip = "Click to select their range.";
    tables_.draw(with, table);
  }

  void draw_round_trips(const view_context& with) {
    if (shown_->round_trips.empty()) return;
    heading(with, "Round trips");
    table_of<metrics::round_trip_line> table("Round trips", shown_->round_trips);
    table.text("to host and back unchanged", "lines",
               [](const auto& each) { return name_of_place(each.down) + ", back at " + name_of_place(each.up); });
    table.count("copies", "copies", [](const auto& each) { return each.to_device.copies; });
    table.bytes("bytes back", "bytes", [](const auto& each) { return each.to_device.bytes; });
    table.duration("total time", "time_ns", [](const auto& each) { return each.to_host.busy + each.to_device.busy; });
    table.leads_to([&](const auto& each) { return find_target(with, each.up, each.largest); });
    table.on_click([&](const auto& each) { show_event(with, each.largest); });
    table.tip = "Click to select the largest copy back to the GPU.";
    tables_.draw(with, table);
  }

  screen_slot<query::transfers_query> copies_;
  screen_slot<query::statistics_query> statistics_;
  std::shared_ptr<const copy_table> shown_;  ///< The last result, which may be partial.
  std::optional<copy_way> only_;             ///< Show only these copies; none: show all.
  view_tables tables_;
  view_charts charts_;
};

}  // namespace

std::unique_ptr<view> make_transfers_view() { return std::make_unique<transfers_view>(); }

}  // namespace sluice::gui
