// Shows when GPUs were idle, and the host's activity meanwhile.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "app/gui/views/chart/view_charts.hpp"
#include "app/gui/views/idle/gap_lengths_chart.hpp"
#include "app/gui/views/idle/gap_text.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/process_choice.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/views.hpp"
#include "core/base/saturating.hpp"
#include "core/query/types/idle_gaps.hpp"

namespace sluice::gui {
namespace {

using metrics::device_activity;
using metrics::gap_lengths;
using query::idle_gap_list;

constexpr panel_info idle_gaps_panel{
    .title = "Idle gaps", .scrolls = false, .offers_choices = true, .open = {"idle_gaps.open", "Idle gaps", "Go"}};

class idle_gaps_view final : public view {
  static constexpr float min_beside = 820;  // design pixels; in narrower panels the chart is above the tables
  static constexpr float widest_chart = 620;
  static constexpr float chart_height = 124;

 public:
  idle_gaps_view() : view(idle_gaps_panel) {}

  void reset() override {
    gaps_ = {};
    statistics_ = {};
    shown_ = nullptr;
    only_.reset();
    chosen_ = {};
    stacks_ = {};
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
    if (gaps.value != nullptr) shown_ = gaps.value;
    if (only_ && std::none_of(devices.begin(), devices.end(), [&](const auto& each) { return each.device == *only_; }))
      only_.reset();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const bool beside = room.x >= with.px(min_beside);
    if (beside) {
      const float wide = std::min(with.px(widest_chart), room.x * 0.46F);
      if (ImGui::BeginChild("devices", {wide, 0})) draw_head(with, *metrics.value, range);
      ImGui::EndChild();
      ImGui::SameLine(0, with.px(16));
      if (ImGui::BeginChild("gaps")) draw_gaps(with);
      ImGui::EndChild();
    } else if (ImGui::BeginChild("all")) {
      draw_head(with, *metrics.value, range);
      draw_gaps(with);
      ImGui::EndChild();
    } else {
      ImGui::EndChild();
    }
  }

 private:
  static bool has_gaps(const device_activity& device) { return device.kernels > 0; }

  void draw_head(const view_context& with, const metrics::range_statistics& statistics, time_range range) {
    range_line(with, range);
    draw_devices(with, statistics);
    if (shown_ == nullptr) return remark(with, "Reading GPU and host activity.");
    draw_lengths(with);
    draw_sums(with);
    draw_causes(with);
  }

  void draw_devices(const view_context& with, const metrics::range_statistics& statistics) {
    table_of<device_activity> table("Idle time by device", statistics.devices, has_gaps);
    table.text("device", "device", [&](const auto& each) { return device_words(with, each.device); });
    table.duration("idle", "idle_ns", [&](const auto& each) {
      const metrics::device_idle* idle = find_idle(each.device);
      return idle == nullptr ? std::nullopt : std::optional(idle->idle());
    });
    table.share("share of time", "idle_share", [&](const auto& each) -> std::optional<double> {
      const metrics::device_idle* idle = find_idle(each.device);
      if (idle == nullptr || idle->span.length() <= 0) return std::nullopt;
      return static_cast<double>(idle->idle()) / static_cast<double>(idle->span.length());
    });
    table.count("gaps", "gaps", [&](const auto& each) {
      const auto found = shown_ == nullptr ? nullptr : find_lengths(each.device);
      return found == nullptr ? std::nullopt : std::optional(found->count);
    });
    table.choose([&](const auto& each) { return only_ == each.device; });
    table.on_click([&](const auto& each) { only_ = only_ == each.device ? std::nullopt : std::optional(each.device); });
    table.tip =
        "Idle: the time between the first and the last GPU work during which nothing ran.\n"
        "Gaps: the single idle times. Click to show only this device.";
    tables_.draw(with, table);
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

  /// Draws the idle time by length of gap.
  void draw_lengths(const view_context& with) {
    gap_lengths sum;
    for (const auto& [device, lengths] : shown_->lengths) {
      if (only_ && device != *only_) continue;
      for (std::size_t i = 0; i < sum.bins.size(); ++i) {
        sum.bins[i].count += lengths.bins[i].count;
        sum.bins[i].total += lengths.bins[i].total;
      }
    }
    chart_model model = make_gap_lengths_model(sum, with.colours);
    if (model.series.empty()) return;
    heading(with, "Idle time by gap length");
    charts_.draw(with, "##lengths", model, {ImGui::GetContentRegionAvail().x, with.px(chart_height)});
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
    table_of<metrics::cause_time> table("Idle time by cause", shown);
    table.text("cause", "cause", [](const auto& each) { return std::string(metrics::get_words(each.cause)); });
    table.count("gaps", "gaps", [](const auto& each) { return each.count; });
    table.duration("idle", "idle_ns", [](const auto& each) { return each.total; });
    table.share("share of idle", "idle_share",
                [idle](const auto& each) { return static_cast<double>(each.total) / static_cast<double>(idle); });
    tables_.draw(with, table);
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
    table_of<query::gap_line> table("Idle time by cause and line", shown_->lines,
                                    [this](const auto& each) { return !only_ || each.device == *only_; });
    const auto words_of_line = [&](const query::gap_line& each) {
      return describe_cause(each.cause, with.text(each.call), each.place, each.stack_is_next);
    };
    table.text("host activity", "what_the_host_did", words_of_line);
    table.count("gaps", "gaps", [](const auto& each) { return each.count; });
    table.duration("idle", "idle_ns", [](const auto& each) { return each.total; });
    table.duration("longest", "longest_ns", [](const auto& each) { return each.longest; });
    table.text("", "device", [&](const auto& each) { return device_words(with, each.device); });
    table.duration("", "saved_ns", [](const auto& each) { return each.saved; });
    table.leads_to([](const auto& each) {
      row_target target;
      target.range = each.longest_gap;
      if (!each.place.empty()) target.line = each.line;
      return target;
    });
    table.on_click([&](const auto& each) { show_range(with, each.longest_gap); });
    table.explain([&](const auto& each) {
      ImGui::TextUnformatted(words_of_line(each).c_str());
      tip_field(with, "possible saving", format_time(each.saved), with.px(110));
      if (const std::string_view range = with.text(each.range); !range.empty())
        tip_field(with, "in the range", range.substr(0, 200), with.px(110));
    });
    table.tip = "Click to go to the longest gap.";
    tables_.draw(with, table);
  }

  void draw_gaps(const view_context& with) {
    if (shown_ == nullptr) return;
    std::uint64_t total = 0;
    for (const auto& [device, lengths] : shown_->lengths)
      if (!only_ || device == *only_) total += lengths.count;
    table_of<query::listed_gap> table("Idle gaps", shown_->gaps,
                                      [this](const auto& each) { return !only_ || each.gap.device == *only_; });
    heading(with, table.rows < total ? "The longest " + format_count(table.rows) + " of " + format_some(total, "gap")
                                     : format_some(total, "gap") + ", longest first");
    if (table.rows == 0) return remark(with, "No gaps.");
    draw_stacks(with);
    const bool several = shown_->lengths.size() > 1 && !only_;
    table.text("host activity", "what_the_host_did", [&](const auto& each) {
      const std::string words = describe_gap(each.gap.cause, with.text(each.gap.call), each.host);
      return table_cell::words(several ? device_words(with, each.gap.device) + ": " + words : words, words);
    });
    table.text("until", "until", [](const auto& each) { return slice_kind_name(each.gap.after_kind); });
    table.duration("length", "length_ns", [](const auto& each) { return each.gap.span.length(); });
    table.moment("at", "begin_ns",
                 [](const auto& each) { return table_cell::moment(each.gap.span.begin).in(tone::muted); });
    table.text("", "device", [&](const auto& each) { return device_words(with, each.gap.device); });
    table.text("", "library", [](const auto& each) { return each.host.library; });
    table.text("", "line", [](const auto& each) { return each.host.place; });
    table.text("", "cause", [](const auto& each) { return std::string(metrics::get_word(each.gap.cause)); });
    table.source = shown_;
    table.variant = only_ ? trace::raw(*only_) + 1 : 0;
    table.leads_to([&](const auto& each) {
      row_target target;
      target.shows = make_event_selection(with, each.gap.after);
      target.range = each.gap.span;
      if (!each.host.place.empty()) target.line = each.host.line;
      return target;
    });
    table.choose([&](const auto& each) { return chosen_ == each.gap.span || with.followed().lights(each.gap.after); });
    table.on_click([&](const auto& each) {
      chosen_ = each.gap.span;
      with.commands.invoke("selection.set", make_event_selection(with, each.gap.after));
      show_range(with, each.gap.span);
    });
    table.explain([&](const auto& each) { draw_gap_tip(with, each); });
    tables_.draw(with, table, {.follows_selection = true});
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
                         view_tables& rows) {
    if (stack.empty()) return;
    ImGui::PushID(title);
    remark(with, title);
    stack_lines(with, stack, &rows);
    ImGui::PopID();
  }

  static void draw_gap_tip(const view_context& with, const query::listed_gap& each) {
    const metrics::idle_gap& gap = each.gap;
    const std::string_view after = with.text(gap.after_name);
    const float wide = with.px(110);
    tip_field(with, "device", device_words(with, gap.device), wide);
    tip_field(with, "from", format_moment(gap.span.begin), wide);
    tip_field(with, "idle for", format_time(gap.span.length()), wide);
    tip_field(with, "after", slice_kind_name(gap.before), wide);
    tip_field(with, "host", describe_gap(gap.cause, with.text(gap.call), each.host), wide);
    if (const std::string did = describe_samples(each.host); !did.empty())
      tip_field(with, "samples", format_share(each.host.share) + ": " + did, wide);
    if (const std::string_view range = with.text(gap.range); !range.empty())
      tip_field(with, "in the range", range.substr(0, 200), wide);
    tip_field(with, "time in the gap", format_time(gap.caused), wide);
    tip_field(
        with, "ended by",
        std::string(slice_kind_name(gap.after_kind)) + (after.empty() ? "" : ": ") + std::string(after.substr(0, 200)),
        wide);
  }

  screen_slot<query::idle_gaps_query> gaps_;
  screen_slot<query::statistics_query> statistics_;
  std::shared_ptr<const idle_gap_list> shown_;  ///< The last result, which may be partial.
  std::optional<trace::device_id> only_;        ///< Show only gaps of this device; none: of all devices.
  time_range chosen_;                           ///< The gap that was clicked last.
  view_tables tables_;
  view_charts charts_;
  screen_slot<query::gap_stacks_query> stacks_;  ///< The stacks of the chosen gap.
  view_tables host_rows_;
  view_tables next_rows_;
};

}  // namespace

std::unique_ptr<view> make_idle_gaps_view() { return std::make_unique<idle_gaps_view>(); }

}  // namespace sluice::gui
