// Shows copies by direction, by line, and as a chart of their bandwidth by size.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/process_choice.hpp"
#include "app/gui/views/row_menu.hpp"
#include "app/gui/views/transfers/copy_chart.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"
#include "core/metrics/code_place.hpp"
#include "core/metrics/link_share.hpp"
#include "core/query/results/panels/transfers.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

using metrics::copy_line;
using metrics::copy_table;
using metrics::transfer_statistics;

enum class line_column : std::uint8_t { line, bytes, rate, share, time, count, kernels, host, repeated, trips };
struct copy_column {
  const char* title;
  const char* csv;  ///< The column's heading in CSV.
  line_column kind;
  float width;  // design pixels
  const char* about;
};
/// Sorted by importance: if there is little space, the last columns are dropped first.
constexpr std::array<copy_column, 10> copy_columns = {{
    {"line, direction", "line", line_column::line, 170, "The line of the program that issued the copies."},
    {"bytes", "bytes", line_column::bytes, 66, "Bytes copied."},
    {"rate", "bytes_per_second", line_column::rate, 68, "Bytes divided by the time spent copying them."},
    {"of peak", "share_of_peak", line_column::share, 56, "The rate as a share of the link's theoretical peak."},
    {"time", "time_ns", line_column::time, 62, "Sum of the copies' durations."},
    {"with kernels", "share_with_kernels", line_column::kernels, 86,
     "Share of the copy time during which a kernel also ran. The rest is waiting."},
    {"copies", "copies", line_column::count, 54, "Number of copies."},
    {"pageable", "pageable_share", line_column::host, 70,
     "Share of the bytes whose host side is pageable memory. The rest is pinned."},
    {"repeated", "repeated_bytes", line_column::repeated, 74, "Bytes that had been sent to the GPU before."},
    {"round trips", "round_trip_bytes", line_column::trips, 82,
     "Bytes copied to the host and back unchanged, counted both ways."},
}};

/// The columns in the panel and in CSV. Only CSV has separate columns for device and direction.
constexpr std::array<table_column, copy_columns.size() + 2> line_columns = [] {
  std::array<table_column, copy_columns.size() + 2> output{};
  for (std::size_t i = 0; i < copy_columns.size(); ++i) output[i] = {copy_columns[i].title, copy_columns[i].csv};
  output[copy_columns.size()] = {nullptr, "device"};
  output[copy_columns.size() + 1] = {nullptr, "direction"};
  return output;
}();
constexpr std::array<table_column, 9> way_columns = {{{"direction", "direction"},
                                                      {"bytes", "bytes"},
                                                      {"rate", "bytes_per_second"},
                                                      {"of peak", "share_of_peak"},
                                                      {"copies", "copies"},
                                                      {"busy", "busy_ns"},
                                                      {"pageable", "pageable_bytes"},
                                                      {"pinned", "pinned_bytes"},
                                                      {nullptr, "device"}}};
constexpr std::array<table_column, 5> storm_columns = {{{"line, direction", "line"},
                                                        {"copies", "copies"},
                                                        {"average", "average_bytes"},
                                                        {"total time", "time_ns"},
                                                        {nullptr, "direction"}}};
constexpr std::array<table_column, 4> trip_columns = {{{"to host and back unchanged", "lines"},
                                                       {"copies", "copies"},
                                                       {"bytes back", "bytes"},
                                                       {"total time", "time_ns"}}};

std::string name_of_line(const copy_line& line) {
  std::string name = to_text(line.place);
  return name.empty() ? "no stack recorded" : name;
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

table_cell share_of_peak(double rate, double peak) {
  const auto share = metrics::link_share(rate, peak);
  return share ? table_cell::share(*share) : table_cell::none();
}

row_target find_target(const view_context& with, const metrics::code_place& place, trace::event_id event) {
  row_target target;
  target.shows = make_event_selection(with, event);
  if (place.known) target.line = place.line;
  return target;
}

/// The value by which a column sorts its lines.
double get_value(const copy_line& line, line_column column) {
  const auto busy = static_cast<double>(line.busy);
  switch (column) {
    case line_column::bytes:
      return static_cast<double>(line.bytes);
    case line_column::rate:
    case line_column::share:
      return line.rate();
    case line_column::count:
      return static_cast<double>(line.count);
    case line_column::kernels:
      return line.kernels_known ? share(busy - static_cast<double>(line.alone), busy) : -1;
    case line_column::host:
      return share(static_cast<double>(line.pageable_bytes), static_cast<double>(line.bytes));
    case line_column::repeated:
      return static_cast<double>(line.repeated.bytes);
    case line_column::trips:
      return static_cast<double>(line.round_trips.bytes);
    case line_column::line:
    case line_column::time:
      break;
  }
  return busy;
}

class transfers_view final : public view {
  static constexpr float min_beside = 900;  // design pixels; in narrower panels the chart is above the tables
  static constexpr float widest_tables = 860;
  static constexpr float min_chart = 130;
  static constexpr float min_wide = 560;  // design pixels needed for all columns of the table of directions

  /// A predicate that is true for copies of the chosen direction.
  auto is_only() const {
    return [this](const auto& each) { return !only_ || only_->takes(each); };
  }

 public:
  [[nodiscard]] const char* name() const override { return "Transfers"; }
  [[nodiscard]] bool scrolls() const override { return false; }
  [[nodiscard]] bool offers_choices() const override { return true; }

  void reset() override {
    copies_ = {};
    statistics_ = {};
    shown_ = nullptr;
    only_.reset();
  }

  void add_commands(const command_home& home) override {
    home.commands.add(
        {.id = "transfers.open",
         .title = "Transfers",
         .group = "Go",
         .icon = icon::chart,
         .run = [&commands = home.commands](const argument&) { commands.invoke("panel.focus.Transfers"); },
         .enabled = [&state = home.state] { return state.ready(); }});
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
    take(copies.value);
    if (only_ && std::none_of(metrics.value->transfers.begin(), metrics.value->transfers.end(), is_only()))
      only_.reset();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    if (room.x >= with.px(min_beside)) {
      if (ImGui::BeginChild("tables", {std::min(with.px(widest_tables), room.x * 0.58F), 0}))
        draw_tables(with, *metrics.value, range);
      ImGui::EndChild();
      ImGui::SameLine(0, with.px(16));
      draw_copies(with, shown_.get(), *metrics.value, only_, ImGui::GetContentRegionAvail());
    } else {
      draw_copies(with, shown_.get(), *metrics.value, only_, {room.x, std::max(with.px(min_chart), room.y * 0.42F)});
      if (ImGui::BeginChild("tables")) draw_tables(with, *metrics.value, range);
      ImGui::EndChild();
    }
  }

 private:
  void take(const std::shared_ptr<const copy_table>& result) {
    if (result == nullptr || result == shown_) return;
    shown_ = result;
    sort_lines();
  }

  void sort_lines() {
    order_.clear();
    if (shown_ == nullptr) return;
    const auto is_shown = is_only();
    for (std::size_t i = 0; i < shown_->lines.size(); ++i)
      if (is_shown(shown_->lines[i])) order_.push_back(i);
    const auto& lines = shown_->lines;
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      if (sort_ == line_column::line) {
        const std::string x = name_of_line(lines[a]), y = name_of_line(lines[b]);
        return descending_ ? y < x : x < y;
      }
      const double x = get_value(lines[a], sort_), y = get_value(lines[b], sort_);
      return descending_ ? x > y : x < y;
    });
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
    const bool wide = ImGui::GetContentRegionAvail().x >= with.px(min_wide);
    if (!(wide
              ? begin_metrics("ways", {"direction", "bytes", "rate", "of peak", "copies", "busy", "pageable", "pinned"})
              : begin_metrics("few", {"direction", "bytes", "rate", "of peak"})))
      return;
    table_content content{"Copies by direction", way_columns, statistics.transfers.size()};
    content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
      add_way(with, statistics, statistics.transfers[row], to);
    };
    const std::size_t shown = wide ? 8 : 4;
    for (std::size_t i = 0; i < statistics.transfers.size(); ++i) {
      const transfer_statistics& each = statistics.transfers[i];
      ImGui::PushID(static_cast<int>(i));
      const copy_way way{each.device, each.direction};
      if (rows_.begin_row(with, content, i, only_ == way)) {
        only_ = only_ == way ? std::nullopt : std::optional(way);
        sort_lines();
      }
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("Click to show only these copies.");
      swatch(with, with.colours.directions[static_cast<std::size_t>(each.direction)]);
      row_menu::draw_cells(std::span(rows_.cells(content, i)).first(shown));
      ImGui::PopID();
    }
    ImGui::EndTable();
  }

  void add_way(const view_context& with, const metrics::range_statistics& statistics, const transfer_statistics& each,
               std::vector<table_cell>& to) const {
    to.push_back(table_cell::words(on(with, each.device, statistics) + std::string(get_name(each.direction)),
                                   get_name(each.direction)));
    to.push_back(table_cell::bytes(each.bytes));
    to.push_back(table_cell::rate(each.mean_bandwidth));
    to.push_back(share_of_peak(each.mean_bandwidth, each.link_peak));
    to.push_back(table_cell::count(each.count));
    to.push_back(table_cell::duration(each.busy));
    for (const trace::memory_kind side : {trace::memory_kind::host, trace::memory_kind::pinned}) {
      const auto part = std::find_if(each.parts.begin(), each.parts.end(),
                                     [&](const auto& subject) { return subject.host_side == side; });
      to.push_back(part == each.parts.end() ? table_cell::none() : table_cell::bytes(part->bytes));
    }
    to.push_back(table_cell::text(device_words(with, each.device)));
  }

  void draw_lines(const view_context& with, const metrics::range_statistics& statistics) {
    heading(with, "By line");
    if (order_.empty()) return remark(with, "None.");
    const float room = ImGui::GetContentRegionAvail().x;
    int fit = 0;
    float used = 0;
    const int wanted = static_cast<int>(copy_columns.size()) - (shown_->contents_checked ? 0 : 2);
    for (; fit < wanted; ++fit) {
      used += with.px(copy_columns[static_cast<std::size_t>(fit)].width) + ImGui::GetStyle().CellPadding.x * 2;
      if (used > room && fit > 1) break;
    }
    const ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_SizingFixedFit |
                                  ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_BordersInnerH |
                                  ImGuiTableFlags_NoBordersInBody;
    ImGui::PushID(fit);  // ImGui allows no change of a table's number of columns, so each number has its own id.
    if (ImGui::BeginTable("lines", fit, flags)) {
      set_up_columns(with, fit);
      table_content content{"Copies by line", line_columns, order_.size()};
      content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
        const copy_line& line = shown_->lines[order_[row]];
        for (const copy_column& each : copy_columns) to.push_back(cell(with, statistics, line, each.kind));
        to.push_back(table_cell::text(device_words(with, line.device)));
        to.push_back(table_cell::text(get_name(line.direction)));
      };
      content.target = [&](std::size_t row) {
        const copy_line& line = shown_->lines[order_[row]];
        return find_target(with, line.place, line.largest);
      };
      ImGuiListClipper rows;
      rows.Begin(static_cast<int>(order_.size()));
      while (rows.Step())
        for (int i = rows.DisplayStart; i < rows.DisplayEnd; ++i)
          draw_line(with, content, static_cast<std::size_t>(i), static_cast<std::size_t>(fit));
      ImGui::EndTable();
    }
    ImGui::PopID();
  }

  void set_up_columns(const view_context& with, int fit) {
    for (int i = 0; i < fit; ++i) {
      const copy_column& each = copy_columns[static_cast<std::size_t>(i)];
      ImGuiTableColumnFlags own = i == 0 ? ImGuiTableColumnFlags_WidthStretch : ImGuiTableColumnFlags_WidthFixed;
      if (i > 0) own |= ImGuiTableColumnFlags_PreferSortDescending;
      if (each.kind == line_column::time) own |= ImGuiTableColumnFlags_DefaultSort;
      ImGui::TableSetupColumn(each.title, own, i == 0 ? 0 : with.px(each.width), static_cast<ImGuiID>(each.kind));
    }
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (int i = 0; i < fit; ++i) {
      if (!ImGui::TableSetColumnIndex(i)) continue;
      if (i > 0) align_heading(copy_columns[static_cast<std::size_t>(i)].title, i);
      ImGui::TableHeader(copy_columns[static_cast<std::size_t>(i)].title);
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
        ImGui::SetTooltip("%s", copy_columns[static_cast<std::size_t>(i)].about);
    }
    ImGuiTableSortSpecs* const specs = ImGui::TableGetSortSpecs();
    if (specs == nullptr || !specs->SpecsDirty) return;
    if (specs->SpecsCount > 0) {
      sort_ = static_cast<line_column>(specs->Specs[0].ColumnUserID);
      descending_ = specs->Specs[0].SortDirection == ImGuiSortDirection_Descending;
      sort_lines();
    }
    specs->SpecsDirty = false;
  }

  /// Moves the cursor so that the heading of a number column is right-aligned, as its numbers are.
  static void align_heading(const char* title, int number) {
    const bool sorted = (ImGui::TableGetColumnFlags(number) & ImGuiTableColumnFlags_IsSorted) != 0;
    const float arrow = sorted ? ImGui::GetFontSize() * 0.65F + ImGui::GetStyle().FramePadding.x : 0;
    const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(title).x - arrow;
    if (room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
  }

  void draw_line(const view_context& with, const table_content& content, std::size_t row, std::size_t fit) {
    const copy_line& line = shown_->lines[order_[row]];
    ImGui::PushID(static_cast<int>(row));
    const selection& chosen = with.state.selected();
    if (rows_.begin_row(with, content, row,
                        chosen.kind == selection_kind::event && chosen.id == trace::raw(line.largest)))
      show_event(with, line.largest);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) draw_line_tip(with, line);
    swatch(with, with.colours.directions[static_cast<std::size_t>(line.direction)]);
    row_menu::draw_cells(std::span(rows_.cells(content, row)).first(fit));
    ImGui::PopID();
  }

  table_cell cell(const view_context& with, const metrics::range_statistics& statistics, const copy_line& line,
                  line_column column) const {
    const auto bytes_or_none = [](std::uint64_t bytes) {
      return bytes > 0 ? table_cell::bytes(bytes) : table_cell::none();
    };
    switch (column) {
      case line_column::line:
        return table_cell::words(
            name_of_line(line) + ",  " + on(with, line.device, statistics) + std::string(get_name(line.direction)),
            name_of_line(line));
      case line_column::bytes:
        return table_cell::bytes(line.bytes);
      case line_column::rate:
        return table_cell::rate(line.rate());
      case line_column::share: {
        const auto of_way = std::find_if(
            statistics.transfers.begin(), statistics.transfers.end(),
            [&](const auto& each) { return each.device == line.device && each.direction == line.direction; });
        return share_of_peak(line.rate(), of_way == statistics.transfers.end() ? 0 : of_way->link_peak);
      }
      case line_column::count:
        return table_cell::count(line.count);
      case line_column::kernels:
        return line.kernels_known ? table_cell::share(get_value(line, column)) : table_cell::none();
      case line_column::host:
        return has_host_side(line.direction) ? table_cell::share(get_value(line, column)) : table_cell::none();
      case line_column::repeated:
        return bytes_or_none(line.repeated.bytes);
      case line_column::trips:
        return bytes_or_none(line.round_trips.bytes);
      case line_column::time:
        break;
    }
    return table_cell::duration(line.busy);
  }

  static void draw_line_tip(const view_context& with, const copy_line& line) {
    if (!begin_tip(with)) return;
    ImGui::TextUnformatted(name_of_line(line).c_str());
    if (!line.place.module.empty()) ImGui::TextDisabled("%s", line.place.module.c_str());
    const float wide = with.px(120);
    tip_field(with, "copies", format_count(line.count) + ", " + format_bytes(line.bytes), wide);
    tip_field(with, "time", format_time(line.busy), wide);
    if (line.kernels_known) tip_field(with, "without a kernel", format_time(line.alone), wide);
    tip_field(with, "launch delay", format_time(line.queued), wide);
    tip_field(with, "largest copy", format_bytes(line.largest_bytes), wide);
    ImGui::TextDisabled("Click to select the largest copy.");
    end_tip();
  }

  void draw_storms(const view_context& with) {
    const auto is_shown = is_only();
    std::vector<const copy_line*> storms;
    for (const copy_line& each : shown_->lines)
      if (each.storm && is_shown(each)) storms.push_back(&each);
    if (storms.empty()) return;
    heading(with, "Many small copies");
    if (!begin_metrics("storms", {"line, direction", "copies", "average", "total time"})) return;
    table_content content{"Many small copies", storm_columns, storms.size()};
    content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
      const copy_line& each = *storms[row];
      to.push_back(
          table_cell::words(name_of_line(each) + ",  " + std::string(get_name(each.direction)), name_of_line(each)));
      to.push_back(table_cell::count(each.small));
      to.push_back(table_cell::bytes(share(static_cast<double>(each.small_bytes), static_cast<double>(each.small))));
      to.push_back(table_cell::duration(each.small_spread));
      to.push_back(table_cell::text(get_name(each.direction)));
    };
    content.target = [&](std::size_t row) {
      row_target target = find_target(with, storms[row]->place, trace::event_id::none);
      target.range = storms[row]->range;
      return target;
    };
    for (std::size_t i = 0; i < storms.size(); ++i) {
      ImGui::PushID(static_cast<int>(i));
      if (rows_.begin_row(with, content, i)) {
        with.commands.invoke("selection.range", storms[i]->range);
        show_range(with, storms[i]->range);
      }
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("Click to select their range.");
      swatch(with, with.colours.directions[static_cast<std::size_t>(storms[i]->direction)]);
      row_menu::draw_cells(std::span(rows_.cells(content, i)).first(4));
      ImGui::PopID();
    }
    ImGui::EndTable();
  }

  void draw_round_trips(const view_context& with) {
    if (shown_->round_trips.empty()) return;
    heading(with, "Round trips");
    if (!begin_metrics("trips", {"to host and back unchanged", "copies", "bytes back", "total time"})) return;
    const auto named = [](const metrics::code_place& place) {
      std::string name = to_text(place);
      return name.empty() ? std::string("no stack recorded") : name;
    };
    table_content content{"Round trips", trip_columns, shown_->round_trips.size()};
    content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
      const metrics::round_trip_line& each = shown_->round_trips[row];
      to.push_back(table_cell::text(named(each.down) + ", back at " + named(each.up)));
      to.push_back(table_cell::count(each.to_device.copies));
      to.push_back(table_cell::bytes(each.to_device.bytes));
      to.push_back(table_cell::duration(each.to_host.busy + each.to_device.busy));
    };
    content.target = [&](std::size_t row) {
      return find_target(with, shown_->round_trips[row].up, shown_->round_trips[row].largest);
    };
    for (std::size_t i = 0; i < content.rows; ++i) {
      ImGui::PushID(static_cast<int>(i));
      if (rows_.begin_row(with, content, i)) show_event(with, shown_->round_trips[i].largest);
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
        ImGui::SetTooltip("Click to select the largest copy back to the GPU.");
      row_menu::draw_cells(rows_.cells(content, i));
      ImGui::PopID();
    }
    ImGui::EndTable();
  }

  screen_slot<query::transfers_query> copies_;
  screen_slot<query::statistics_query> statistics_;
  std::shared_ptr<const copy_table> shown_;  ///< The last result, which may be partial.
  std::vector<std::size_t> order_;           ///< Indices of the listed lines, sorted.
  std::optional<copy_way> only_;             ///< Show only these copies; none: show all.
  line_column sort_ = line_column::time;
  bool descending_ = true;
  row_menu rows_;
};

}  // namespace

std::unique_ptr<view> make_transfers_view() { return std::make_unique<transfers_view>(); }

}  // namespace sluice::gui
