#include "app/gui/views/parts/panel_parts.hpp"

#include "app/gui/shell/shown_range.hpp"
#include "app/gui/views/parts/item_menu.hpp"
#include "app/gui/views/parts/widgets.hpp"

namespace sluice::gui {

bool is_empty(const metrics::range_statistics& statistics) {
  return statistics.memory.empty() && statistics.transfers.empty() && statistics.devices.empty() &&
         statistics.calls.empty() && statistics.threads.empty() && statistics.untracked.empty();
}

void no_memory_recorded(const view_context& with) {
  empty_state(with, icon::chart, "No memory was recorded", "The recording has no allocations.");
}

void remark(const view_context& with, std::string_view text) {
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(format::apart(text).c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopStyleColor();
}

automatic_grouping choose_grouping(const view_context& with, const query::query_result<metrics::report>& report) {
  const document& subject = *with.state.active();
  automatic_grouping grouping{subject.grouping, std::nullopt};
  if (!report) return grouping;
  // The first blocks of a growing recording are not representative.
  constexpr std::uint64_t min_blocks = 16;
  const metrics::memory_peak* peak = main_peak(*report.value);
  const bool enough = peak != nullptr && !peak->lines.empty() && peak->blocks >= min_blocks;
  // Once the recording has ended, group it in the way in which it will be grouped when it is opened again.
  const bool decides = subject.live ? enough && !subject.grouping : report.complete;
  if (decides) subject.grouping = report->grouping;
  grouping.by = subject.grouping.value_or(report->grouping);
  if (*grouping.by != report->grouping) grouping.now = report->grouping;
  return grouping;
}

void attribution_combo(const view_context& with, const char* id, std::optional<symbols::attribution>& chosen,
                       const automatic_grouping& automatic) {
  const auto by = automatic.by.value_or(symbols::attribution::line);
  const std::string words = std::string("Group by: ") + get_title(chosen.value_or(by));
  if (ImGui::BeginCombo(id, words.c_str())) {
    if (ImGui::Selectable("automatic: the most even split of the peak", !chosen)) {
      chosen.reset();
      if (automatic.now) with.state.active()->grouping = *automatic.now;
    }
    for (std::size_t i = 0; i < symbols::attribution_count; ++i) {
      const auto each = static_cast<symbols::attribution>(i);
      if (ImGui::Selectable(get_title(each), chosen == each)) chosen = each;
    }
    ImGui::EndCombo();
  }
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) return;
  const bool outdated = automatic.now && !chosen;
  std::string more;
  if (outdated)
    more = std::string("\nThe recording has grown: \"") + get_title(*automatic.now) +
           "\" now splits the peak more evenly. Choose \"automatic\" again to use this grouping.";
  ImGui::SetTooltip(
      "How memory is attributed: to your code line, the caller of that line's function, the module "
      "(Class.forward), the package, or the library that called the driver.%s",
      more.c_str());
}

namespace {

void select_and_show(const view_context& with, const selection& chosen) {
  if (chosen.kind == selection_kind::none) return;
  with.commands.invoke("selection.set", chosen);
  with.commands.invoke("selection.reveal");
}

}  // namespace

void show_event(const view_context& with, trace::event_id event) {
  select_and_show(with, make_event_selection(with, event));
}

void show_block(const view_context& with, trace::block_id block) { select_and_show(with, select_block(with, block)); }

void go_to_moment(const view_context& with, const metrics::report& whole_report, time_ns time) {
  with.commands.invoke("timeline.go_to", shown_range({time, time}, whole_report.whole.active, whole_report.steps));
  with.commands.invoke("moment.set", time_range{time, time});
}

void show_range(const view_context& with, time_range range) {
  with.commands.invoke("timeline.go_to", shown_around(range, with.state.active()->active));
}

void range_line(const view_context& with, time_range range) {
  ImGui::AlignTextToFramePadding();
  if (!with.state.range()) {
    ImGui::TextDisabled("Whole recording");
    return;
  }
  ImGui::TextDisabled("%s", ("Selected range, " + format_time(range.length())).c_str());
  ImGui::SameLine();
  command_button(with, "timeline.zoom_to_range", "Zoom to range");
  ImGui::SameLine();
  command_button(with, "selection.clear", "Clear");
}

float small_width(const view_context& with, std::string_view text) {
  return with.fonts.regular->CalcTextSizeA(with.px(small_text), FLT_MAX, 0, text.data(), text.data() + text.size()).x;
}

}  // namespace sluice::gui
