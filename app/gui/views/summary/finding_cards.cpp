#include "app/gui/views/summary/finding_cards.hpp"

#include <algorithm>

#include "app/gui/views/panel_parts.hpp"
#include "app/gui/views/shown_range.hpp"
#include "app/gui/views/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/metrics/code_place.hpp"
#include "core/metrics/finding_rules.hpp"

namespace sluice::gui {
namespace {

using metrics::finding_kind;

bool is_of_blocks(finding_kind kind) {
  return (kind >= finding_kind::memory_grows && kind <= finding_kind::gradients_kept) ||
         kind == finding_kind::activations_dominate || kind == finding_kind::optimizer_state_dominates;
}

bool is_of_copies(finding_kind kind) {
  return kind >= finding_kind::pageable_copies && kind <= finding_kind::copies_not_overlapped;
}

/// The title of a card that shows no saving: "Kept after last use" for `held_late`.
std::string title_of(finding_kind kind) {
  if (kind == finding_kind::held_late) return "Kept after last use";
  std::string made(metrics::word_of(kind));
  std::replace(made.begin(), made.end(), '_', ' ');
  return format::capital(std::move(made));
}

ImU32 colour_of(const view_context& with, trace::severity severity) {
  return severity == trace::severity::error     ? with.colours.failure
         : severity == trace::severity::warning ? with.colours.warning
                                                : with.colours.accent;
}

/// Draws links one after another, wrapped to as many lines as they need.
class link_line {
 public:
  explicit link_line(const view_context& with) : with_(with) {}
  bool add(const char* text) {
    if (any_) {
      ImGui::SameLine(0, with_.px(14));
      if (ImGui::GetContentRegionAvail().x < ImGui::CalcTextSize(text).x) ImGui::NewLine();
    }
    any_ = true;
    return link(with_, text);
  }

 private:
  const view_context& with_;
  bool any_ = false;
};

void show_where(const view_context& with, const metrics::report& all, const metrics::finding& of) {
  with.commands.invoke("selection.mark", of.range);
  with.commands.invoke("timeline.go_to", shown_range(of.range, all.whole.active, all.steps));
}

void draw_links(const view_context& with, const metrics::report& all, const metrics::finding& of) {
  const document_id here = with.state.active()->id;
  link_line links(with);
  if (of.kind == finding_kind::failed_allocations && !all.out_of_memory.empty() &&
      links.add("Changes that would have let it fit")) {
    with.commands.invoke("failure.show");
  }
  if (of.range.length() > 0 && links.add("Show on timeline")) show_where(with, all, of);
  if (is_of_blocks(of.kind) && of.where.known && links.add("List blocks")) {
    blocks_filter filter;
    filter.text = symbols::place_and_name_of(of.where.line);
    const metrics::memory_peak* peak = main_peak(all);
    if (peak != nullptr) filter.layer = peak->layer;
    if (peak != nullptr && of.saves.peak_bytes > 0) filter.range = time_range{peak->time, peak->time + 1};
    if (of.kind == finding_kind::unfreed_blocks) filter.only_unfreed = true;
    if (of.kind == finding_kind::never_used) filter.only_unused = true;
    with.commands.invoke("blocks.show", filter);
  }
  if (of.block != trace::block_id::none && links.add("Show block")) {
    with.commands.invoke("selection.set", selection{here, selection_kind::block, trace::raw(of.block)});
    with.commands.invoke("selection.reveal");
  }
  if (of.event != trace::event_id::none && of.kind != finding_kind::failed_allocations &&
      links.add(is_of_copies(of.kind) ? "Show a copy" : "Show event")) {
    with.commands.invoke("selection.set", selection{here, selection_kind::event, trace::raw(of.event)});
    with.commands.invoke("selection.reveal");
  }
  if (is_of_copies(of.kind) && links.add("All copies")) with.commands.invoke("panel.focus.Transfers");
  if (of.kind == finding_kind::rank_imbalance && links.add("All ranks")) with.commands.invoke("panel.focus.Ranks");
  if (of.kind == finding_kind::idle_gaps && links.add("All idle gaps")) with.commands.invoke("panel.focus.Idle gaps");
  if (of.kind == finding_kind::fragmentation && links.add("Show memory map")) {
    with.commands.invoke("moment.set", of.range);
    with.commands.invoke("map.open");
  }
  if ((of.kind == finding_kind::fragmentation || of.kind == finding_kind::cached_unused) &&
      links.add("Try other settings"))
    with.commands.invoke("panel.focus.What if");
  if (links.add("Why?")) ImGui::OpenPopup("why");
  if (!ImGui::BeginPopup("why")) return;
  const metrics::finding_rule* rule = metrics::rule_named(metrics::word_of(of.kind));
  ImGui::PushTextWrapPos(with.px(420));
  heading(with, title_of(of.kind));
  ImGui::TextUnformatted(format::in_window(rule->means).c_str());
  heading(with, "How it is detected");
  ImGui::TextUnformatted(format::in_window(rule->found_by).c_str());
  if (!rule->cannot_see.empty()) {
    heading(with, "Limitations");
    ImGui::TextUnformatted(format::in_window(rule->cannot_see).c_str());
  }
  ImGui::PopTextWrapPos();
  ImGui::EndPopup();
}

void draw_card(const view_context& with, const metrics::report& all, const metrics::finding& of) {
  ImGui::PushStyleColor(ImGuiCol_ChildBg, with.colours.header);
  ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, with.px(4));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(with.px(10), with.px(8)));
  ImGui::BeginChild("card", {0, 0}, ImGuiChildFlags_AutoResizeY | ImGuiChildFlags_AlwaysUseWindowPadding,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  const ImVec2 corner = ImGui::GetWindowPos();
  const ImU32 colour = colour_of(with, of.severity);
  ImGui::GetWindowDrawList()->AddRectFilled(corner, {corner.x + with.px(3), corner.y + ImGui::GetWindowHeight()},
                                            colour, with.px(2));
  ImGui::PushTextWrapPos(0);
  ImGui::PushFont(with.fonts.bold, 0);
  std::string title = metrics::saving_in_words(of.saves);
  if (title.empty()) title = title_of(of.kind);
  if (title.ends_with('.')) title.pop_back();
  ImGui::TextUnformatted(title.c_str());
  ImGui::PopFont();
  if (of.saves.time > 0) glossary_tip(with, "active time");
  ImGui::TextUnformatted(format::in_window(of.text).c_str());
  if (!of.advice.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
    ImGui::TextUnformatted(format::in_window(of.advice).c_str());
    ImGui::PopStyleColor();
  }
  ImGui::PopTextWrapPos();
  draw_links(with, all, of);
  ImGui::EndChild();
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
}

}  // namespace

void draw_finding_cards(const view_context& with, const metrics::report& all) {
  const auto is_open = [](const metrics::finding& each) { return each.severity != trace::severity::info; };
  const auto open = static_cast<std::size_t>(std::count_if(all.findings.begin(), all.findings.end(), is_open));
  const std::size_t drawn = std::min(open, max_open_cards);
  heading(with, open == 0 ? "No major findings" : "Findings");
  if (open == 0)
    ImGui::TextDisabled("%s", all.findings.empty() ? "Nothing stands out." : "Only smaller findings, listed below.");
  std::size_t number = 0;
  const auto card = [&](const metrics::finding& each) {
    ImGui::PushID(static_cast<int>(number++));
    draw_card(with, all, each);
    ImGui::PopID();
  };
  for (const metrics::finding& each : all.findings)
    if (is_open(each) && number < drawn) card(each);
  if (drawn == all.findings.size()) return;
  const std::string rest = "Smaller findings (" + std::to_string(all.findings.size() - drawn) + ")";
  if (!section(with, rest, false)) return;
  std::size_t opened = 0;
  for (const metrics::finding& each : all.findings)
    if (!is_open(each) || ++opened > drawn) card(each);
}

}  // namespace sluice::gui
