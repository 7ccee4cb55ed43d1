#include "app/gui/views/compare/comparison_findings.hpp"

#include <string>

#include "app/gui/shell/shown_range.hpp"
#include "app/gui/views/parts/widgets.hpp"
#include "app/gui/window/format.hpp"
#include "core/base/format.hpp"
#include "core/metrics/verdict/finding_title.hpp"

namespace sluice::gui {
namespace {

/// A finding, and how it changed.
struct changed_finding {
  const char* sign;
  const char* word;
  ImU32 colour;
  const metrics::finding& finding;
  const finding_side& side;
  std::string saving;
};

std::string describe_saved(const metrics::finding& subject) {
  std::string text = metrics::describe_saving(subject.saves);
  if (text.empty()) return text;
  return text.starts_with("up to ") ? text.substr(6) : text;
}

void wrap_muted(const view_context& with, const std::string& text) {
  ImGui::PushStyleColor(ImGuiCol_Text, with.colours.muted);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopStyleColor();
}

void go_to_finding(const view_context& with, const changed_finding& of) {
  with.commands.invoke("compare.go", selection{of.side.document, selection_kind::none, 0});
  if (of.finding.range.length() <= 0) return;
  with.commands.invoke("selection.mark", of.finding.range);
  with.commands.invoke("timeline.go_to",
                       shown_range(of.finding.range, of.side.report.whole.active, of.side.report.steps));
}

void draw_card(const view_context& with, const changed_finding& of, int number) {
  ImGui::PushID(number);
  ImGui::PushStyleColor(ImGuiCol_ChildBg, with.colours.header);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {with.px(10), with.px(8)});
  ImGui::PushStyleVar(ImGuiStyleVar_ChildRounding, with.px(5));
  if (ImGui::BeginChild("card", {0, 0}, ImGuiChildFlags_AutoResizeY | ImGuiChildFlags_AlwaysUseWindowPadding)) {
    ImGui::PushStyleColor(ImGuiCol_Text, of.colour);
    ImGui::Text("%s %s", of.sign, of.word);
    ImGui::PopStyleColor();
    ImGui::SameLine(0, with.px(8));
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(metrics::get_title(of.finding).c_str());
    ImGui::PopTextWrapPos();
    if (!of.saving.empty()) wrap_muted(with, of.saving);
    if (const std::string place = metrics::describe_place(of.finding.where); !place.empty())
      clipped_text(place, ImGui::GetContentRegionAvail().x);
    if (of.finding.range.length() > 0 && link(with, "Show on timeline")) go_to_finding(with, of);
  }
  ImGui::EndChild();
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
  ImGui::PopID();
}

}  // namespace

void draw_changed_findings(const view_context& with, const finding_side& before, const finding_side& after,
                           const metrics::run_change& change) {
  heading(with, "Findings");
  if (change.gone.empty() && change.fresh.empty() && change.kept.empty())
    wrap_muted(with, "Neither recording has a finding.");
  int number = 0;
  const auto add = [&](const changed_finding& each) { draw_card(with, each, number++); };
  for (const std::size_t each : change.gone) {
    const metrics::finding& old = before.report.findings[each];
    const std::string saving = describe_saved(old);
    add({"-", "gone", with.colours.good, old, before, saving.empty() ? saving : "was " + saving});
  }
  for (const std::size_t each : change.fresh) {
    const metrics::finding& fresh = after.report.findings[each];
    add({"+", "new", with.colours.failure, fresh, after, describe_saved(fresh)});
  }
  for (const auto& [first, second] : change.kept) {
    const metrics::finding& old = before.report.findings[first];
    const metrics::finding& now = after.report.findings[second];
    const std::string was = describe_saved(old), is = describe_saved(now);
    add({"=", "in both", with.colours.muted, now, after,
         was == is || was.empty() || is.empty() ? is : was + " before, " + is + " after"});
  }
}

void draw_settings(const view_context& with, const std::vector<metrics::setting_change>& settings) {
  heading(with, "What else differs");
  ImGui::PushTextWrapPos(0);
  for (const metrics::setting_change& each : settings) {
    ImGui::PushStyleColor(ImGuiCol_Text, each.differs ? with.colours.text : with.colours.muted);
    ImGui::TextUnformatted(format::apart(describe(each)).c_str());
    ImGui::PopStyleColor();
  }
  ImGui::PopTextWrapPos();
}

}  // namespace sluice::gui
