#include "core/index/memory/faults.hpp"

#include <algorithm>

#include "core/trace/model/driver_results.hpp"

namespace sluice::index {

void fault_index::add(const trace::attribute_event& row, const trace::tables& tables) {
  const std::string_view key = tables.text(row.key);
  const bool flag = key == "gpu fault";
  const bool by_whom = key == "seen by";
  const bool before = key == "launched before";
  if (row.target == trace::event_id::none || !(flag || by_whom || before)) return;
  gpu_fault& fault = by_event_[raw(row.target)];
  fault.event = row.target;
  const auto stream = static_cast<trace::stream_id>(row.integer);
  if (flag) {
    fault.time = bounded(row.time);
    fault.process = row.process;
    fault.thread = row.thread;
    fault.error = row.integer;
  } else if (by_whom) {
    fault.call = row.text;
    fault.stream = stream;
  } else {
    fault.launches.push_back({bounded(row.time), row.text, stream});
  }
}

void fault_index::add(const trace::api_call_event& row) {
  if (trace::is_gpu_fault(row.status)) ++failed_[raw(row.process)];
}

void fault_index::add(const trace::alloc_failed_event& row) {
  if (trace::is_gpu_fault(row.error)) ++failed_[raw(row.process)];
}

std::vector<gpu_fault> fault_index::faults() const {
  std::vector<gpu_fault> items;
  for (const auto& [event, fault] : by_event_) {
    if (fault.error == 0) continue;  // The message is not about a fault, or its other attributes have not arrived yet.
    gpu_fault& one = items.emplace_back(fault);
    std::stable_sort(one.launches.begin(), one.launches.end(),
                     [](const fault_launch& a, const fault_launch& b) { return a.time > b.time; });
    const auto failed = failed_.find(raw(one.process));
    one.calls_after = failed == failed_.end() ? 0 : failed->second;
  }
  std::sort(items.begin(), items.end(), [](const gpu_fault& a, const gpu_fault& b) {
    return a.time != b.time ? a.time < b.time : a.event < b.event;
  });
  return items;
}

}  // namespace sluice::index
