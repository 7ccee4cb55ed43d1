// Copies by direction, by line, and as a chart of their bandwidth by size.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/transfers/copy_chart.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"
#include "core/figures/code_place.hpp"
#include "core/figures/link_share.hpp"
#include "core/index/labels.hpp"
#include "core/query/answers/panels/transfers.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

using analysis::copy_line;
using analysis::copy_table;
using analysis::transfer_statistics;

enum class line_column : std::uint8_t { line, bytes, rate, share, time, count, kernels, host, repeated, trips };
struct column {
  const char* title;
  line_column what;
  float width;  // design pixels
  const char* about;
};
/// In the order in which they are dropped from the end if there is little room.
constexpr std::array<column, 10> columns = {{
    {"line, direction", line_column::line, 170, "The line of the program that asked for the copies."},
    {"bytes", line_column::bytes, 66, "Bytes copied."},
    {"rate", line_column::rate, 68, "Bytes divided by the time in which they were copied."},
    {"of peak", line_column::share, 56, "The rate as a share of the link's theoretical peak."},
    {"time", line_column::time, 62, "Sum of the copies' durations."},
    {"with kernels", line_column::kernels, 86,
     "The share of the time in which a kernel ran, too. The rest is waiting."},
    {"copies", line_column::count, 54, "Number of copies."},
    {"pageable", line_column::host, 70,
     "The share of the bytes whose host side is pageable memory. The rest is pinned."},
    {"repeated", line_column::repeated, 74, "Bytes that the GPU had been sent before."},
    {"round trips", line_column::trips, 82, "Bytes that went to the host and came back unchanged: both ways."},
}};

std::string name_of_line(const copy_line& line) {
  std::string name = text_of(line.place);
  return name.empty() ? "no stack recorded" : name;
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string share_of_peak(double rate, double peak) {
  const auto of = analysis::link_share(rate, peak);
  return of ? format_share(*of) : "-";
}

/// The value that a column sorts by.
double value_of(const copy_line& line, line_column what) {
  const auto busy = static_cast<double>(line.busy);
  switch (what) {
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
  static constexpr float least_beside = 900;  // design pixels; narrower panels have the chart above the tables
  static constexpr float widest_tables = 860;
  static constexpr float least_chart = 130;
  static constexpr float least_wide = 560;  // for all columns of the table of directions

  /// A test of what the chosen direction takes.
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
    const query::time_range range = with.state.range().value_or(shown.span);
    const auto figures = statistics_.ask(*shown.engine, {range});
    const auto copies = copies_.ask(*shown.engine, {range});
    progress_line(with, figures.complete && copies.complete, copies.progress);
    if (figures.failure || copies.failure)
      return empty_state(with, icon::failure, "The copies could not be read",
                         (figures.failure ? *figures.failure : *copies.failure).message);
    if (!figures) return;
    if (figures.value->transfers.empty() && figures.complete) {
      range_line(with, range);
      return empty_state(with, icon::chart, with.state.range() ? "No copies in this range" : "No copies",
                         with.state.range() ? "Drag over the timeline to select another range."
                                            : "The recording has no copies between host and device, or on a device.");
    }
    take(copies.value);
    if (only_ && std::none_of(figures.value->transfers.begin(), figures.value->transfers.end(), is_only()))
      only_.reset();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    if (room.x >= with.px(least_beside)) {
      if (ImGui::BeginChild("tables", {std::min(with.px(widest_tables), room.x * 0.58F), 0}))
        draw_tables(with, *figures.value, range);
      ImGui::EndChild();
      ImGui::SameLine(0, with.px(16));
      draw_copies(with, shown_.get(), *figures.value, only_, ImGui::GetContentRegionAvail());
    } else {
      draw_copies(with, shown_.get(), *figures.value, only_, {room.x, std::max(with.px(least_chart), room.y * 0.42F)});
      if (ImGui::BeginChild("tables")) draw_tables(with, *figures.value, range);
      ImGui::EndChild();
    }
  }

 private:
  void take(const std::shared_ptr<const copy_table>& answer) {
    if (answer == nullptr || answer == shown_) return;
    shown_ = answer;
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
      const double x = value_of(lines[a], sort_), y = value_of(lines[b], sort_);
      return descending_ ? x > y : x < y;
    });
  }

  /// "GPU 0, " if there are several devices.
  std::string on(const view_context& with, trace::device_id device, const analysis::range_statistics& all) const {
    const bool several = std::any_of(all.transfers.begin(), all.transfers.end(),
                                     [&](const auto& each) { return each.device != all.transfers.front().device; });
    if (!several) return {};
    const auto snapshot = with.state.active()->engine->snapshot();
    return printable(analysis::short_label(device, snapshot->tables())) + ", ";
  }

  // --- tables -------------------------------------------------------------------------------------------------------

  void draw_tables(const view_context& with, const analysis::range_statistics& all, query::time_range range) {
    range_line(with, range);
    draw_ways(with, all);
    if (shown_ == nullptr) return remark(with, "Reading the copies.");
    draw_lines(with, all);
    draw_storms(with);
    draw_round_trips(with);
    if (!shown_->contents_checked) {
      ImGui::Dummy({0, with.px(4)});
      remark(with, "It is not known which copies repeat data: record with " + format::apart("--find-duplicates") + ".");
    }
  }

  void draw_ways(const view_context& with, const analysis::range_statistics& all) {
    const bool wide = ImGui::GetContentRegionAvail().x >= with.px(least_wide);
    if (!(wide
              ? begin_figures("ways", {"direction", "bytes", "rate", "of peak", "copies", "busy", "pageable", "pinned"})
              : begin_figures("few", {"direction", "bytes", "rate", "of peak"})))
      return;
    int number = 0;
    for (const transfer_statistics& each : all.transfers) {
      ImGui::PushID(number++);
      const copy_way of{each.device, each.direction};
      if (begin_row(only_ == of)) {
        only_ = only_ == of ? std::nullopt : std::optional(of);
        sort_lines();
      }
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("Click to show only these copies.");
      swatch(with, with.colours.directions[static_cast<std::size_t>(each.direction)]);
      first_cell(on(with, each.device, all) + std::string(name_of(each.direction)));
      figure_cell(format_bytes(each.bytes));
      figure_cell(format_rate(each.mean_bandwidth));
      figure_cell(share_of_peak(each.mean_bandwidth, each.link_peak));
      if (wide) draw_more_of_way(each);
      ImGui::PopID();
    }
    ImGui::EndTable();
  }

  static void draw_more_of_way(const transfer_statistics& each) {
    figure_cell(format_count(each.count));
    figure_cell(format_time(each.busy));
    for (const trace::memory_kind side : {trace::memory_kind::host, trace::memory_kind::pinned}) {
      const auto part =
          std::find_if(each.parts.begin(), each.parts.end(), [&](const auto& of) { return of.host_side == side; });
      figure_cell(part == each.parts.end() ? std::string("-") : format_bytes(part->bytes), part == each.parts.end());
    }
  }

  void draw_lines(const view_context& with, const analysis::range_statistics& all) {
    heading(with, "By line");
    if (order_.empty()) return remark(with, "None.");
    const float room = ImGui::GetContentRegionAvail().x;
    int fit = 0;
    float used = 0;
    const int wanted = static_cast<int>(columns.size()) - (shown_->contents_checked ? 0 : 2);
    for (; fit < wanted; ++fit) {
      used += with.px(columns[static_cast<std::size_t>(fit)].width) + ImGui::GetStyle().CellPadding.x * 2;
      if (used > room && fit > 1) break;
    }
    const ImGuiTableFlags flags = ImGuiTableFlags_Sortable | ImGuiTableFlags_SizingFixedFit |
                                  ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_BordersInnerH |
                                  ImGuiTableFlags_NoBordersInBody;
    ImGui::PushID(fit);  // A table keeps its number of columns.
    if (ImGui::BeginTable("lines", fit, flags)) {
      set_up_columns(with, fit);
      ImGuiListClipper rows;
      rows.Begin(static_cast<int>(order_.size()));
      while (rows.Step())
        for (int i = rows.DisplayStart; i < rows.DisplayEnd; ++i)
          draw_line(with, all, shown_->lines[order_[static_cast<std::size_t>(i)]], i, fit);
      ImGui::EndTable();
    }
    ImGui::PopID();
  }

  void set_up_columns(const view_context& with, int fit) {
    for (int i = 0; i < fit; ++i) {
      const column& each = columns[static_cast<std::size_t>(i)];
      ImGuiTableColumnFlags own = i == 0 ? ImGuiTableColumnFlags_WidthStretch : ImGuiTableColumnFlags_WidthFixed;
      if (i > 0) own |= ImGuiTableColumnFlags_PreferSortDescending;
      if (each.what == line_column::time) own |= ImGuiTableColumnFlags_DefaultSort;
      ImGui::TableSetupColumn(each.title, own, i == 0 ? 0 : with.px(each.width), static_cast<ImGuiID>(each.what));
    }
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    for (int i = 0; i < fit; ++i) {
      if (!ImGui::TableSetColumnIndex(i)) continue;
      if (i > 0) align_heading(columns[static_cast<std::size_t>(i)].title, i);
      ImGui::TableHeader(columns[static_cast<std::size_t>(i)].title);
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
        ImGui::SetTooltip("%s", columns[static_cast<std::size_t>(i)].about);
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

  /// Moves the cursor so that the title of a column of numbers is at its right, as they are.
  static void align_heading(const char* title, int number) {
    const bool sorted = (ImGui::TableGetColumnFlags(number) & ImGuiTableColumnFlags_IsSorted) != 0;
    const float arrow = sorted ? ImGui::GetFontSize() * 0.65F + ImGui::GetStyle().FramePadding.x : 0;
    const float room = ImGui::GetContentRegionAvail().x - ImGui::CalcTextSize(title).x - arrow;
    if (room > 0) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room);
  }

  void draw_line(const view_context& with, const analysis::range_statistics& all, const copy_line& line, int number,
                 int fit) const {
    ImGui::PushID(number);
    const selection& chosen = with.state.selected();
    if (begin_row(chosen.kind == selection_kind::event && chosen.id == trace::raw(line.largest)))
      show_event(with, line.largest);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) draw_line_tip(with, line);
    swatch(with, with.colours.directions[static_cast<std::size_t>(line.direction)]);
    first_cell(name_of_line(line) + ",  " + on(with, line.device, all) + std::string(name_of(line.direction)));
    const auto of_way = std::find_if(all.transfers.begin(), all.transfers.end(), [&](const auto& each) {
      return each.device == line.device && each.direction == line.direction;
    });
    const double peak = of_way == all.transfers.end() ? 0 : of_way->link_peak;
    for (int i = 1; i < fit; ++i) draw_cell(line, columns[static_cast<std::size_t>(i)].what, peak);
    ImGui::PopID();
  }

  static void draw_cell(const copy_line& line, line_column what, double peak) {
    const auto bytes_or_none = [](std::uint64_t bytes) {
      figure_cell(bytes > 0 ? format_bytes(bytes) : std::string("-"), bytes == 0);
    };
    switch (what) {
      case line_column::bytes:
        return figure_cell(format_bytes(line.bytes));
      case line_column::rate:
        return figure_cell(format_rate(line.rate()));
      case line_column::share:
        return figure_cell(share_of_peak(line.rate(), peak));
      case line_column::count:
        return figure_cell(format_count(line.count));
      case line_column::kernels:
        return figure_cell(line.kernels_known ? format_share(value_of(line, what)) : std::string("-"),
                           !line.kernels_known);
      case line_column::host:
        return figure_cell(has_host_side(line.direction) ? format_share(value_of(line, what)) : std::string("-"),
                           !has_host_side(line.direction));
      case line_column::repeated:
        return bytes_or_none(line.repeated.bytes);
      case line_column::trips:
        return bytes_or_none(line.round_trips.bytes);
      case line_column::line:
      case line_column::time:
        break;
    }
    figure_cell(format_time(line.busy));
  }

  static void draw_line_tip(const view_context& with, const copy_line& line) {
    if (!begin_tip(with)) return;
    ImGui::TextUnformatted(name_of_line(line).c_str());
    if (!line.place.module.empty()) ImGui::TextDisabled("%s", line.place.module.c_str());
    const float wide = with.px(120);
    tip_field(with, "copies", format_count(line.count) + ", " + format_bytes(line.bytes), wide);
    tip_field(with, "time", format_time(line.busy), wide);
    if (line.kernels_known) tip_field(with, "without a kernel", format_time(line.alone), wide);
    tip_field(with, "from call to begin", format_time(line.queued), wide);
    tip_field(with, "largest copy", format_bytes(line.largest_bytes), wide);
    ImGui::TextDisabled("Click to select the largest copy.");
    end_tip();
  }

  void draw_storms(const view_context& with) const {
    const auto is_shown = is_only();
    const auto told = [&](const copy_line& each) { return each.storm && is_shown(each); };
    if (std::none_of(shown_->lines.begin(), shown_->lines.end(), told)) return;
    heading(with, "Many small copies");
    if (!begin_figures("storms", {"line, direction", "copies", "average", "time in all"})) return;
    int number = 0;
    for (const copy_line& each : shown_->lines) {
      if (!told(each)) continue;
      ImGui::PushID(number++);
      if (begin_row()) {
        with.commands.invoke("selection.range", each.range);
        show_range(with, each.range);
      }
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) ImGui::SetTooltip("Click to select their range.");
      swatch(with, with.colours.directions[static_cast<std::size_t>(each.direction)]);
      first_cell(name_of_line(each) + ",  " + std::string(name_of(each.direction)));
      figure_cell(format_count(each.small));
      figure_cell(format_bytes(share(static_cast<double>(each.small_bytes), static_cast<double>(each.small))));
      figure_cell(format_time(each.small_spread));
      ImGui::PopID();
    }
    ImGui::EndTable();
  }

  void draw_round_trips(const view_context& with) const {
    if (shown_->round_trips.empty()) return;
    heading(with, "Round trips");
    if (!begin_figures("trips", {"to the host, and back unchanged", "copies", "bytes back", "time of both"})) return;
    int number = 0;
    for (const analysis::round_trip_line& each : shown_->round_trips) {
      ImGui::PushID(number++);
      if (begin_row()) show_event(with, each.largest);
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
        ImGui::SetTooltip("Click to select the largest copy back to the GPU.");
      const auto named = [](const analysis::code_place& place) {
        std::string name = text_of(place);
        return name.empty() ? std::string("no stack recorded") : name;
      };
      first_cell(named(each.down) + ", back at " + named(each.up));
      figure_cell(format_count(each.to_device.copies));
      figure_cell(format_bytes(each.to_device.bytes));
      figure_cell(format_time(each.to_host.busy + each.to_device.busy));
      ImGui::PopID();
    }
    ImGui::EndTable();
  }

  screen_slot<query::transfers_question> copies_;
  screen_slot<query::statistics_question> statistics_;
  std::shared_ptr<const copy_table> shown_;  ///< The last answer, perhaps in part.
  std::vector<std::size_t> order_;           ///< The lines that are shown, in order.
  std::optional<copy_way> only_;             ///< Show only these copies.
  line_column sort_ = line_column::time;
  bool descending_ = true;
};

}  // namespace

std::unique_ptr<view> make_transfers_view() { return std::make_unique<transfers_view>(); }

}  // namespace sluice::gui
