#include <algorithm>
#include <initializer_list>

#include "app/gui/format.hpp"
#include "app/gui/views/track_row.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"

namespace sluice::gui {
namespace {

using analysis::range_statistics;

struct cell {
  std::string text;
  bool right = true;
};

bool begin_table(const view_context& with, const char* id, std::initializer_list<const char*> titles) {
  const ImGuiTableFlags flags = ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_NoSavedSettings |
                                ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_NoHostExtendX;
  if (!ImGui::BeginTable(id, static_cast<int>(titles.size()), flags)) return false;
  for (const char* title : titles) ImGui::TableSetupColumn(title);
  ImGui::TableNextRow();
  bool first = true;
  for (const char* title : titles) {
    ImGui::TableNextColumn();
    if (first) {
      ImGui::TextDisabled("%s", title);
    } else {
      right_text(title, true);
    }
    first = false;
  }
  static_cast<void>(with);
  return true;
}

void next(std::string_view text) {
  ImGui::TableNextColumn();
  right_text(text);
}

std::string kind_text(trace::layer level, trace::memory_kind kind) {
  return std::string(layer_name(level)) + ", " + memory_kind_name(kind);
}

std::string amount(double bytes) { return format::bytes(bytes); }
std::string amount(std::uint64_t bytes) { return format::bytes(static_cast<double>(bytes)); }

/// The figures of the selected range, or of the whole recording: the report's functions, so the report's numbers.
class statistics_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Statistics"; }
  void reset() override { question_ = {}; }

  void draw(view_context& with) override {
    const document& shown = *with.state.active();
    const query::time_range range = with.state.range().value_or(shown.span);
    const auto answer = question_.ask(*shown.engine, {range});
    progress_line(with, answer.complete, answer.progress);
    draw_range(with, range);
    if (!answer) return;
    const range_statistics& all = *answer.value;
    if (all.lost_events > 0)
      ImGui::TextColored(ImGui::ColorConvertU32ToFloat4(with.colours.warning), "%s %s events were lost here%s",
                         icon::warning, format::count(all.lost_events).c_str(),
                         all.lost_memory_events > 0 ? ": memory is not exact" : "");
    draw_memory(with, all);
    draw_transfers(with, all);
    draw_devices(with, all);
    draw_pools(with, all);
    draw_names(with, "Kernels", all.kernels, all.kernel_names);
    draw_names(with, "Calls", all.calls, 0);
    draw_names(with, "Ranges", all.ranges, 0);
    draw_threads(with, all);
    if (all.memory.empty() && all.transfers.empty() && all.devices.empty() && all.calls.empty() &&
        all.threads.empty() && all.untracked.empty())
      empty_state(with, icon::chart, "Nothing happened here",
                  "Select a range with events by dragging over the timeline.");
  }

 private:
  static void draw_range(const view_context& with, query::time_range range) {
    heading(with, with.state.range() ? "Selected range" : "Whole recording");
    const query::time_ns resolution = std::max<query::time_ns>(range.length() / 1000, 1);
    ImGui::TextDisabled("%s to %s, %s", format::time_point(range.begin, resolution).c_str(),
                        format::time_point(range.end, resolution).c_str(), format::duration(range.length()).c_str());
    if (!with.state.range()) return;
    command_button(with, "timeline.zoom_to_range", "Zoom to it");
    ImGui::SameLine();
    command_button(with, "selection.clear", "Clear");
  }

  [[nodiscard]] static std::string device_name(const view_context& with, trace::device_id id) {
    const auto snapshot = with.state.active()->engine->snapshot();
    const trace::tables& tables = snapshot->tables();
    const trace::device_row* row = tables.devices.find(id);
    if (row == nullptr) return "host";
    const std::string_view name = tables.text(row->name);
    return name.empty() ? "device" : std::string(name);
  }

  static void draw_memory(const view_context& with, const range_statistics& all) {
    if (all.memory.empty() && all.untracked.empty()) return;
    heading(with, "Memory use");
    if (!begin_table(with, "memory", {"layer, kind", "highest", "mean", "at end", "allocated", "freed"})) return;
    for (const auto& each : all.memory) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      swatch(with, with.colours.layers[static_cast<std::size_t>(each.level)]);
      ImGui::TextUnformatted(kind_text(each.level, each.kind).c_str());
      next(amount(each.maximum));
      next(amount(each.mean));
      next(amount(each.at_end));
      next(format::count(each.allocations) + " x, " + amount(each.allocated_bytes));
      next(format::count(each.frees) + " x, " + amount(each.freed_bytes));
    }
    for (const auto& each : all.untracked) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      swatch(with, with.colours.untracked, true);
      ImGui::TextUnformatted("not tracked");
      if (ImGui::IsItemHovered())
        ImGui::SetTooltip(
            "Contexts, modules, libraries and other processes: what the device has in use\nand no allocation of this "
            "recording explains. Sampled %s times.",
            format::count(each.samples).c_str());
      next(amount(each.maximum));
      next(amount(each.mean));
      next(amount(each.at_end));
      ImGui::TableNextColumn();
      ImGui::TableNextColumn();
      if (each.recorder == 0) continue;
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      swatch(with, with.colours.recorder);
      ImGui::TextUnformatted("Sluice itself");
      ImGui::TableNextColumn();
      ImGui::TableNextColumn();
      next(amount(each.recorder));
      ImGui::TableNextColumn();
      ImGui::TableNextColumn();
    }
    ImGui::EndTable();
  }

  static void draw_transfers(const view_context& with, const range_statistics& all) {
    if (all.transfers.empty()) return;
    heading(with, "Transfers");
    if (!begin_table(with, "transfers", {"direction", "count", "bytes", "busy", "bandwidth", "fastest", "link peak"}))
      return;
    for (const auto& each : all.transfers) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      swatch(with, with.colours.directions[static_cast<std::size_t>(each.direction)]);
      ImGui::TextUnformatted(direction_name(each.direction));
      next(format::count(each.count));
      next(amount(each.bytes));
      next(format::duration(each.busy));
      next(format::rate(each.mean_bandwidth));
      next(format::rate(each.fastest_bandwidth));
      next(each.link_peak > 0 ? format::rate(each.link_peak) : std::string("-"));
      if (each.parts.size() < 2 && (each.parts.empty() || each.parts[0].host_side == trace::memory_kind::unknown))
        continue;
      for (const auto& part : each.parts) {
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        ImGui::Indent(with.px(15));
        ImGui::TextDisabled("%s",
                            part.host_side == trace::memory_kind::host ? "pageable" : memory_kind_name(part.host_side));
        ImGui::Unindent(with.px(15));
        next(format::count(part.count));
        next(amount(part.bytes));
        next(format::duration(part.busy));
        next(format::rate(part.mean_bandwidth));
        next(format::rate(part.fastest_bandwidth));
        ImGui::TableNextColumn();
      }
    }
    ImGui::EndTable();
  }

  static void draw_devices(const view_context& with, const range_statistics& all) {
    for (const auto& each : all.devices) {
      heading(with, device_name(with, each.device));
      const double length = std::max(1.0, static_cast<double>(all.range.length()));
      const auto line = [&](const char* label, query::time_ns time, ImU32 colour) {
        swatch(with, colour);
        field(with, label, format::duration(time) + "  (" + format::share(static_cast<double>(time) / length) + ")",
              with.px(170));
      };
      line("busy", each.busy, with.colours.text);
      if (each.kernels > 0) line("kernels", each.kernel_busy, with.colours.slice(query::slice_kind::kernel));
      if (each.copy_busy > 0) line("copies", each.copy_busy, with.colours.slice(query::slice_kind::h2d));
      if (each.copy_busy > 0) line("copies with kernels", each.overlap, with.colours.good);
      if (each.copy_busy > 0) line("copies alone", each.copy_only, with.colours.warning);
      if (each.memsets > 0) line("memsets", each.memset_busy, with.colours.slice(query::slice_kind::memset));
    }
  }

  static void draw_pools(const view_context& with, const range_statistics& all) {
    if (all.pools.empty()) return;
    const auto snapshot = with.state.active()->engine->snapshot();
    const trace::tables& tables = snapshot->tables();
    heading(with, "Pools");
    if (!begin_table(with, "pools", {"pool", "reserved at most", "used at most", "used at end", "pool occupancy"}))
      return;
    for (const auto& each : all.pools) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      const trace::pool_row* row = tables.pools.find(each.pool);
      const std::string_view name = row != nullptr ? tables.text(row->name) : std::string_view{};
      ImGui::TextUnformatted(name.empty() ? "pool" : std::string(name).c_str());
      next(amount(each.reserved_maximum));
      next(amount(each.used_maximum));
      next(amount(each.used_at_end));
      next(format::share(each.used_share));
    }
    ImGui::EndTable();
  }

  static void draw_names(const view_context& with, const char* title, const std::vector<analysis::named_time>& names,
                         std::uint64_t of) {
    if (names.empty()) return;
    heading(with, of > names.size()
                      ? std::string(title) + ", " + std::to_string(names.size()) + " of " + format::count(of)
                      : title);
    if (!begin_table(with, title, {"name", "total", "count", "mean", "longest"})) return;
    int row = 0;
    for (const auto& each : names) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      ImGui::PushID(row++);
      const std::string_view full = with.text(each.name);
      const std::string_view brief = short_name(full);
      if (each.longest_event != trace::event_id::none) {
        if (link(with, brief.substr(0, 40))) {
          with.commands.invoke("selection.set", selection{with.state.active()->id, selection_kind::event,
                                                          trace::raw(each.longest_event)});
          with.commands.invoke("selection.reveal");
        }
      } else {
        ImGui::TextUnformatted(brief.data(), brief.data() + std::min<std::size_t>(brief.size(), 40));
      }
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal))
        ImGui::SetTooltip("%.*s", static_cast<int>(std::min<std::size_t>(full.size(), 300)), full.data());
      ImGui::PopID();
      next(format::duration(each.total));
      next(format::count(each.count));
      next(format::duration(each.count == 0 ? 0 : each.total / static_cast<query::time_ns>(each.count)));
      next(format::duration(each.longest));
    }
    ImGui::EndTable();
  }

  static void draw_threads(const view_context& with, const range_statistics& all) {
    if (all.threads.empty()) return;
    const auto snapshot = with.state.active()->engine->snapshot();
    const trace::tables& tables = snapshot->tables();
    heading(with, "Host threads");
    if (!begin_table(with, "threads", {"thread", "calls", "in calls", "waiting", "file I/O"})) return;
    for (const auto& each : all.threads) {
      const trace::thread_row* row = tables.threads.find(each.thread);
      const std::string_view name = row != nullptr ? tables.text(row->name) : std::string_view{};
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      ImGui::TextUnformatted(
          (std::string(name.empty() ? "thread" : name) + (row != nullptr ? " " + std::to_string(row->tid) : ""))
              .c_str());
      next(format::count(each.calls));
      next(format::duration(each.call_busy));
      next(format::duration(each.wait_busy));
      next(each.file_operations > 0 ? amount(each.file_bytes) : std::string("-"));
    }
    ImGui::EndTable();
  }

  query::slot<query::statistics_question> question_;
};

}  // namespace

std::unique_ptr<view> make_statistics_view() { return std::make_unique<statistics_view>(); }

}  // namespace sluice::gui
