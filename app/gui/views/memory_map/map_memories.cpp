#include "app/gui/views/memory_map/map_memories.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/process_choice.hpp"
#include "app/gui/views/parts/widgets.hpp"

namespace sluice::gui {
namespace {

/// The most informative layer of a device: the innermost layer with at least a quarter of the largest peak.
const metrics::memory_peak* peak_to_show(const metrics::report& report, trace::device_id device) {
  std::uint64_t most = 0;
  const auto counts = [&](const metrics::memory_peak& each) {
    return each.device == device && each.kind != trace::memory_kind::reservation;
  };
  for (const metrics::memory_peak& each : report.peaks)
    if (counts(each)) most = std::max(most, each.bytes);
  const metrics::memory_peak* best = nullptr;
  for (const metrics::memory_peak& each : report.peaks) {
    if (!counts(each) || each.bytes < most / 4) continue;
    if (best == nullptr || std::pair(each.layer, each.bytes) > std::pair(best->layer, best->bytes)) best = &each;
  }
  return best;
}

}  // namespace

void map_memories::update(const view_context& with) {
  const auto result = query_.ask(*with.state.active()->engine, {});
  if (!result || result.value == report_) return;
  report_ = result.value;
  memories_.clear();
  const auto snapshot = with.state.active()->engine->snapshot();
  std::set<trace::device_id> devices;
  for (const metrics::memory_peak& each : report_->peaks) devices.insert(each.device);
  for (const trace::device_id device : devices) {
    const metrics::memory_peak* peak = peak_to_show(*report_, device);
    if (peak == nullptr) continue;
    const bool host = device == trace::device_id::none;
    memories_.push_back({device, peak->bytes, peak->time, host ? "host memory" : device_words(*snapshot, device)});
  }
  std::stable_sort(memories_.begin(), memories_.end(), [](const memory& a, const memory& b) {
    const bool host_a = a.device == trace::device_id::none;
    const bool host_b = b.device == trace::device_id::none;
    return host_a != host_b ? host_b : a.peak > b.peak;
  });
}

void map_memories::reset() {
  query_ = {};
  memories_.clear();
  report_ = nullptr;
  device_.reset();
}

const map_memories::memory* map_memories::chosen() const {
  for (const memory& each : memories_)
    if (device_ && each.device == *device_) return &each;
  return memories_.empty() ? nullptr : &memories_.front();
}

std::optional<trace::device_id> map_memories::device() const {
  return chosen() != nullptr ? std::optional(chosen()->device) : std::nullopt;
}

void map_memories::draw_combo(const view_context& with) {
  if (memories_.size() < 2) return;
  place_control(with.px(180));
  ImGui::SetNextItemWidth(with.px(180));
  if (ImGui::BeginCombo("##device", make_label(chosen()->label).c_str())) {
    for (const memory& each : memories_) {
      ImGui::PushID(static_cast<int>(trace::raw(each.device)));
      if (ImGui::Selectable(make_label(each.label).c_str(), each.device == chosen()->device)) device_ = each.device;
      ImGui::PopID();
    }
    ImGui::EndCombo();
  }
}

}  // namespace sluice::gui
