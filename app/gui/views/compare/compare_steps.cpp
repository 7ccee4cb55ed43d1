// Steps as sides of a comparison.
#include <algorithm>

#include "app/gui/views/compare/compare.hpp"

namespace sluice::gui {

const std::vector<index::step>* compare_view::steps_of(const document& of) {
  const auto result = steps_query_.ask(*of.engine, {of.span, std::nullopt});
  return result.complete ? &result->steps : nullptr;
}

/// Once the steps are known, compares the second step with the last. The second, because the first step often differs
/// from all others.
void compare_view::follow_steps(const view_context& with) {
  const document* of = with.state.active();
  if (of == nullptr || !of->ready() || of->id != steps_wanted_) {
    steps_wanted_ = document_id::none;
    return;
  }
  const std::vector<index::step>* steps = steps_of(*of);
  if (steps == nullptr) return;
  steps_wanted_ = document_id::none;
  if (steps->size() < 2) return;
  const auto choice_of = [&](const index::step& step) {
    return side_choice{side_choice::what::step, of->id, {}, step.span, step.number};
  };
  before_ = choice_of((*steps)[steps->size() > 2 ? 1 : 0]);
  after_ = choice_of(steps->back());
}

/// Draws the choice of a step of the active document, by its number or at the chosen moment.
void compare_view::draw_step_choice(const view_context& with, const document& of, side_choice& choice) {
  const std::vector<index::step>* steps = steps_of(of);
  if (steps == nullptr || steps->empty()) return;
  const auto take = [&](const index::step& step) {
    choice = {side_choice::what::step, of.id, {}, step.span, step.number};
  };
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("    step");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(with.px(90));
  if (ImGui::IsWindowAppearing()) typed_step_ = choice.kind == side_choice::what::step ? choice.number : 0;
  if (ImGui::InputScalar("##step", ImGuiDataType_S64, &typed_step_)) {
    const auto found =
        std::find_if(steps->begin(), steps->end(), [&](const index::step& each) { return each.number == typed_step_; });
    if (found != steps->end()) take(*found);
  }
  ImGui::SameLine();
  ImGui::TextDisabled("%s",
                      (std::to_string(steps->front().number) + " to " + std::to_string(steps->back().number)).c_str());
  const auto& moment = with.state.moment();
  if (!moment) return;
  const auto at =
      std::find_if(steps->begin(), steps->end(), [&](const index::step& each) { return each.span.holds(*moment); });
  if (at == steps->end()) return;
  const std::string label = "    step " + std::to_string(at->number) + ", at the chosen moment";
  if (ImGui::Selectable(label.c_str(), choice.kind == side_choice::what::step && choice.range == at->span)) take(*at);
}

}  // namespace sluice::gui
