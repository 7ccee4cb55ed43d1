#include "core/metrics/comparison/compared_side.hpp"

#include <algorithm>
#include <iterator>

#include "core/index/event_store.hpp"
#include "core/metrics/report/report.hpp"

namespace sluice::metrics {
namespace {

std::optional<peak_composition> get_composition(const index::memory_key& key, double bytes, time_ns time,
                                                const index::event_store& store, const trace::snapshot& trace) {
  memory_peak peak;
  peak.device = key.device;
  peak.layer = key.layer;
  peak.kind = key.kind;
  peak.bytes = static_cast<std::uint64_t>(std::max(bytes, 0.0));
  peak.time = time;
  return composition_at(peak, store, trace);
}

template <class List>
void erase_others(List& subject, trace::device_id device) {
  std::erase_if(subject, [=](const auto& each) { return each.device != device; });
}

}  // namespace

void put_steps(const index::step_facts& facts, time_range range, compared_side& into, trace::process_id id) {
  const std::vector<index::step>* best = nullptr;
  std::pair<std::size_t, std::size_t> most{0, 0};  // The index of the first step, and the number of steps.
  for (const auto& [process, list] : facts.lists()) {
    if (id != trace::process_id::none && process != id) continue;
    const auto at = [&steps = list.steps](time_ns time) {
      return static_cast<std::size_t>(
          std::partition_point(steps.begin(), steps.end(),
                               [=](const index::step& each) { return each.span.begin < time; }) -
          steps.begin());
    };
    const std::size_t first = at(range.begin);
    const std::size_t count = at(range.end) - first;
    if (count <= most.second) continue;
    most = {first, count};
    best = &list.steps;
    into.source = list.source;
  }
  if (best == nullptr) return;
  into.step_count = most.second;
  std::vector<time_ns> lengths;
  const std::size_t stride = (most.second + compared_side::step_limit - 1) / compared_side::step_limit;
  for (std::size_t i = 0; i < most.second; ++i) {
    const index::step& each = (*best)[most.first + i];
    lengths.push_back(each.span.length());
    if (i % stride == 0) into.steps.push_back(each);
  }
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  into.median_step = *middle;
}

void keep_device(compared_side& side, trace::device_id device) {
  side.metrics = metrics_of_device(side.metrics, device);
  erase_others(side.statistics.memory, device);
  erase_others(side.statistics.untracked, device);
  erase_others(side.statistics.transfers, device);
  erase_others(side.statistics.devices, device);
  erase_others(side.compositions, device);
}

compared_side make_side(const index::event_store& store, const trace::snapshot& trace, time_range range,
                        trace::process_id process) {
  compared_side side;
  side.statistics = measure(store, trace.tables(), range);
  side.metrics = metrics_to_compare(store, trace, range);
  for (const memory_statistics& each : side.statistics.memory) {
    const index::memory_key key{each.device, each.layer, each.kind};
    if (auto found = get_composition(key, static_cast<double>(each.maximum), each.maximum_time, store, trace))
      side.compositions.push_back(std::move(*found));
  }
  put_steps(*store.tensors(trace)->steps, range, side, process);
  return side;
}

void compared_side_builder::add(const index::event_store& store, const trace::snapshot& trace, time_range part,
                                const std::atomic<bool>& cancelled) {
  measured_.add(store, part);
  if (steps_ == nullptr) steps_ = store.tensors(trace)->steps;
  for (const auto& [key, tree] : store.memory().use()) {
    if (cancelled) return;
    highest_use& use = memory_[key];
    const block_filter filter{key.layer, key.device, key.kind};
    use.allocated.join(allocating_stacks(store.memory(), filter, part, cancelled));
    const timeline::extent here = tree.over(part.begin, part.end);
    if (here.empty() || here.maximum <= use.bytes) continue;
    use.bytes = here.maximum;
    use.at_peak = live_stacks(store.memory(), filter, here.maximum_time, cancelled);
    use.composition = get_composition(key, here.maximum, here.maximum_time, store, trace);
  }
  for (const auto& [key, work] : store.devices().directions()) {
    if (cancelled) return;
    copies_[{key.device, key.direction}].join(
        copying_stacks(store, {key.device, key.direction}, range_, cancelled, part));
  }
  scope_.trace = &trace;
  gaps_.add(store, part);
}

compared_side compared_side_builder::side(const trace::tables& tables) const {
  compared_side output;
  output.statistics = measured_.metrics(tables);
  for (const memory_statistics& metrics : output.statistics.memory) {
    compared_memory& memory = output.metrics.memory.emplace_back();
    memory.metrics = metrics;
    const auto found = memory_.find({metrics.device, metrics.layer, metrics.kind});
    if (found == memory_.end()) continue;
    memory.at_peak = found->second.at_peak;
    memory.allocated = found->second.allocated;
    if (found->second.composition) output.compositions.push_back(*found->second.composition);
  }
  for (const transfer_statistics& metrics : output.statistics.transfers) {
    const auto found = copies_.find({metrics.device, metrics.direction});
    output.metrics.transfers.push_back({metrics, found == copies_.end() ? stack_use{} : found->second});
  }
  output.metrics.idle = gaps_.devices();
  if (steps_ != nullptr) put_steps(*steps_, range_, output, process_);
  return output;
}

}  // namespace sluice::metrics
