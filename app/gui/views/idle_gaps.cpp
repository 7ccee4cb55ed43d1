// Shows when GPUs were idle, and the host's activity meanwhile.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "app/gui/views/idle/gap_text.hpp"
#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/process_choice.hpp"
#include "app/gui/views/row_menu.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"
#include "core/base/saturating.hpp"
#include "core/query/results/panels/idle_gaps.hpp"

namespace sluice::gui {
namespace {

using metrics::device_activity;
using metrics::gap_lengths;
using query::idle_gap_list;

constexpr std::array<table_column, 4> idle_device_columns = {
    {{"device", "device"}, {"idle", "idle_ns"}, {"share of time", "idle_share"}, {"gaps", "gaps"}}};
constexpr std::array<table_column, 4> sum_columns = {
    {{"cause", "cause"}, {"gaps", "gaps"}, {"idle", "idle_ns"}, {"share of idle", "idle_share"}}};
constexpr std::array<table_column, 6> cause_columns = {{{"host activity", "what_the_host_did"},
                                                        {"gaps", "gaps"},
                                                        {"idle", "idle_ns"},
                                                        {"longest", "longest_ns"},
                                                        {nullptr, "device"},
                                                        {nullptr, "saved_ns"}}};
constexpr std::array<table_column, 8> gap_columns = {{{"host activity", "what_the_host_did"},
                                                      {"until", "until"},
                                                      {"length", "length_ns"},
                                                      {"at", "begin_ns"},
                                                      {nullptr, "device"},
                                                      {nullptr, "library"},
                                                      {nullptr, "line"},
                                                      {nullptr, "cause"}}};

class idle_gaps_view final : public view {
  static constexpr float min_beside = 820;  // design pixels; in narrower panels the chart is above the tables
  static constexpr float widest_chart = 620;
  static constexpr float chart_height = 96;

 public:
  [[nodiscard]] const char* name() const override { return "Idle gaps"; }
  [[nodiscard]] bool scrolls() const override { return false; }
  [[nodiscard]] bool offers_choices() const override { return true; }

  void reset() override {
    gaps_ = {};
    statistics_ = {};
    shown_ = nullptr;
    only_.reset();
    chosen_ = {};
    stacks_ = {};
  }

  void add_commands(const command_home& home) override {
    home.commands.add(
        {.id = "idle_gaps.open",
         .title = "Idle gaps",
         .group = "Go",
         .icon = icon::chart,
         .run = [&commands = home.commands](const argument&) { commands.invoke("panel.focus.Idle gaps"); },
         .enabled = [&state = home.state] { return state.ready(); }});
  }

  void draw(view_context& with) override {
    const document& shown = *with.state.active();
    const time_range range = with.state.range().value_or(shown.span);
    const auto metrics = statistics_.ask(*shown.engine, {range});
    const auto gaps = gaps_.ask(*shown.engine, {range});
    progress_line(with, metrics.complete && gaps.complete, gaps.progress);
    if (metrics.failure || gaps.failure)
      return empty_state(with, icon::failure, "The gaps could not be read",
                         (metrics.failure ? *metrics.failure : *gaps.failure).message);
    if (!metrics) return;
    const auto& devices = metrics.value->devices;
    if (metrics.complete && std::none_of(devices.begin(), devices.end(), has_gaps)) {
      range_line(with, range);
      return empty_state(
          with, icon::chart, "No kernels here",
          with.state.range()
              ? "No kernel ran in the selected range."
              : "Idle gaps are the times between the kernels and copies of a GPU. Record with \"Timeline\" (File, "
                "Record a program) to see them.");
    }
    if (gaps.value != nullptr && gaps.value != shown_) take(gaps.value);
    if (only_ && std::none_of(devices.begin(), devices.end(), [&](const auto& each) { return each.device == *only_; }))
      take_only({});
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const bool beside = room.x >= with.px(min_beside);
    if (beside) {
      const float wide = std::min(with.px(widest_chart), room.x * 0.46F);
      if (ImGui::BeginChild("devices", {wide, 0})) draw_head(with, *metrics.value, range, {wide, room.y});
      ImGui::EndChild();
      ImGui::SameLine(0, with.px(16));
      if (ImGui::BeginChild("gaps")) draw_gaps(with);
      ImGui::EndChild();
    } else if (ImGui::BeginChild("all")) {
      draw_head(with, *metrics.value, range, {room.x, room.y});
      draw_gaps(with);
      ImGui::EndChild();
    } else {
      ImGui::EndChild();
    }
  }

 private:
  static bool has_gaps(const device_activity& device) { return device.kernels > 0; }

  void take(const std::shared_ptr<const idle_gap_list>& result) {
    shown_ = result;
    order();
  }
  void take_only(std::optional<trace::device_id> device) {
    only_ = device;
    order();
  }
  void order() {
    rows_.clear();
    if (shown_ == nullptr) return;
    for (std::size_t i = 0; i < shown_->gaps.size(); ++i)
      if (!only_ || shown_->gaps[i].gap.device == *only_) rows_.push_back(i);
  }

  void draw_head(const view_context& with, const metrics::range_statistics& statistics, time_range range, ImVec2 room) {
    range_line(with, range);
    draw_devices(with, statistics);
    if (shown_ == nullptr) return remark(with, "Reading GPU and host activity.");
    draw_lengths(with, {room.x, with.px(chart_height)});
    draw_sums(with);
    draw_causes(with);
  }

  void draw_devices(const view_context& with, const metrics::range_statistics& statistics) {
    if (!begin_metrics("devices", {"device", "idle", "share of time", "gaps"})) return;
    std::vector<const device_activity*> shown;
    for (const device_activity& each : statistics.devices)
      if (has_gaps(each)) shown.push_back(&each);
    table_content content{"Idle time by device", idle_device_columns, shown.size()};
    content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
      const device_activity& each = *shown[row];
      const metrics::device_idle* idle = find_idle(each.device);
      const time_ns working = idle == nullptr ? 0 : idle->span.length();
      to.push_back(table_cell::text(device_words(with, each.device)));
      to.push_back(idle == nullptr ? table_cell::none() : table_cell::duration(idle->idle()));
      to.push_back(working > 0 ? table_cell::share(static_cast<double>(idle->idle()) / static_cast<double>(working))
                               : table_cell::none());
      const auto found = shown_ == nullptr ? nullptr : find_lengths(each.device);
      to.push_back(found == nullptr ? table_cell::none() : table_cell::count(found->count));
    };
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const device_activity& each = *shown[i];
      ImGui::PushID(static_cast<int>(i));
      if (table_.begin_row(with, content, i, only_ == each.device))
        take_only(only_ == each.device ? std::nullopt : std::optional(each.device));
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
        ImGui::SetTooltip(
            "Idle: the time between the first and the last GPU work during which nothing ran.\n"
            "Gaps: the single idle times. Click to show only this device.");
      row_menu::draw_cells(table_.cells(content, i));
      ImGui::PopID();
    }
    ImGui::EndTable();
  }

  [[nodiscard]] const metrics::device_idle* find_idle(trace::device_id device) const {
    if (shown_ == nullptr) return nullptr;
    const auto found = std::find_if(shown_->devices.begin(), shown_->devices.end(),
                                    [&](const metrics::device_idle& each) { return each.device == device; });
    return found == shown_->devices.end() ? nullptr : &*found;
  }

  [[nodiscard]] const gap_lengths* find_lengths(trace::device_id device) const {
    const auto found = shown_->lengths.find(device);
    return found == shown_->lengths.end() ? nullptr : &found->second;
  }

  /// Draws the idle time by length of gap, with one bar per octave.
  void draw_lengths(const view_context& with, ImVec2 size) const {
    gap_lengths sum;
    for (const auto& [device, lengths] : shown_->lengths) {
      if (only_ && device != *only_) continue;
      for (std::size_t i = 0; i < sum.bins.size(); ++i) {
        sum.bins[i].count += lengths.bins[i].count;
        sum.bins[i].total += lengths.bins[i].total;
      }
    }
    const auto any = [](const gap_lengths::bin& bin) { return bin.count > 0; };
    const auto first = std::find_if(sum.bins.begin(), sum.bins.end(), any);
    if (first == sum.bins.end()) return;
    const auto low = static_cast<std::size_t>(first - sum.bins.begin());
    std::size_t high = low;
    time_ns most = 1;
    for (std::size_t i = low; i < sum.bins.size(); ++i) {
      if (sum.bins[i].count > 0) high = i;
      most = std::max(most, sum.bins[i].total);
    }
    heading(with, "Idle time by gap length");
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton("##lengths", {std::max(ImGui::GetContentRegionAvail().x, 1.0F), size.y});
    const bool hovered = ImGui::IsItemHovered();
    panel_context_menu(with);
    const float text = with.px(small_text);
    const draw::rectangle area{corner, {corner.x + ImGui::GetItemRectSize().x, corner.y + size.y - text - with.px(4)}};
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float wide = std::min(area.width() / static_cast<float>(high - low + 1), with.px(64));
    list.AddLineH(area.min.x, area.min.x + wide * static_cast<float>(high - low + 1), area.max.y, with.colours.line);
    float widest = 0;
    for (std::size_t i = low; i <= high; ++i)
      widest = std::max(widest, small_width(with, format_time(time_ns{1} << i)));
    // Label every bar; if the labels do not fit, every second bar, and so on.
    const auto stride = static_cast<std::size_t>(std::max(1.0F, std::ceil((widest + with.px(8)) / wide)));
    for (std::size_t i = low; i <= high; ++i) {
      const float x = std::floor(area.min.x + wide * static_cast<float>(i - low));
      const float next = std::floor(area.min.x + wide * static_cast<float>(i - low + 1));
      const float share = static_cast<float>(static_cast<double>(sum.bins[i].total) / static_cast<double>(most));
      const float top = std::floor(area.max.y - share * (area.height() - text - with.px(4)));
      const bool over = hovered && ImGui::GetMousePos().x >= x && ImGui::GetMousePos().x < next;
      if (sum.bins[i].count > 0)
        list.AddRectFilled({x, std::min(top, area.max.y - 2)}, {next - with.px(2), area.max.y},
                           over ? with.colours.accent : with.colours.slice(query::slice_kind::sync));
      const std::string label = format_time(time_ns{1} << i);
      if ((i - low) % stride == 0 && x + small_width(with, label) <= area.max.x)
        list.AddText(with.fonts.regular, text, {x, area.max.y + with.px(3)}, with.colours.muted, label.c_str());
      if (sum.bins[i].total == most) {
        const std::string highest = format_time(most);
        const float left = std::min(x, area.max.x - small_width(with, highest));
        list.AddText(with.fonts.regular, text, {left, top - text - with.px(2)}, with.colours.muted, highest.c_str());
      }
      if (!over || sum.bins[i].count == 0 || !begin_tip(with)) continue;
      ImGui::TextUnformatted((label + " to " + format_time(time_ns{2} << i)).c_str());
      tip_field(with, "gaps", format_count(sum.bins[i].count), with.px(60));
      tip_field(with, "idle", format_time(sum.bins[i].total), with.px(60));
      end_tip();
    }
  }

  /// Draws the whole idle time by cause, and how launch-bound the work is.
  void draw_sums(const view_context& with) {
    std::array<metrics::cause_time, metrics::gap_cause_count> sums{};
    metrics::launch_rate launches;
    time_ns idle = 0;
    time_ns collectives = 0;
    for (const metrics::device_idle& device : shown_->devices) {
      if (only_ && device.device != *only_) continue;
      for (const metrics::cause_time& each : device.causes) {
        metrics::cause_time& sum = sums.at(static_cast<std::size_t>(each.cause));
        sum.cause = each.cause;
        sum.count += each.count;
        saturating_add(sum.total, each.total);
        saturating_add(idle, each.total);
      }
      saturating_add(collectives, device.collectives_alone);
      launches.launches += device.launches.launches;
      saturating_add(launches.idle, device.launches.idle);
      saturating_add(launches.busy, device.launches.busy);
      saturating_add(launches.saved, device.launches.saved);
    }
    if (idle <= 0) return;
    std::vector<metrics::cause_time> shown;
    for (const metrics::cause_time& each : sums)
      if (each.count > 0) shown.push_back(each);
    std::stable_sort(shown.begin(), shown.end(), [](const auto& a, const auto& b) { return a.total > b.total; });
    heading(with, "By cause");
    if (!begin_metrics("sums", {"cause", "gaps", "idle", "share of idle"})) return;
    table_content content{"Idle time by cause", sum_columns, shown.size()};
    content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
      to.push_back(table_cell::text(std::string(metrics::get_words(shown[row].cause))));
      to.push_back(table_cell::count(shown[row].count));
      to.push_back(table_cell::duration(shown[row].total));
      to.push_back(table_cell::share(static_cast<double>(shown[row].total) / static_cast<double>(idle)));
    };
    for (std::size_t i = 0; i < shown.size(); ++i) {
      ImGui::PushID(static_cast<int>(i));
      table_.begin_row(with, content, i);
      row_menu::draw_cells(table_.cells(content, i));
      ImGui::PopID();
    }
    ImGui::EndTable();
    if (launches.launches > 0)
      remark(with, format_count(launches.launches) + " launches at " + format_time(launches.period()) +
                       " each against " + format_time(launches.work_per_launch()) +
                       " of GPU work. CUDA graphs would save up to " + format_time(launches.saved) + ".");
    if (collectives > 0)
      remark(with, "Only collectives ran for another " + format_time(collectives) + ": communication not hidden.");
  }

  void draw_causes(const view_context& with) {
    heading(with, "By cause and line");
    if (shown_->lines.empty()) return remark(with, "None.");
    if (!begin_metrics("causes", {"host activity", "gaps", "idle", "longest"})) return;
    std::vector<const query::gap_line*> lines;
    for (const query::gap_line& each : shown_->lines)
      if (!only_ || each.device == *only_) lines.push_back(&each);
    const auto words_of_line = [&](const query::gap_line& each) {
      return describe_cause(each.cause, with.text(each.call), each.place, each.stack_is_next);
    };
    table_content content{"Idle time by cause and line", cause_columns, lines.size()};
    content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
      const query::gap_line& each = *lines[row];
      to.push_back(table_cell::text(words_of_line(each)));
      to.push_back(table_cell::count(each.count));
      to.push_back(table_cell::duration(each.total));
      to.push_back(table_cell::duration(each.longest));
      to.push_back(table_cell::text(device_words(with, each.device)));
      to.push_back(table_cell::duration(each.saved));
    };
    content.target = [&](std::size_t row) {
      row_target target;
      target.range = lines[row]->longest_gap;
      if (!lines[row]->place.empty()) target.line = lines[row]->line;
      return target;
    };
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const query::gap_line& each = *lines[i];
      ImGui::PushID(static_cast<int>(i));
      if (table_.begin_row(with, content, i)) show_range(with, each.longest_gap);
      const std::string words = words_of_line(each);
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal) && begin_tip(with)) {
        ImGui::TextUnformatted(words.c_str());
        tip_field(with, "possible saving", format_time(each.saved), with.px(110));
        if (const std::string_view range = with.text(each.range); !range.empty())
          tip_field(with, "in the range", range.substr(0, 200), with.px(110));
        ImGui::TextDisabled("Click to go to the longest gap.");
        end_tip();
      }
      row_menu::draw_cells(std::span(table_.cells(content, i)).first(4));
      ImGui::PopID();
    }
    ImGui::EndTable();
  }

  void draw_gaps(const view_context& with) {
    if (shown_ == nullptr) return;
    std::uint64_t total = 0;
    for (const auto& [device, lengths] : shown_->lengths)
      if (!only_ || device == *only_) total += lengths.count;
    heading(with, rows_.size() < total
                      ? "The longest " + format_count(rows_.size()) + " of " + format_some(total, "gap")
                      : format_some(total, "gap") + ", longest first");
    if (rows_.empty()) return remark(with, "No gaps.");
    draw_stacks(with);
    const bool several = shown_->lengths.size() > 1 && !only_;
    if (!begin_metrics("gaps", {"host activity", "until", "length", "at"})) return;
    table_content content{"Idle gaps", gap_columns, rows_.size()};
    content.cells = [&](std::size_t row, std::vector<table_cell>& to) {
      const query::listed_gap& each = shown_->gaps[rows_[row]];
      const std::string words = describe_gap(each.gap.cause, with.text(each.gap.call), each.host);
      to.push_back(table_cell::words(several ? device_words(with, each.gap.device) + ": " + words : words, words));
      to.push_back(table_cell::text(slice_kind_name(each.gap.after_kind)));
      to.push_back(table_cell::duration(each.gap.span.length()));
      to.push_back(table_cell::moment(each.gap.span.begin));
      to.push_back(table_cell::text(device_words(with, each.gap.device)));
      to.push_back(table_cell::text(each.host.library));
      to.push_back(table_cell::text(each.host.place));
      to.push_back(table_cell::text(std::string(metrics::get_word(each.gap.cause))));
    };
    content.target = [&](std::size_t row) {
      const query::listed_gap& each = shown_->gaps[rows_[row]];
      row_target target;
      target.shows = make_event_selection(with, each.gap.after);
      target.range = each.gap.span;
      if (!each.host.place.empty()) target.line = each.host.line;
      return target;
    };
    ImGuiListClipper rows;
    rows.Begin(static_cast<int>(rows_.size()));
    while (rows.Step())
      for (int i = rows.DisplayStart; i < rows.DisplayEnd; ++i) draw_gap(with, content, static_cast<std::size_t>(i));
    ImGui::EndTable();
  }

  /// Draws the stacks of the chosen gap: what the host did in it, and the call that ended it.
  void draw_stacks(const view_context& with) {
    const auto found = std::find_if(shown_->gaps.begin(), shown_->gaps.end(),
                                    [&](const query::listed_gap& each) { return each.gap.span == chosen_; });
    if (found == shown_->gaps.end()) return;
    const auto stacks =
        stacks_.ask(*with.state.active()->engine, {found->gap.span.begin, found->host.stack, found->gap.stack});
    if (!stacks || (stacks->host.empty() && stacks->next.empty())) return;
    if (!section(with, "Stacks of the chosen gap", true)) return;
    draw_stack(with, "What the host did", stacks->host, host_rows_);
    draw_stack(with, found->gap.stack_is_next ? "The next call" : "The call", stacks->next, next_rows_);
  }

  static void draw_stack(const view_context& with, const char* title, const std::vector<symbols::frame_line>& stack,
                         row_menu& rows) {
    if (stack.empty()) return;
    ImGui::PushID(title);
    remark(with, title);
    stack_lines(with, stack, &rows);
    ImGui::PopID();
  }

  void draw_gap(const view_context& with, const table_content& content, std::size_t row) {
    const query::listed_gap& each = shown_->gaps[rows_[row]];
    const metrics::idle_gap& gap = each.gap;
    ImGui::PushID(static_cast<int>(row));
    if (table_.begin_row(with, content, row, chosen_ == gap.span)) {
      chosen_ = gap.span;
      with.commands.invoke("selection.set",
                           selection{with.state.active()->id, selection_kind::event, trace::raw(gap.after)});
      show_range(with, gap.span);
    }
    const std::string words = describe_gap(gap.cause, with.text(gap.call), each.host);
    const std::string_view after = with.text(gap.after_name);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal) && begin_tip(with)) {
      const float wide = with.px(110);
      tip_field(with, "device", device_words(with, gap.device), wide);
      tip_field(with, "from", format_moment(gap.span.begin), wide);
      tip_field(with, "idle for", format_time(gap.span.length()), wide);
      tip_field(with, "after", slice_kind_name(gap.before), wide);
      tip_field(with, "host", words, wide);
      if (const std::string did = describe_samples(each.host); !did.empty())
        tip_field(with, "samples", format_share(each.host.share) + ": " + did, wide);
      if (const std::string_view range = with.text(gap.range); !range.empty())
        tip_field(with, "in the range", range.substr(0, 200), wide);
      tip_field(with, "time in the gap", format_time(gap.caused), wide);
      tip_field(with, "ended by",
                std::string(slice_kind_name(gap.after_kind)) + (after.empty() ? "" : ": ") +
                    std::string(after.substr(0, 200)),
                wide);
      end_tip();
    }
    const std::vector<table_cell>& cells = table_.cells(content, row);
    first_cell(cells[0].shown());
    metric_cell(cells[1].shown());
    metric_cell(cells[2].shown());
    metric_cell(cells[3].shown(), true);
    ImGui::PopID();
  }

  screen_slot<query::idle_gaps_query> gaps_;
  screen_slot<query::statistics_query> statistics_;
  std::shared_ptr<const idle_gap_list> shown_;  ///< The last result, which may be partial.
  std::vector<std::size_t> rows_;               ///< Indices of the gaps that are listed.
  std::optional<trace::device_id> only_;        ///< Show only gaps of this device; none: of all devices.
  time_range chosen_;                           ///< The gap that was clicked last.
  row_menu table_;
  screen_slot<query::gap_stacks_query> stacks_;  ///< The stacks of the chosen gap.
  row_menu host_rows_;
  row_menu next_rows_;
};

}  // namespace

std::unique_ptr<view> make_idle_gaps_view() { return std::make_unique<idle_gaps_view>(); }

}  // namespace sluice::gui
