#include "app/gui/shell/table_choice.hpp"

#include <algorithm>
#include <utility>

#include "imgui_internal.h"

namespace sluice::gui {
namespace {

/// How recently the window was used, as a rank; -1 if the window is not on the screen.
int get_recency(const ImGuiWindow* window) {
  return window == nullptr || !window->WasActive || window->Hidden ? -1 : window->FocusOrder;
}

/// The docked panel that had the focus most recently.
unsigned last_panel() {
  const ImGuiWindow* last = nullptr;
  for (const ImGuiWindow* each : ImGui::GetCurrentContext()->Windows)
    if (each->DockIsActive && each->DockTabIsVisible && (last == nullptr || get_recency(each) > get_recency(last)))
      last = each;
  return last == nullptr ? 0 : last->ID;
}

}  // namespace

void table_choice::begin_frame() {
  std::swap(on_screen_, drawing_);
  drawing_.clear();
}

unsigned table_choice::in(unsigned panel) const {
  unsigned first = 0;
  for (const drawn& each : on_screen_) {
    if (each.panel != panel) continue;
    if (each.table == chosen_) return chosen_;
    if (first == 0) first = each.table;
  }
  return first;
}

unsigned table_choice::of_chosen_row() const {
  const unsigned here = in(last_panel());
  return here == chosen_ ? here : 0;
}

unsigned table_choice::nearest() const {
  if (const unsigned here = in(last_panel()); here != 0) return here;
  if (std::any_of(on_screen_.begin(), on_screen_.end(), [this](const drawn& each) { return each.table == chosen_; }))
    return chosen_;
  const auto recent = [](const drawn& each) { return get_recency(ImGui::FindWindowByID(each.panel)); };
  const auto last = std::max_element(on_screen_.begin(), on_screen_.end(),
                                     [&](const drawn& a, const drawn& b) { return recent(a) < recent(b); });
  return last == on_screen_.end() ? 0 : last->table;
}

}  // namespace sluice::gui
