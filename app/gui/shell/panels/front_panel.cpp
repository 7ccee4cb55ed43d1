#include "app/gui/shell/panels/front_panel.hpp"

#include <algorithm>

#include "core/index/labels.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

const ImGuiDockNode* find_node(const char* panel) {
  const ImGuiWindow* window = ImGui::FindWindowByName(panel);
  return window == nullptr ? nullptr : window->DockNode;
}

}  // namespace

recording_facts find_facts(const metrics::report& of) {
  recording_facts facts;
  facts.kernels =
      std::any_of(of.whole.devices.begin(), of.whole.devices.end(), [](const auto& each) { return each.kernels > 0; });
  facts.memory = std::any_of(of.peaks.begin(), of.peaks.end(), [](const metrics::memory_peak& each) {
    return each.blocks > 0 && index::is_device_resident(each.kind);
  });
  facts.out_of_memory = !of.out_of_memory.empty();
  facts.ranks = of.waste.ranks.size() > 1;
  return facts;
}

constexpr std::string_view usual_panel = "Blocks";

std::string_view choose_front_panel(const recording_facts& of) {
  if (of.out_of_memory) return "Memory map";
  if (of.ranks) return "Ranks";
  if (of.kernels && !of.memory) return "Idle gaps";
  if (of.memory && !of.kernels) return "Memory over time";
  return usual_panel;
}

void front_panel::follow(const documents& state, bool settling) {
  if (tries_ > 0 && chosen_ != nullptr) {
    --tries_;
    // In a narrow window all panels are at one place, and the summary stays in front.
    const ImGuiDockNode* node = find_node(chosen_->name());
    if (node != nullptr && node != find_node("Summary")) chosen_->bring_forward();
  }
  const document* shown = state.active();
  if (shown == nullptr || !shown->ready()) return;
  if (document_ != shown->id) {
    document_ = shown->id;
    raised_ = focus_.raised();
    query_ = {};
  }
  if (shown->live || settling || shown_.contains(shown->id)) return;
  const auto result = query_.ask(*shown->engine, {});
  if (!result || !result.complete) return;
  shown_.insert(shown->id);
  if (raised_ != focus_.raised()) return;
  const std::string_view wanted = choose_front_panel(find_facts(*result.value));
  if (wanted == usual_panel) return;  // What the user left in front stays there.
  for (const auto& each : panels_.views())
    if (each->name() == wanted) chosen_ = each.get();
  if (chosen_ == nullptr) return;
  chosen_->visible = true;
  tries_ = 3;  // A panel that was hidden has no tab until it has been drawn.
}

}  // namespace sluice::gui
