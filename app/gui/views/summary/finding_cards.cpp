#include "app/gui/views/summary/finding_cards.hpp"

#include <algorithm>

#include "app/gui/shell/shown_range.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/metrics/findings/finding_rules.hpp"
#include "core/metrics/verdict/finding_title.hpp"

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

ImU32 choose_colour(const view_context& with, trace::severity severity) {
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

void show_where(const view_context& with, const metrics::report& whole_report, const metrics::finding& finding) {
  with.commands.invoke("selection.mark", finding.range);
  with.commands.invoke("timeline.go_to", shown_range(finding.range, whole_report.whole.active, whole_report.steps));
}

/// Adds a link that copies `text`, and says so for a while.
void add_copy_link(link_line& links, const char* label, const std::string& text) {
  constexpr double shown_for = 2;  // seconds
  float& copied = *ImGui::GetStateStorage()->GetFloatRef(ImGui::GetID(label), -1000);
  if (!links.add(ImGui::GetTime() < copied + shown_for ? "Copied" : label)) return;
  ImGui::SetClipboardText(text.c_str());
  copied = static_cast<float>(ImGui::GetTime());
}

void draw_why(const view_context& with, const metrics::finding& finding) {
  if (!ImGui::BeginPopup("why")) return;
  const metrics::finding_rule* rule = metrics::rule_named(metrics::get_word(finding.kind));
  ImGui::PushTextWrapPos(with.px(420));
  heading(with, metrics::get_title(finding));
  ImGui::TextUnformatted(format::in_window(rule->means).c_str());
  heading(with, "How it is detected");
  ImGui::TextUnformatted(format::in_window(rule->found_by).c_str());
  if (!rule->cannot_see.empty()) {
    heading(with, "Limitations");
    ImGui::TextUnformatted(format::in_window(rule->cannot_see).c_str());
  }
  heading(with, "As a command");
  for (const std::string& each : metrics::list_commands(finding, with.state.active()->path)) {
    ImGui::PushID(each.c_str());
    ImGui::TextUnformatted(each.c_str());
    link_line links(with);
    add_copy_link(links, "Copy command", each);
    ImGui::PopID();
  }
  ImGui::PopTextWrapPos();
  ImGui::EndPopup();
}

void draw_links(const view_context& with, const metrics::report& whole_report, const metrics::finding& finding) {
  const document_id here = with.state.active()->id;
  link_line links(with);
  if (finding.kind == finding_kind::failed_allocations && !whole_report.out_of_memory.empty() &&
      links.add("Changes with which the allocation would have fit")) {
    with.commands.invoke("failure.show");
  }
  if (finding.range.length() > 0 && links.add("Show on timeline")) show_where(with, whole_report, finding);
  if (is_of_blocks(finding.kind) && finding.where.known && links.add("List blocks")) {
    blocks_filter filter;
    filter.text = symbols::format_place_and_name(finding.where.line);
    const metrics::memory_peak* peak = main_peak(whole_report);
    if (peak != nullptr) filter.layer = peak->layer;
    if (peak != nullptr && finding.saves.peak_bytes > 0) filter.range = time_range{peak->time, peak->time + 1};
    if (finding.kind == finding_kind::unfreed_blocks) filter.only_unfreed = true;
    if (finding.kind == finding_kind::never_used) filter.only_unused = true;
    with.commands.invoke("blocks.show", filter);
  }
  if (finding.block != trace::block_id::none && links.add("Show block")) {
    with.commands.invoke("selection.set", selection{here, selection_kind::block, trace::raw(finding.block)});
    with.commands.invoke("selection.reveal");
  }
  if (finding.event != trace::event_id::none && finding.kind != finding_kind::failed_allocations &&
      links.add(is_of_copies(finding.kind) ? "Show a copy" : "Show event")) {
    with.commands.invoke("selection.set", selection{here, selection_kind::event, trace::raw(finding.event)});
    with.commands.invoke("selection.reveal");
  }
  if (is_of_copies(finding.kind) && links.add("All copies")) with.commands.invoke("panel.focus.Transfers");
  if (finding.kind == finding_kind::rank_imbalance && links.add("All ranks")) with.commands.invoke("panel.focus.Ranks");
  if (finding.kind == finding_kind::fp32_products && links.add("All kernels"))
    with.commands.invoke("panel.focus.Statistics");
  if (finding.kind == finding_kind::idle_gaps && links.add("All idle gaps"))
    with.commands.invoke("panel.focus.Idle gaps");
  if (finding.kind == finding_kind::fragmentation && links.add("Show memory map")) {
    with.commands.invoke("moment.set", finding.range);
    with.commands.invoke("map.open");
  }
  if ((finding.kind == finding_kind::fragmentation || finding.kind == finding_kind::cached_unused) &&
      links.add("Try other settings"))
    with.commands.invoke("panel.focus.What if");
  if (!finding.fix_code.empty()) add_copy_link(links, "Copy fix", finding.fix_code);
  if (links.add("Why?")) ImGui::OpenPopup("why");
  draw_why(with, finding);
}

/// Draws the fix as code, in a box.
void draw_fix(const view_context& with, const std::string& code) {
  const ImVec2 padding(with.px(8), with.px(5));
  const float width = ImGui::GetContentRegionAvail().x;
  const float wrap = width - 2 * padding.x;
  const ImVec2 size = ImGui::CalcTextSize(code.data(), code.data() + code.size(), false, wrap);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 end{at.x + width, at.y + size.y + 2 * padding.y};
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(at, end, with.colours.background, with.px(3));
  list.AddRect(at, end, with.colours.line, with.px(3));
  ImGui::SetCursorScreenPos({at.x + padding.x, at.y + padding.y});
  ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + wrap);
  ImGui::TextUnformatted(code.data(), code.data() + code.size());
  ImGui::PopTextWrapPos();
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({width, end.y - at.y});
}

/// Draws what the finding saves, as a bar and in words.
void draw_saving(const view_context& with, const metrics::finding& finding) {
  const std::string saves = metrics::describe_saving(finding.saves);
  if (saves.empty()) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  const float height = with.px(4);
  const ImU32 colour = choose_colour(with, finding.severity);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(at, {at.x + width, at.y + height}, with.colours.grid, height / 2);
  list.AddRectFilled(at, {at.x + width * static_cast<float>(std::min(1.0, finding.saves.share)), at.y + height}, colour,
                     height / 2);
  ImGui::Dummy({width, height});
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::TextUnformatted(("Saves " + saves).c_str());
  ImGui::PopStyleColor();
  if (finding.saves.time > 0) glossary_tip(with, "active time");
}

void draw_card(const view_context& with, const metrics::report& whole_report, const metrics::finding& finding) {
  ImGui::PushStyleColor(ImGuiCol_ChildBg, with.colours.header);
  ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, with.px(4));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(with.px(10), with.px(8)));
  // A card below the visible part is measured, too. Otherwise the length of the panel would depend on which cards were
  // visible while the findings arrived.
  ImGui::BeginChild(
      "card", {0, 0},
      ImGuiChildFlags_AutoResizeY | ImGuiChildFlags_AlwaysAutoResize | ImGuiChildFlags_AlwaysUseWindowPadding,
      ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  const ImVec2 corner = ImGui::GetWindowPos();
  const ImU32 colour = choose_colour(with, finding.severity);
  ImGui::GetWindowDrawList()->AddRectFilled(corner, {corner.x + with.px(3), corner.y + ImGui::GetWindowHeight()},
                                            colour, with.px(2));
  ImGui::PushTextWrapPos(0);
  ImGui::PushFont(with.fonts.bold, 0);
  ImGui::TextUnformatted(metrics::get_title(finding).c_str());
  ImGui::PopFont();
  draw_saving(with, finding);
  if (const std::string place = metrics::describe_place(finding.where); !place.empty())
    ImGui::TextUnformatted(place.c_str());
  ImGui::TextUnformatted(format::in_window(finding.text).c_str());
  if (!finding.advice.empty()) {
    ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
    ImGui::TextUnformatted(format::in_window(finding.advice).c_str());
    ImGui::PopStyleColor();
  }
  if (const std::string overlaps = metrics::describe_overlaps(finding, whole_report); !overlaps.empty())
    ImGui::TextUnformatted(format::in_window(overlaps).c_str());
  ImGui::PopTextWrapPos();
  if (!finding.fix_code.empty()) draw_fix(with, finding.fix_code);
  draw_links(with, whole_report, finding);
  ImGui::EndChild();
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
}

}  // namespace

void draw_finding_cards(const view_context& with, const metrics::report& whole_report) {
  const auto is_open = [](const metrics::finding& each) { return each.major; };
  const auto open =
      static_cast<std::size_t>(std::count_if(whole_report.findings.begin(), whole_report.findings.end(), is_open));
  const std::size_t drawn = std::min(open, max_open_cards);
  if (open > 0) heading(with, "Findings");
  std::size_t number = 0;
  const auto card = [&](const metrics::finding& each) {
    ImGui::PushID(static_cast<int>(number++));
    draw_card(with, whole_report, each);
    ImGui::PopID();
  };
  for (const metrics::finding& each : whole_report.findings)
    if (is_open(each) && number < drawn) card(each);
  if (drawn == whole_report.findings.size()) return;
  const std::string rest = "Smaller findings (" + std::to_string(whole_report.findings.size() - drawn) + ")";
  if (!section(with, rest, false)) return;
  std::size_t opened = 0;
  for (const metrics::finding& each : whole_report.findings)
    if (!is_open(each) || ++opened > drawn) card(each);
}

}  // namespace sluice::gui
