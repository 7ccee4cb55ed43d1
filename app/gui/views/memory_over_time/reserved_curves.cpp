#include "app/gui/views/memory_over_time/reserved_curves.hpp"

#include <algorithm>

#include "app/gui/views/parts/widgets.hpp"
#include "core/base/format.hpp"

namespace sluice::gui {

template <class Visit>
void reserved_curves::for_each(trace::device_id device, Visit&& visit) const {
  if (replay_->shown() == nullptr) return;
  for (const query::replayed_allocator& allocator : replay_->shown()->allocators) {
    if (allocator.device != device) continue;
    for (std::size_t i = 0; i < allocator.policies.size(); ++i)
      if (chosen_.contains(allocator.policies[i].policy)) visit(allocator, allocator.policies[i], i);
  }
}

void reserved_curves::reset() {
  replay_->reset();
  chosen_.clear();
}

void reserved_curves::toggle(const std::string& policy) {
  if (chosen_.erase(policy) == 0) chosen_.insert(policy);
}

void reserved_curves::draw_choice(const view_context& with, trace::device_id device, float width) {
  if (with.state.active()->live) return;
  if (any()) replay_->ask(with);
  ImGui::SetNextItemWidth(width);
  const std::string words = any() ? "reserved with: " + format_count(chosen_.size()) : std::string("reserved with...");
  if (ImGui::BeginCombo("##what_if", words.c_str(), ImGuiComboFlags_HeightLarge)) {
    replay_->ask(with);
    draw_policies(with, device);
    ImGui::EndCombo();
  } else if (ImGui::IsItemHovered(ImGuiHoveredFlags_DelayNormal)) {
    ImGui::SetTooltip(
        "Memory that PyTorch's allocator would have reserved under other settings,\nas lines over the chart.");
  }
  progress_line(with, !replay_->replaying() || !any(), replay_->progress());
}

void reserved_curves::draw_policies(const view_context& with, trace::device_id device) {
  if (const auto& failure = replay_->failure())
    return ImGui::TextDisabled("The requests could not be read: %s", failure->message.c_str());
  if (replay_->stopped()) {
    ImGui::TextDisabled("The replay was stopped.");
    command_button(with, "what_if.replay", "Replay");
    return;
  }
  const auto& shown = replay_->shown();
  if (shown != nullptr && shown->too_many)
    return ImGui::TextDisabled(
        "Too many blocks to replay in the window. `sluice whatif` replays recordings of any size.");
  const query::replayed_allocator* allocator = nullptr;
  if (shown != nullptr)
    for (const query::replayed_allocator& each : shown->allocators)
      if (each.device == device && (allocator == nullptr || each.policies.size() > allocator->policies.size()))
        allocator = &each;
  if (allocator == nullptr)
    return ImGui::TextDisabled("%s", replay_->replaying() ? "Replaying..." : "No PyTorch allocations on this device.");
  if (ImGui::Selectable("none", !any(), ImGuiSelectableFlags_NoAutoClosePopups)) chosen_.clear();
  for (std::size_t i = 0; i < allocator->policies.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    bool on = chosen_.contains(allocator->policies[i].policy);
    if (check_box(with, "##on", &on)) with.commands.invoke("memory_over_time.what_if", allocator->policies[i].policy);
    ImGui::SameLine();
    swatch(with, policy_colour(i, with.colours));
    const replay::replay_metrics& metrics = allocator->policies[i].metrics;
    const std::string peak =
        metrics.failures > 0 ? std::string("out of memory") : "peak " + format_bytes(metrics.peak_reserved);
    ImGui::TextUnformatted(setting_name(allocator->policies[i].policy).c_str());
    ImGui::SameLine(0, with.px(12));
    ImGui::TextDisabled("%s", peak.c_str());
    ImGui::PopID();
  }
  if (replay_->replaying()) ImGui::TextDisabled("Replaying...");
}

double reserved_curves::highest(trace::device_id device, time_range range) const {
  double most = 0;
  for_each(device, [&](const auto& /*allocator*/, const query::replayed_policy& policy, std::size_t) {
    const query::what_if_curves& curves = *replay_->shown();
    const auto first = replayed_part_at(curves, std::max(range.begin, curves.span.begin));
    const auto last = replayed_part_at(curves, std::min(range.end, curves.span.end) - 1);
    if (!first || !last) return;
    for (std::size_t part = *first; part <= *last && part < policy.reserved.size(); ++part)
      most = std::max(most, static_cast<double>(policy.reserved[part]));
  });
  return most;
}

void reserved_curves::add_to(chart_model& model, trace::device_id device, const theme& colours) const {
  for_each(device, [&](const auto& /*allocator*/, const query::replayed_policy& policy, std::size_t i) {
    chart_series& curve = model.series.emplace_back(
        make_reserved_curve(*replay_->shown(), policy, model.x.origin, policy_colour(i, colours)));
    curve.thickness = 2;
    curve.outlined = true;  // Bands may have the same colours.
  });
}

void reserved_curves::tell(const view_context& with, trace::device_id device, time_ns time) const {
  if (!any() || replay_->shown() == nullptr) return;
  const auto part = replayed_part_at(*replay_->shown(), time);
  if (!part) return;
  bool first = true;
  for_each(device,
           [&](const query::replayed_allocator& allocator, const query::replayed_policy& policy, std::size_t i) {
             if (*part >= policy.reserved.size()) return;
             if (first) ImGui::TextDisabled("Reserved with");
             first = false;
             swatch(with, policy_colour(i, with.colours));
             ImGui::TextUnformatted(format_bytes(policy.reserved[*part]).c_str());
             ImGui::SameLine(0, with.px(8));
             const bool several = replay_->shown()->allocators.size() > 1;
             const std::string name = setting_name(policy.policy);
             ImGui::TextUnformatted((several ? name + ", " + allocator.label : name).c_str());
           });
}

}  // namespace sluice::gui
