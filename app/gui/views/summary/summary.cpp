#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "app/gui/shell/shown_range.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/process_choice.hpp"
#include "app/gui/views/parts/view_tables.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/views/summary/finding_cards.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/window/format.hpp"
#include "core/metrics/base/link_share.hpp"
#include "core/metrics/report/one_rank.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

/// How the memory at the peak is grouped: none: by category; otherwise by this attribution.
using split = std::optional<symbols::attribution>;

double compute_share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

constexpr panel_info summary_panel{.title = "Summary", .place = panel_place::right};

/// A summary of the whole recording, below the verdict in the header: findings and their savings, memory at the peak, transfers, idle memory, and
/// unfreed memory. The metrics are those of the report.
class summary_view final : public view {
 public:
  summary_view() : view(summary_panel) {}
  void reset() override {
    query_ = {};
    stacks_ = {};
    whole_ = nullptr;
    rank_.reset();
  }

  void draw(view_context& with) override {
    const auto result = query_.ask(*with.state.active()->engine, {});
    progress_line(with, result.complete, result.progress);
    if (!result) return;
    if (result.value != whole_) take(with, result.value);
    const bool nothing = is_empty(shown_->whole) && shown_->findings.empty() && !with.state.active()->live;
    draw_age(with, *result.value);
    if (nothing) {
      heading(with, "Nothing was recorded");
      remark(with, nothing_recorded);
    } else {
      draw_finding_cards(with, *shown_);
    }
    draw_head(with, *result.value);
    draw_rank_choice(with);  // The user may choose another rank with this.
    const metrics::report& whole_report = *shown_;
    draw_held(with, whole_report, choose_grouping(with, result));
    draw_copies(with, whole_report);
    draw_unused(with, whole_report);
    draw_peaks(with, whole_report);
    draw_steps(with, whole_report);
    draw_unfreed(with, whole_report);
    draw_recording(with, *result.value);
  }

 private:
  /// Draws how far the metrics of a large growing recording lag behind.
  static void draw_age(const view_context& with, const metrics::report& whole_report) {
    constexpr time_ns notable = 2'000'000'000;
    const document& shown = *with.state.active();
    if (!shown.live || whole_report.span.end + notable >= shown.span.end) return;
    remark(with,
           "These metrics cover the first " + format_time(whole_report.span.length()) + ". They are being updated.");
  }

  /// Sets the report to show. For a job with many ranks, everything below the findings is about one rank.
  void take(const view_context& with, std::shared_ptr<const metrics::report> whole) {
    whole_ = std::move(whole);
    shown_ = whole_;
    if (!rank_) rank_ = metrics::rank_to_show(*whole_);
    if (rank_) {
      auto kept = std::make_shared<metrics::report>(*whole_);
      if (metrics::keep_rank(*kept, with.state.active()->engine->snapshot()->tables(), *rank_))
        shown_ = std::move(kept);
    }
    std::set<trace::device_id> devices;
    for (const metrics::memory_peak& each : shown_->peaks) devices.insert(each.device);
    devices.erase(trace::device_id::none);
    several_devices_ = devices.size() > 1;
  }

  void draw_rank_choice(const view_context& with) {
    if (shown_ == whole_) return;
    const auto words = [](std::int64_t rank) { return "Rank " + std::to_string(rank); };
    ImGui::Spacing();
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("Details for one of %s:", format_some(whole_->waste.ranks.size(), "rank").c_str());
    ImGui::SameLine();
    ImGui::SetNextItemWidth(with.px(120));
    std::int64_t chosen = *rank_;
    if (ImGui::BeginCombo("##rank", words(*rank_).c_str(), ImGuiComboFlags_HeightLarge)) {
      for (const metrics::rank_metrics& each : whole_->waste.ranks)
        if (ImGui::Selectable(words(each.rank).c_str(), each.rank == *rank_)) chosen = each.rank;
      ImGui::EndCombo();
    }
    ImGui::SameLine();
    if (link(with, "Compare all")) with.commands.invoke("ranks.open");
    if (chosen == *rank_) return;
    rank_ = chosen;
    take(with, whole_);
  }

  /// `text` with the device's name before it, if there are several devices: "GPU 1, framework, device".
  [[nodiscard]] std::string on_device(const view_context& with, trace::device_id device,
                                      const std::string& text) const {
    if (!several_devices_ || device == trace::device_id::none) return text;
    return device_words(with, device) + ", " + text;
  }

  /// Draws a line about the recorded program.
  static void draw_head(const view_context& with, const metrics::report& whole_report) {
    if (whole_report.processes.empty()) return;
    std::string text = format::apart(whole_report.processes.front().command);
    if (whole_report.processes.size() > 1)
      text += " and " + format_some(whole_report.processes.size() - 1, "more process");
    ImGui::PushTextWrapPos(0);
    ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
    ImGui::TextUnformatted(text.c_str());
    ImGui::PopStyleColor();
    ImGui::PopTextWrapPos();
  }

  /// A filter for the blocks that are live at the peak.
  static blocks_filter at_peak(const metrics::memory_peak& peak) {
    blocks_filter filter;
    filter.layer = peak.layer;
    filter.range = time_range{peak.time, peak.time + 1};
    return filter;
  }

  /// Draws the memory at the highest peak, by category, line or module.
  void draw_held(const view_context& with, const metrics::report& whole_report, const automatic_grouping& grouping) {
    const metrics::memory_peak* peak = main_peak(whole_report);
    if (peak == nullptr || !section(with, "Memory at peak", true)) return;
    ImGui::Text("%s in %s, %s, at", format_bytes(static_cast<double>(peak->bytes)).c_str(),
                format_some(peak->blocks, "block").c_str(),
                on_device(with, peak->device, std::string(get_label(peak->layer))).c_str());
    ImGui::SameLine(0, ImGui::CalcTextSize(" ").x);
    if (link(with, format_moment(peak->time))) show_peak(with, whole_report, *peak);
    const auto composition = std::find_if(
        whole_report.compositions.begin(), whole_report.compositions.end(),
        [&](const auto& c) { return c.layer == peak->layer && c.kind == peak->kind && c.device == peak->device; });
    if (composition != whole_report.compositions.end()) draw_composition(with, *peak, *composition);
    draw_holders(with, *peak, grouping);
  }

  static void show_peak(const view_context& with, const metrics::report& whole_report,
                        const metrics::memory_peak& peak) {
    with.commands.invoke("timeline.go_to",
                         shown_range({peak.time, peak.time}, whole_report.whole.active, whole_report.steps));
    with.commands.invoke("moment.set", time_range{peak.time, peak.time});
  }

  /// Draws a bar of all categories, and below it a line for each category.
  void draw_composition(const view_context& with, const metrics::memory_peak& peak,
                        const metrics::peak_composition& composition) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const float height = with.px(12);
    std::uint64_t before = 0;
    for (const metrics::category_share& share : composition.shares) {
      const auto to_x = [&](std::uint64_t bytes) {
        return std::floor(at.x + width * static_cast<float>(compute_share(bytes, composition.bytes)));
      };
      ImGui::GetWindowDrawList()->AddRectFilled({to_x(before), at.y}, {to_x(before + share.bytes), at.y + height},
                                                with.colours.categories[static_cast<std::size_t>(share.category)]);
      before += share.bytes;
    }
    ImGui::Dummy({width, height + with.px(2)});
    ImGui::PushID("category");
    const auto make_filter = [&](std::size_t row) {
      blocks_filter filter = at_peak(peak);
      filter.category = composition.shares[row].category;
      return filter;
    };
    table_of<metrics::category_share> table("Peak by category", composition.shares);
    table.bytes("size", "bytes", [](const auto& each) { return each.bytes; });
    table.share("share", "share", [&](const auto& each) { return compute_share(each.bytes, composition.bytes); });
    table.text("group", "what", [](const auto& each) { return index::category_name(each.category); });
    table.count("blocks", "blocks", [](const auto& each) {
      return table_cell::words(format_some(each.blocks, "block"), std::to_string(each.blocks));
    });
    table.leads_to([&](const auto&, std::size_t row) { return row_target{.blocks = make_filter(row)}; });
    table.click = [&](std::size_t row, std::size_t) { with.commands.invoke("blocks.show", make_filter(row)); };
    draw_amounts(with, table, [&](const metrics::category_share& each) -> amount_words {
      return {std::string(index::category_name(each.category)) + ", " + format_some(each.blocks, "block"),
              with.colours.categories[static_cast<std::size_t>(each.category)]};
    });
    ImGui::PopID();
    if (composition.inferred()) ImGui::TextDisabled("Categories are inferred.");
  }

  struct amount_words {
    std::string text;
    ImU32 colour;
    std::string_view detail{};
  };

  /// Draws a list of amounts: each row's first cell, and its second, a share, as a bar. `describe` returns the rest.
  template <class Row, class Describe>
  void draw_amounts(const view_context& with, const table_of<Row>& table, Describe describe) {
    for (std::size_t row = 0; row < table.rows; ++row) {
      ImGui::PushID(static_cast<int>(row));
      const amount_words words = describe(table.row(row));
      if (amount_line(with, table.cell(row, 0).shown(), table.cell(row, 1).number().value_or(0), words.colour,
                      words.text, words.detail))
        table.click(row, table_sort::none);
      tables_.follow_item(with, table, row);
      ImGui::PopID();
    }
  }

  /// Draws memory by line, module and so on. The sums are those of the first level of the flame graph.
  void draw_holders(const view_context& with, const metrics::memory_peak& peak, const automatic_grouping& automatic) {
    query::stacks_query wanted;
    wanted.range = with.state.active()->span;
    wanted.layer = peak.layer;
    wanted.device = peak.device;
    wanted.kind = peak.kind;
    wanted.grouping = {true, held_by_ ? held_by_ : automatic.by};
    const auto result = stacks_.ask(*with.state.active()->engine, wanted);
    if (!result || !result->recorded) return;
    ImGui::SetNextItemWidth(std::min(with.px(200), ImGui::GetContentRegionAvail().x));
    attribution_combo(with, "##held_by", held_by_, automatic);
    const std::vector<metrics::stack_node>& nodes = result->tree.nodes;
    if (nodes.empty()) return;
    constexpr std::size_t most = 10;
    std::vector<const metrics::stack_node*> holders;
    for (std::size_t at = 1; at < nodes.size() && holders.size() < most; at = nodes[at].end)
      holders.push_back(&nodes[at]);
    const auto get_line = [&](std::size_t row) -> const symbols::frame_line& {
      return result->lines[holders[row]->line];
    };
    const auto make_filter = [&](std::size_t row) {
      blocks_filter filter = at_peak(peak);
      filter.text = symbols::format_place_and_name(get_line(row));
      return filter;
    };
    table_of<const metrics::stack_node*> table("Peak by line", holders);
    table.bytes("size", "bytes", [](const auto& each) { return each->all.bytes; });
    table.share("share", "share", [&](const auto& each) { return compute_share(each->all.bytes, nodes[0].all.bytes); });
    table.text("group", "what",
               [&](const auto&, std::size_t row) { return symbols::format_place_and_name(get_line(row)); });
    table.count("blocks", "blocks", [](const auto& each) {
      return table_cell::words(format_some(each->all.count, "block"), std::to_string(each->all.count));
    });
    table.leads_to(
        [&](const auto&, std::size_t row) { return row_target{.line = get_line(row), .blocks = make_filter(row)}; });
    table.click = [&](std::size_t row, std::size_t) { with.commands.invoke("blocks.show", make_filter(row)); };
    ImGui::PushID("holder");
    draw_amounts(with, table, [&](const metrics::stack_node* each) -> amount_words {
      const symbols::frame_line& line = result->lines[each->line];
      return {symbols::format_place_and_name(line), with.colours.accent, line.source};
    });
    ImGui::PopID();
    std::uint64_t listed = 0;
    for (const metrics::stack_node* each : holders) listed += each->all.bytes;
    if (nodes[0].all.bytes > listed)
      ImGui::TextDisabled("%s in other groups", format_bytes(static_cast<double>(nodes[0].all.bytes - listed)).c_str());
    if (link(with, "All call stacks")) with.commands.invoke("panel.focus.Stacks");
  }

  void draw_copies(const view_context& with, const metrics::report& whole_report) {
    if (whole_report.copying.empty() && whole_report.whole.transfers.empty()) return;
    if (!section(with, "Transfers", true)) return;
    for (const metrics::transfer_statistics& way : whole_report.whole.transfers) {
      const auto share = metrics::link_share(way.mean_bandwidth, way.link_peak);
      field(with, on_device(with, way.device, std::string(get_name(way.direction))),
            format_bytes(way.bytes) + " in " + format_some(way.count, "copy") + ", " + format_rate(way.mean_bandwidth) +
                (share ? ", " + format_share(*share) + " of the link" : ""),
            with.px(110));
    }
    int number = 0;
    for (const metrics::copying_lines& each : whole_report.copying) {
      if (each.uses.empty()) continue;
      ImGui::TextDisabled("%s, time the GPU waited%s",
                          on_device(with, each.device, std::string(get_name(each.direction))).c_str(),
                          each.kernels_known ? "" : "  is unknown: showing copy time");
      const time_ns whole = each.kernels_known ? each.uses.total.alone : each.uses.total.busy;
      const auto get_time = [&](const metrics::line_use& use) {
        return each.kernels_known ? use.metrics.alone : use.metrics.busy;
      };
      const auto get_words = [](const metrics::line_use& use) {
        return format_bytes(static_cast<double>(use.metrics.bytes)) + " in " + format_some(use.metrics.count, "copy") +
               ",  " + symbols::format_place_and_name(use.line);
      };
      table_of<metrics::line_use> table("Transfers", each.uses.lines);
      table.duration("time", "time_ns", get_time);
      table.share("share", "share", [&](const auto& use) {
        return whole > 0 ? static_cast<double>(get_time(use)) / static_cast<double>(whole) : 0.0;
      });
      table.text("line", "line", [&](const auto& use) {
        return table_cell::words(get_words(use), symbols::format_place_and_name(use.line));
      });
      table.bytes("", "bytes", [](const auto& use) { return use.metrics.bytes; });
      table.count("", "copies", [](const auto& use) { return use.metrics.count; });
      table.leads_to([](const auto& use) { return row_target{.line = use.line}; });
      table.on_click([&](const auto&) { with.commands.invoke("panel.focus.Transfers"); });
      ImGui::PushID(number++);
      draw_amounts(with, table, [&](const metrics::line_use& use) -> amount_words {
        return {get_words(use), with.colours.directions[static_cast<std::size_t>(each.direction)]};
      });
      ImGui::PopID();
    }
  }

  /// Draws the memory that has been idle since its last use, by line.
  void draw_unused(const view_context& with, const metrics::report& whole_report) {
    const bool any = std::any_of(whole_report.unused.begin(), whole_report.unused.end(),
                                 [](const auto& u) { return !u.groups.empty(); });
    if (!any || !section(with, "Idle since last use", false)) return;
    int number = 0;
    for (const metrics::unused_memory& each : whole_report.unused) {
      const std::string words = format_bytes(each.bytes_at_peak) + " of " + format_bytes(each.peak_bytes) +
                                " at the peak, " + format_bytes(each.mean_bytes) + " on average";
      ImGui::TextDisabled("%s", on_device(with, each.device, words).c_str());
      const auto describe_line = [&](const metrics::unused_group& group) {
        return group.stack != trace::stack_id::none ? symbols::format_place_and_name(group.line)
                                                    : std::string(with.text(group.name));
      };
      table_of<metrics::unused_group> table("Idle since last use", each.groups);
      table.bytes("size", "bytes_at_peak", [](const auto& group) { return group.bytes_at_peak; });
      table.share("share", "share",
                  [&](const auto& group) { return compute_share(group.bytes_at_peak, each.peak_bytes); });
      table.text("line", "line", describe_line);
      table.count("", "blocks", [](const auto& group) { return group.blocks; });
      table.duration("", "longest_ns", [](const auto& group) { return group.longest; });
      table.leads_to([&](const auto& group) {
        row_target target;
        target.shows = select_block(with, group.longest_block);
        if (group.stack != trace::stack_id::none) target.line = group.line;
        return target;
      });
      table.on_click([&](const auto& group) { show_block(with, group.longest_block); });
      ImGui::PushID(number++);
      draw_amounts(with, table, [&](const metrics::unused_group& group) -> amount_words {
        return {describe_line(group) + ", " + format_some(group.blocks, "block") + ", for up to " +
                    format_time(group.longest),
                with.colours.categories[static_cast<std::size_t>(group.category)]};
      });
      ImGui::PopID();
      if (each.never_touched > 0) {
        ImGui::PushID(number++);
        if (link(with, format_some(each.never_touched, "block") + " of " +
                           format_bytes(static_cast<double>(each.never_touched_bytes)) + "  never used")) {
          blocks_filter filter;
          filter.layer = each.layer;
          filter.only_unused = true;
          with.commands.invoke("blocks.show", filter);
        }
        ImGui::PopID();
      }
    }
  }

  void draw_peaks(const view_context& with, const metrics::report& whole_report) {
    if (whole_report.peaks.empty() || !section(with, "Memory by layer", false)) return;
    ImGui::TextDisabled("Memory of a layer is part of the layer below it.");
    int number = 0;
    for (const metrics::memory_peak& each : whole_report.peaks) {
      ImGui::PushID(number++);
      swatch(with, with.colours.layers[static_cast<std::size_t>(each.layer)]);
      const std::string words = describe_memory(each.layer, each.kind);
      ImGui::Text("%s:  %s", on_device(with, each.device, words).c_str(),
                  format_bytes(static_cast<double>(each.bytes)).c_str());
      ImGui::SameLine();
      if (link(with, "at " + format_moment(each.time))) show_peak(with, whole_report, each);
      ImGui::Indent(with.px(15));
      for (const metrics::holder& holder : each.holders) {
        const std::string_view name = with.text(holder.name);
        field(with, format_bytes(static_cast<double>(holder.bytes)),
              std::string(name.empty() ? "unnamed" : name) + ", " + format_some(holder.blocks, "block"), with.px(90));
      }
      if (each.other_bytes > 0) field(with, format_bytes(static_cast<double>(each.other_bytes)), "others", with.px(90));
      ImGui::Unindent(with.px(15));
      ImGui::PopID();
    }
    for (const metrics::fragmentation_metric& each : whole_report.fragmentation)
      field(with, on_device(with, each.device, "segments of " + std::string(get_label(each.layer))),
            format_bytes(each.segment_bytes) + " in " + format_some(each.segments, "segment") + ", " +
                format_bytes(each.free_bytes) + " free, largest hole " + format_bytes(each.largest_free) +
                ", fragmentation " + format_share(each.fragmentation),
            with.px(140));
  }

  static void draw_steps(const view_context& with, const metrics::report& whole_report) {
    const bool any = std::any_of(whole_report.steps.begin(), whole_report.steps.end(),
                                 [](const auto& subject) { return !subject.steps.empty(); });
    if (!any || !section(with, "Steps", false)) return;
    int number = 0;
    for (const metrics::step_summary& step_summary : whole_report.steps) {
      if (step_summary.steps.empty()) continue;
      if (whole_report.steps.size() > 1) ImGui::TextUnformatted(process_words(with, step_summary.process).c_str());
      if (step_summary.source == index::step_source::pattern) ImGui::TextDisabled("Inferred from repeated work.");
      ImGui::PushID(number++);
      field(with, "steps",
            format_count(step_summary.count) + ", " + format_time(step_summary.median_duration) + " each (median)",
            with.px(110));
      const metrics::step_metrics& highest = step_summary.steps[step_summary.highest];
      field(with, "highest peak", format_bytes(highest.peak) + " in step " + std::to_string(highest.number),
            with.px(110));
      if (step_summary.keeps_growing)
        field(with, "grows by", format_bytes(step_summary.growth) + "  per step", with.px(110));
      if (link(with, "Show highest")) {
        with.commands.invoke("selection.mark", highest.span);
        const time_ns air = highest.span.length() / 10 + 1;
        with.commands.invoke("timeline.go_to", time_range{highest.span.begin - air, highest.span.end + air});
      }
      ImGui::PopID();
    }
  }

  /// True if a framework or pool allocates memory on top of the driver's.
  static bool has_allocator(const metrics::report& whole_report) {
    return std::any_of(whole_report.whole.memory.begin(), whole_report.whole.memory.end(),
                       [](const metrics::memory_statistics& each) {
                         return each.layer == trace::layer::framework || each.layer == trace::layer::pool;
                       });
  }

  static void draw_unfreed(const view_context& with, const metrics::report& whole_report) {
    if (whole_report.unfreed.empty() || !section(with, "Never freed", false)) return;
    int number = 0;
    for (const metrics::unfreed_group& each : whole_report.unfreed) {
      ImGui::Text("%s:  %s in %s %s%s", describe_memory(each.layer, each.kind).c_str(),
                  format_bytes(static_cast<double>(each.bytes)).c_str(), format_count(each.count).c_str(),
                  each.count == 1 ? "block" : "blocks", each.process_ended ? "" : " (still running)");
      ImGui::Indent(with.px(15));
      if (each.layer == trace::layer::driver && has_allocator(whole_report))
        remark(with, "Allocators keep their segments until the program ends: this is not a leak by itself.");
      for (const metrics::unfreed_block& block : each.largest) {
        ImGui::PushID(number++);
        const std::string_view name = with.text(block.name);
        ImGui::TextDisabled("%s", format_bytes(static_cast<double>(block.bytes)).c_str());
        ImGui::SameLine(with.px(115));
        if (link(with, format_address(block.address) + "  " + std::string(name))) show_block(with, block.block);
        ImGui::PopID();
      }
      if (each.count > each.largest.size()) {
        ImGui::PushID(number++);
        if (link(with, "List all " + format_count(each.count))) {
          blocks_filter filter;
          filter.layer = each.layer;
          filter.kind = each.kind;
          filter.only_unfreed = true;
          with.commands.invoke("blocks.show", filter);
        }
        ImGui::PopID();
      }
      ImGui::Unindent(with.px(15));
    }
  }

  static void draw_recording(const view_context& with, const metrics::report& whole_report) {
    if (!section(with, "Recording", false)) return;
    field(with, "length", format_time(whole_report.span.length()), with.px(110));
    if (whole_report.whole.active != whole_report.span)
      field(with, "active time", format_time(whole_report.whole.active.length()), with.px(110));
    field(with, "events", format_count(whole_report.events), with.px(110));
    field(with, "blocks", format_count(whole_report.blocks), with.px(110));
    field(with, "file", format_bytes(static_cast<double>(whole_report.file_bytes)), with.px(110));
    for (const auto& each : whole_report.processes)
      field(with, "process " + std::to_string(each.pid),
            (each.rank >= 0 ? "rank " + std::to_string(each.rank) + ": " : "") + each.command +
                (each.exit_status > 0 ? "; exit status " + std::to_string(each.exit_status) : ""),
            with.px(110));
  }

  screen_slot<query::report_query> query_;
  std::shared_ptr<const metrics::report> whole_;  ///< The complete result, from which `shown_` is made.
  std::shared_ptr<const metrics::report> shown_;  ///< The report of `rank_` only; if no rank is chosen, `whole_`.
  bool several_devices_ = false;                  ///< `shown_` contains several devices.
  std::optional<std::int64_t> rank_;
  screen_slot<query::stacks_query> stacks_;
  split held_by_;  ///< None: the attribution of `choose_grouping` applies.
  view_tables tables_;
};

}  // namespace

std::unique_ptr<view> make_summary_view() { return std::make_unique<summary_view>(); }

}  // namespace sluice::gui
