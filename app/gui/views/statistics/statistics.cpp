#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/process_choice.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/statistics/duration_chart.hpp"
#include "app/gui/views/statistics/step_table.hpp"
#include "app/gui/views/timeline/track_row.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/window/format.hpp"
#include "core/metrics/base/link_share.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

using metrics::range_statistics;

std::string kind_text(trace::layer layer, trace::memory_kind kind) { return describe_memory(layer, kind); }

/// If there are more devices than this, the panel shows only one of them at first.
constexpr std::size_t max_devices_at_once = 4;

/// The devices that have metrics, sorted.
std::vector<trace::device_id> devices_in(const range_statistics& statistics) {
  std::set<trace::device_id> found;
  for (const auto& each : statistics.memory) found.insert(each.device);
  for (const auto& each : statistics.untracked) found.insert(each.device);
  for (const auto& each : statistics.transfers) found.insert(each.device);
  for (const auto& each : statistics.devices) found.insert(each.device);
  found.erase(trace::device_id::none);
  return {found.begin(), found.end()};
}

/// Removes the metrics of devices other than `device`. Keeps those of the host and of all devices together.
void keep_device(range_statistics& statistics, trace::device_id device) {
  const auto keep = [&](auto& metrics) {
    std::erase_if(metrics,
                  [&](const auto& each) { return each.device != trace::device_id::none && each.device != device; });
  };
  keep(statistics.memory);
  keep(statistics.untracked);
  keep(statistics.transfers);
  keep(statistics.devices);
}

std::string get_part(double bytes, std::uint64_t count, std::string_view noun) {
  return format_bytes(bytes) + " in " + format_some(count, noun);
}

constexpr panel_info statistics_panel{.title = "Statistics", .place = panel_place::right, .tells_of = topic::range};

/// Shows statistics of the selected range or of the whole recording. Computed by the same functions as the report.
class statistics_view final : public view {
 public:
  statistics_view() : view(statistics_panel) {}
  [[nodiscard]] panel_status status() const override { return {.choosing = durations_.hovered() || steps_.hovered()}; }
  void reset() override {
    query_ = {};
    tracks_ = {};
    all_ = nullptr;
    devices_.clear();
    device_.reset();
    durations_.reset();
    steps_.reset();
  }

  void add_commands(const command_home& home) override {
    static constexpr command_row<acts_on<statistics_view>> rows[] = {
        {.id = "statistics.per_step",
         .title = "Statistics per step",
         .group = "Analyze",
         .icon = icon::chart,
         .run =
             [](auto& at, auto& with) {
               if (const auto* metric = std::get_if<std::string>(&with)) at.self.steps_.choose(*metric);
               at.self.per_step_ = true;
               at.commands.invoke("panel.focus.Statistics");
             },
         .enabled = when_ready},
        {.id = "statistics.durations",
         .title = "Event durations",
         .group = "Analyze",
         .icon = icon::chart,
         .run =
             [](auto& at, auto&) {
               at.self.per_step_ = false;
               at.self.open_durations_ = true;
               at.commands.invoke("panel.focus.Statistics");
             },
         .enabled = when_ready}};
    home.commands.add(rows, acts_on<statistics_view>{home, *this});
  }

  void draw(view_context& with) override {
    durations_.not_drawn();
    steps_.not_drawn();
    if (has_steps(with)) {
      if (radio_button(with, "one range", !per_step_)) per_step_ = false;
      ImGui::SameLine(0, with.px(between_choices));
      if (radio_button(with, "per step", per_step_)) per_step_ = true;
      if (per_step_) return steps_.draw(with);
    }
    draw_statistics(with);
  }

 private:
  [[nodiscard]] bool has_steps(const view_context& with) {
    const auto tracks = tracks_.ask(*with.state.active()->engine, {});
    return tracks && std::any_of(tracks->tracks.begin(), tracks->tracks.end(),
                                 [](const query::track& each) { return each.kind == query::track_kind::steps; });
  }

  void draw_durations(const view_context& with, time_range range) {
    if (open_durations_) {
      ImGui::GetStateStorage()->SetInt(ImGui::GetID("###Durations"), 1);
      ImGui::SetScrollY(0);
      open_durations_ = false;
    }
    if (section(with, "Durations", false)) durations_.draw(with, range);
  }

  void draw_statistics(const view_context& with) {
    const document& shown = *with.state.active();
    const time_range range = with.state.range().value_or(shown.span);
    const auto result = query_.ask(*shown.engine, {range});
    progress_line(with, result.complete, result.progress);
    draw_range(with, range);
    if (!result) return;
    if (result.value != all_) take(result.value);
    const range_statistics& statistics = shown_;
    if (statistics.lost_events > 0)
      ImGui::TextColored(ImGui::ColorConvertU32ToFloat4(with.colours.warning), "%s  %s lost here%s", icon::warning,
                         format_some(statistics.lost_events, "event").c_str(),
                         statistics.lost_memory_events > 0 ? ": memory is not exact" : "");
    if (is_empty(statistics) && !with.state.range() && !shown.live)
      return empty_state(with, icon::chart, "Nothing was recorded", nothing_recorded);
    if (is_empty(statistics))
      return empty_state(with, icon::chart, "Nothing happened here",
                         "Drag over the timeline to select a range with events.");
    draw_durations(with, range);
    draw_device_choice(with);
    draw_memory(with, statistics);
    draw_allocations(with, statistics);
    draw_transfers(with, statistics);
    draw_devices(with, statistics);
    draw_pools(with, statistics);
    draw_names(with, "Kernels", statistics.kernels, statistics.kernel_names);
    draw_names(with, "Calls", statistics.calls, 0);
    draw_names(with, "Ranges", statistics.ranges, 0);
    draw_threads(with, statistics);
  }

  void take(std::shared_ptr<const range_statistics> statistics) {
    all_ = std::move(statistics);
    devices_ = devices_in(*all_);
    if (!device_ && devices_.size() > max_devices_at_once) device_ = devices_.front();
    shown_ = *all_;
    if (shows_one()) keep_device(shown_, *device_);
  }

  void draw_device_choice(const view_context& with) {
    if (devices_.size() < 2) return;
    const auto words = [&](trace::device_id id) {
      return id == trace::device_id::none ? std::string("all devices") : make_label(device_words(with, id));
    };
    const trace::device_id now = device_.value_or(trace::device_id::none);
    trace::device_id chosen = now;
    ImGui::SetNextItemWidth(with.px(220));
    if (ImGui::BeginCombo("##device", words(now).c_str(), ImGuiComboFlags_HeightLarge)) {
      if (ImGui::Selectable("all devices", now == trace::device_id::none)) chosen = trace::device_id::none;
      for (const trace::device_id each : devices_) {
        ImGui::PushID(static_cast<int>(trace::raw(each)));
        if (ImGui::Selectable(words(each).c_str(), each == now)) chosen = each;
        ImGui::PopID();
      }
      ImGui::EndCombo();
    }
    if (chosen == now) return;
    device_ = chosen;
    take(all_);
  }

  /// True if the panel shows one of several devices.
  [[nodiscard]] bool shows_one() const { return device_.value_or(trace::device_id::none) != trace::device_id::none; }

  /// `text` with the device's name before it, if several devices are shown: "GPU 1, framework, device".
  [[nodiscard]] std::string on_device(const view_context& with, trace::device_id device,
                                      const std::string& text) const {
    if (devices_.size() < 2 || shows_one() || device == trace::device_id::none) return text;
    return device_words(with, device) + ", " + text;
  }

  static void draw_range(const view_context& with, time_range range) {
    heading(with, with.state.range() ? "Selected range" : "Whole recording");
    ImGui::TextDisabled(
        "%s",
        (format_moment(range.begin) + " to " + format_moment(range.end) + ",  " + format_time(range.length())).c_str());
    if (!with.state.range()) return;
    command_button(with, "timeline.zoom_to_range", "Zoom to range");
    ImGui::SameLine();
    command_button(with, "selection.clear", "Clear");
  }

  void draw_memory(const view_context& with, const range_statistics& statistics) {
    if (statistics.memory.empty() && statistics.untracked.empty()) return;
    heading(with, "Memory use");
    struct line {
      std::string name;
      ImU32 colour;
      std::optional<double> peak, mean, at_end;  // None: not sampled in this range.
      bool outlined = false;
    };
    std::vector<line> lines;
    const auto add = [&](const auto& each, const std::string& name, ImU32 colour, bool outlined) {
      lines.push_back({on_device(with, each.device, name), colour, static_cast<double>(each.maximum),
                       static_cast<double>(each.mean), static_cast<double>(each.at_end), outlined});
    };
    for (const auto& each : statistics.memory)
      add(each, kind_text(each.layer, each.kind), with.colours.layers[static_cast<std::size_t>(each.layer)], false);
    for (const auto& each : statistics.untracked) {
      if (each.samples == 0 && each.maximum == 0)
        lines.push_back({on_device(with, each.device, "untracked (not sampled)"), with.colours.untracked, std::nullopt,
                         std::nullopt, std::nullopt, true});
      else
        add(each, "untracked", with.colours.untracked, true);
      if (each.recorder > 0)
        lines.push_back({on_device(with, each.device, "profiler overhead"), with.colours.recorder, std::nullopt,
                         std::nullopt, static_cast<double>(each.recorder)});
    }
    table_of<line> table("Memory use", lines);
    table.text("layer, kind", "memory",
               [](const line& each) { return table_cell::text(each.name).marked(each.colour, each.outlined); });
    table.bytes("peak", "peak_bytes", [](const line& each) { return each.peak; });
    table.bytes("mean", "mean_bytes", [](const line& each) { return each.mean; });
    table.bytes("at end", "bytes_at_end", [](const line& each) { return each.at_end; });
    tables_.draw(with, table);
    if (statistics.untracked.empty()) return;
    ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
    const bool managed = std::any_of(statistics.memory.begin(), statistics.memory.end(),
                                     [](const auto& m) { return m.kind == trace::memory_kind::managed; });
    ImGui::TextWrapped("Untracked (sampled): CUDA contexts, modules, libraries, %sother processes.",
                       managed ? "pages of managed memory on this device," : "");
    ImGui::PopStyleColor();
  }

  void draw_allocations(const view_context& with, const range_statistics& statistics) {
    const auto active = [](const metrics::memory_statistics& m) { return m.allocations + m.frees > 0; };
    if (std::none_of(statistics.memory.begin(), statistics.memory.end(), active)) return;
    heading(with, "Allocations");
    table_of<metrics::memory_statistics> table("Allocations", statistics.memory, active);
    table.text("layer, kind", "memory", [&](const auto& each) {
      return table_cell::text(on_device(with, each.device, kind_text(each.layer, each.kind)))
          .marked(with.colours.layers[static_cast<std::size_t>(each.layer)]);
    });
    const auto in_some = [](std::uint64_t bytes, std::uint64_t count) {
      return table_cell::words(format_bytes(bytes) + " in " + format_count(count), std::to_string(bytes));
    };
    table.bytes("allocated", "allocated_bytes",
                [&](const auto& each) { return in_some(each.allocated_bytes, each.allocations); });
    table.bytes("freed", "freed_bytes", [&](const auto& each) { return in_some(each.freed_bytes, each.frees); });
    table.count("", "allocations", [](const auto& each) { return each.allocations; });
    table.count("", "frees", [](const auto& each) { return each.frees; });
    tables_.draw(with, table);
  }

  void draw_transfers(const view_context& with, const range_statistics& statistics) {
    if (statistics.transfers.empty()) return;
    heading(with, "Transfers");
    const float column = with.px(125);
    for (const auto& each : statistics.transfers) {
      swatch(with, with.colours.directions[static_cast<std::size_t>(each.direction)]);
      ImGui::TextUnformatted(on_device(with, each.device, std::string(get_name(each.direction))).c_str());
      ImGui::Indent(with.px(15));
      field(with, "copied", get_part(each.bytes, each.count, "transfer"), column);
      std::string mean = format_rate(each.mean_bandwidth);
      if (const auto share = metrics::link_share(each.mean_bandwidth, each.link_peak))
        mean += ", " + format_share(*share) + " of " + format_rate(each.link_peak);
      field(with, "mean bandwidth", mean, column);
      field(with, "fastest transfer", format_rate(each.fastest_bandwidth), column);
      field(with, "busy", format_time(each.busy), column);
      if (each.migrations > 0) field(with, "migrations", format_count(each.migrations), column);
      for (const auto& part : each.parts)
        if (part.host_side != trace::memory_kind::unknown)
          field(with, name_of_side(part.host_side),
                format_bytes(part.bytes) + " in " + format_count(part.count) + ", " + format_rate(part.mean_bandwidth),
                column);
      ImGui::Unindent(with.px(15));
    }
  }

  void draw_devices(const view_context& with, const range_statistics& statistics) {
    const auto snapshot = with.state.active()->engine->snapshot();
    const trace::tables& tables = snapshot->tables();
    const time_ns length = std::max<time_ns>(statistics.active.length(), 1);
    for (const auto& each : statistics.devices) {
      const trace::device_row* row = tables.devices.find(each.device);
      const std::string_view name = row != nullptr ? with.text(row->name) : std::string_view{};
      heading(with, on_device(with, each.device, std::string(name.empty() ? "Device" : name)));
      const auto line = [&](const char* label, time_ns time, ImU32 colour) {
        swatch(with, colour);
        std::string words = format_time(time);
        if (time <= length) words += ",  " + format_share(static_cast<double>(time) / static_cast<double>(length));
        field(with, label, words, with.px(125));
      };
      line("busy", each.busy, with.colours.text);
      if (each.kernels > 0) line("kernels", each.kernel_busy, with.colours.slice(query::slice_kind::kernel));
      if (each.copy_busy > 0) {
        line("copies", each.copy_busy, with.colours.muted);  // of all directions, which have colours of their own
        line("copies with kernels", each.overlap, with.colours.muted);
        line("copies alone", each.copy_only, with.colours.muted);
      }
      if (each.memsets > 0) line("memsets", each.memset_busy, with.colours.slice(query::slice_kind::memset));
    }
  }

  void draw_pools(const view_context& with, const range_statistics& statistics) {
    if (statistics.pools.empty()) return;
    const auto snapshot = with.state.active()->engine->snapshot();
    const trace::tables& tables = snapshot->tables();
    heading(with, "Pools");
    table_of<metrics::pool_statistics> table("Pools", statistics.pools);
    table.text("pool", "pool", [&](const auto& each) {
      const trace::pool_row* pool = tables.pools.find(each.pool);
      const std::string_view name = pool != nullptr ? with.text(pool->name) : std::string_view{};
      return name.empty() ? std::string_view("pool") : name;
    });
    table.bytes("reserved", "reserved_bytes", [](const auto& each) { return each.reserved_maximum; });
    table.bytes("used", "used_bytes", [](const auto& each) { return each.used_maximum; });
    table.share("occupancy", "occupancy", [](const auto& each) { return each.used_share; });
    tables_.draw(with, table);
    ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
    ImGui::TextWrapped("Peak reserved and used; occupancy is mean used divided by mean reserved.");
    ImGui::PopStyleColor();
  }

  void draw_names(const view_context& with, const char* title, const std::vector<metrics::named_time>& names,
                  std::uint64_t value) {
    if (names.empty()) return;
    std::string words = title;
    if (shows_one()) words += " (all devices)";
    if (value > names.size()) words += ", " + std::to_string(names.size()) + " of " + format_count(value);
    heading(with, words);
    table_of<metrics::named_time> table(title, names);
    table.text("name", "name", [&](const auto& each) {
      const std::string_view full = with.text(each.name);
      return table_cell::words(short_name(full), full)
          .in(each.longest_event != trace::event_id::none ? tone::link : tone::plain);
    });
    table.duration("total", "total_ns", [](const auto& each) { return each.total; });
    table.count("count", "count", [](const auto& each) { return each.count; });
    table.duration("longest", "longest_ns", [](const auto& each) { return each.longest; });
    table.leads_to([&](const auto& each) {
      return row_target{.shows = make_event_selection(with, each.longest_event),
                        .find = std::string(with.text(each.name))};
    });
    table.on_click([&](const auto& each) { show_event(with, each.longest_event); });
    table.explain([&](const auto& each) {
      const std::string_view full = with.text(each.name);
      ImGui::PushTextWrapPos(with.px(460));
      ImGui::TextUnformatted(full.data(), full.data() + std::min<std::size_t>(full.size(), 2000));
      ImGui::PopTextWrapPos();
      const time_ns mean = each.count == 0 ? 0 : each.total / static_cast<time_ns>(each.count);
      tip_field(with, "mean", format_time(mean), with.px(60));
    });
    tables_.draw(with, table);
  }

  void draw_threads(const view_context& with, const range_statistics& statistics) {
    if (statistics.threads.empty()) return;
    const auto snapshot = with.state.active()->engine->snapshot();
    const trace::tables& tables = snapshot->tables();
    heading(with, "Host threads");
    table_of<metrics::thread_statistics> table("Host threads", statistics.threads);
    table.text("thread", "thread", [&](const auto& each) {
      const trace::thread_row* thread = tables.threads.find(each.thread);
      const std::string_view name = thread != nullptr ? with.text(thread->name) : std::string_view{};
      std::string words(name.empty() ? "thread" : name);
      if (thread != nullptr) words += " " + std::to_string(thread->tid);
      if (has_several_processes(with)) words += ", " + process_words(with, each.process);
      return words;
    });
    table.count("calls", "calls", [](const auto& each) { return each.calls; });
    table.duration("in calls", "call_ns", [](const auto& each) { return each.call_busy; });
    table.duration("waiting", "waiting_ns", [](const auto& each) { return each.wait_busy; });
    tables_.draw(with, table);
    for (const auto& each : statistics.threads)
      if (each.file_operations > 0)
        field(with, "file I/O",
              get_part(each.file_bytes, each.file_operations, "operation") + ", " + format_time(each.file_busy),
              with.px(80));
  }

  screen_slot<query::statistics_query> query_;
  std::shared_ptr<const range_statistics> all_;  ///< The complete result, of which `shown_` is a part.
  range_statistics shown_;
  std::vector<trace::device_id> devices_;   ///< The devices in `all_`.
  std::optional<trace::device_id> device_;  ///< The device to show. `none`: the user chose all devices; null: not
                                            ///< chosen yet.
  view_tables tables_;
  screen_slot<query::tracks_query> tracks_;  ///< Used to find out whether there are steps.
  duration_chart durations_;
  step_table steps_;
  bool per_step_ = false;
  bool open_durations_ = false;  ///< Unfold the section with durations in the next frame.
};

}  // namespace

std::unique_ptr<view> make_statistics_view() { return std::make_unique<statistics_view>(); }

}  // namespace sluice::gui
