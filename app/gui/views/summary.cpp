#include <algorithm>
#include <cmath>

#include "app/gui/views/shown_range.hpp"
#include "app/gui/views/views.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

/// The main results for the whole recording: findings with links, the peak memory use and the blocks that made it up,
/// and blocks never freed. The same figures as in the report.
class summary_view final : public view {
 public:
  [[nodiscard]] const char* name() const override { return "Summary"; }
  [[nodiscard]] panel_place place() const override { return panel_place::right; }
  void reset() override { question_ = {}; }

  void draw(view_context& with) override {
    const auto answer = question_.ask(*with.state.active()->engine, {});
    progress_line(with, answer.complete, answer.progress);
    if (!answer) return;
    const analysis::report& all = *answer.value;
    field(with, "length", format_time(all.span.length()), with.px(110));
    if (all.whole.active != all.span) field(with, "active time", format_time(all.whole.active.length()), with.px(110));
    field(with, "events", format_count(all.events), with.px(110));
    field(with, "blocks", format_count(all.blocks), with.px(110));
    field(with, "file", format_bytes(static_cast<double>(all.file_bytes)), with.px(110));
    for (const auto& each : all.processes)
      field(with, "process " + std::to_string(each.pid),
            (each.rank >= 0 ? "rank " + std::to_string(each.rank) + ": " : "") + each.command +
                (each.exit_status > 0 ? "; exit status " + std::to_string(each.exit_status) : ""),
            with.px(110));
    for (const auto& each : all.processes) {
      if (each.mode == trace::recording_mode::memory) {
        ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
        ImGui::TextWrapped("Recorded in memory mode: no kernel times; record with %s to have them.",
                           format::apart("--mode timeline").c_str());
        ImGui::PopStyleColor();
        break;
      }
    }
    draw_findings(with, all);
    draw_peaks(with, all);
    draw_compositions(with, all);
    draw_steps(with, all);
    draw_unfreed(with, all);
  }

 private:
  static void draw_findings(const view_context& with, const analysis::report& all) {
    heading(with, "Findings");
    if (all.findings.empty()) ImGui::TextDisabled("Nothing stands out.");
    int number = 0;
    for (const analysis::finding& each : all.findings) {
      ImGui::PushID(number++);
      const ImU32 colour = each.severity == trace::severity::error     ? with.colours.failure
                           : each.severity == trace::severity::warning ? with.colours.warning
                                                                       : with.colours.accent;
      ImGui::TextColored(ImGui::ColorConvertU32ToFloat4(colour), "%s",
                         each.severity == trace::severity::info ? icon::info : icon::warning);
      ImGui::SameLine(0, with.px(8));
      ImGui::BeginGroup();
      ImGui::PushTextWrapPos(0);
      ImGui::TextUnformatted(each.text.c_str());
      const std::string saves = analysis::saving_in_words(each.saves);
      for (const std::string* said : {&each.advice, &saves}) {
        if (said->empty()) continue;
        ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
        ImGui::TextUnformatted(said->c_str());
        ImGui::PopStyleColor();
      }
      ImGui::PopTextWrapPos();
      if (each.range.length() > 0 && link(with, "Show where")) {
        with.commands.invoke("selection.range", each.range);
        with.commands.invoke("timeline.go_to", shown_range(each.range, all.whole.active, all.steps));
      }
      if (each.kind == analysis::finding_kind::fragmentation) {
        ImGui::SameLine();
        if (link(with, "Show the map")) {
          with.commands.invoke("moment.set", each.range);
          with.commands.invoke("map.open");
        }
      }
      if (each.event != trace::event_id::none || each.block != trace::block_id::none) {
        if (each.range.length() > 0) ImGui::SameLine();
        if (link(with, each.event != trace::event_id::none ? "Select the event" : "Select the block")) {
          const document_id here = with.state.active()->id;
          with.commands.invoke("selection.set", each.event != trace::event_id::none
                                                    ? selection{here, selection_kind::event, trace::raw(each.event)}
                                                    : selection{here, selection_kind::block, trace::raw(each.block)});
          with.commands.invoke("selection.reveal");
        }
      }
      ImGui::EndGroup();
      ImGui::PopID();
    }
  }

  static void draw_peaks(const view_context& with, const analysis::report& all) {
    if (all.peaks.empty()) return;
    heading(with, "Highest memory use");
    int number = 0;
    for (const analysis::memory_peak& each : all.peaks) {
      ImGui::PushID(number++);
      swatch(with, with.colours.layers[static_cast<std::size_t>(each.layer)]);
      ImGui::Text("%s, %s:  %s", name_of(each.layer).data(), name_of(each.kind).data(),
                  format_bytes(static_cast<double>(each.bytes)).c_str());
      ImGui::SameLine();
      if (link(with, "at " + format_moment(each.time))) {
        with.commands.invoke("timeline.go_to", shown_range({each.time, each.time}, all.whole.active, all.steps));
        with.commands.invoke("moment.set", query::time_range{each.time, each.time});
      }
      ImGui::Indent(with.px(15));
      for (const analysis::holder& holder : each.holders) {
        const std::string_view name = with.text(holder.name);
        field(with, format_bytes(static_cast<double>(holder.bytes)),
              std::string(name.empty() ? "no name" : name) + ", " + format_count(holder.blocks) +
                  (holder.blocks == 1 ? " block" : " blocks"),
              with.px(90));
      }
      if (each.other_bytes > 0) field(with, format_bytes(static_cast<double>(each.other_bytes)), "others", with.px(90));
      ImGui::Unindent(with.px(15));
      ImGui::PopID();
    }
  }

  static void draw_compositions(const view_context& with, const analysis::report& all) {
    for (const analysis::peak_composition& peak : all.compositions) {
      heading(with, "At the peak, by category");
      ImGui::TextDisabled("%s, %s:  %s%s", name_of(peak.layer).data(), name_of(peak.kind).data(),
                          format_bytes(peak.bytes).c_str(), peak.inferred() ? ", inferred" : "");
      // First a bar of all parts, then a line for each.
      const ImVec2 at = ImGui::GetCursorScreenPos();
      const float width = std::min(ImGui::GetContentRegionAvail().x, with.px(420));
      const float height = with.px(12);
      double before = 0;
      for (const analysis::category_share& share : peak.shares) {
        const auto x_of = [&](double bytes) {
          return std::floor(
              at.x + width * static_cast<float>(bytes / static_cast<double>(std::max<std::uint64_t>(peak.bytes, 1))));
        };
        const double after = before + static_cast<double>(share.bytes);
        ImGui::GetWindowDrawList()->AddRectFilled({x_of(before), at.y}, {x_of(after), at.y + height},
                                                  with.colours.categories[static_cast<std::size_t>(share.what)]);
        before = after;
      }
      ImGui::Dummy({width, height + with.px(2)});
      for (const analysis::category_share& share : peak.shares) {
        swatch(with, with.colours.categories[static_cast<std::size_t>(share.what)]);
        field(with, analysis::category_name(share.what),
              format_bytes(share.bytes) + ", " +
                  format_share(static_cast<double>(share.bytes) /
                               static_cast<double>(std::max<std::uint64_t>(peak.bytes, 1))) +
                  ", " + format_some(share.blocks, "block"),
              with.px(110));
      }
    }
  }

  static void draw_steps(const view_context& with, const analysis::report& all) {
    int number = 0;
    for (const analysis::step_summary& of : all.steps) {
      if (of.steps.empty()) continue;
      heading(with, of.source == analysis::step_source::pattern ? "Steps (inferred)" : "Steps");
      ImGui::PushID(number++);
      field(with, "steps", format_count(of.count) + ", " + format_time(of.median_duration) + " each (median)",
            with.px(110));
      const analysis::step_figures& highest = of.steps[of.highest];
      field(with, "highest peak", format_bytes(highest.peak) + " in step " + std::to_string(highest.number),
            with.px(110));
      if (of.keeps_growing) field(with, "grows by", format_bytes(of.growth) + " a step", with.px(110));
      if (link(with, "Show the highest")) {
        with.commands.invoke("selection.range", highest.span);
        const query::time_ns air = highest.span.length() / 10 + 1;
        with.commands.invoke("timeline.go_to", query::time_range{highest.span.begin - air, highest.span.end + air});
      }
      ImGui::PopID();
    }
  }

  static void draw_unfreed(const view_context& with, const analysis::report& all) {
    if (all.unfreed.empty()) return;
    heading(with, "Never freed");
    int number = 0;
    for (const analysis::unfreed_group& each : all.unfreed) {
      ImGui::Text("%s, %s:  %s in %s %s%s", name_of(each.layer).data(), name_of(each.kind).data(),
                  format_bytes(static_cast<double>(each.bytes)).c_str(), format_count(each.count).c_str(),
                  each.count == 1 ? "block" : "blocks", each.process_ended ? "" : " (still running)");
      ImGui::Indent(with.px(15));
      for (const analysis::unfreed_block& block : each.largest) {
        ImGui::PushID(number++);
        const std::string_view name = with.text(block.name);
        ImGui::TextDisabled("%s", format_bytes(static_cast<double>(block.bytes)).c_str());
        ImGui::SameLine(with.px(115));
        if (link(with, format_address(block.address) + "  " + std::string(name))) {
          with.commands.invoke("selection.set",
                               selection{with.state.active()->id, selection_kind::block, trace::raw(block.block)});
          with.commands.invoke("selection.reveal");
        }
        ImGui::PopID();
      }
      ImGui::Unindent(with.px(15));
    }
  }

  screen_slot<query::report_question> question_;
};

}  // namespace

std::unique_ptr<view> make_summary_view() { return std::make_unique<summary_view>(); }

}  // namespace sluice::gui
