#include "core/metrics/idle/driver_call_groups.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"

namespace sluice::metrics {

void driver_call_groups::add(const index::event_store& store, time_range here) {
  for (const index::driver_call& each : store.driver_calls().calls()) {
    if (!here.holds(each.get_row_time())) continue;
    const index::block_record* block = store.memory().find(each.block);
    const bool freed = each.frees && block != nullptr;
    const trace::stack_id stack = freed ? block->stack : each.stack;
    const trace::string_id name = freed ? block->name : each.name;
    driver_call_group& group = groups_[{stack, name, each.frees}];
    if (group.count == 0) {
      group.call = name;
      group.stack = stack;
      group.process = each.process;
      group.frees = each.frees;
      group.first = group.last = each.call.begin;
      if (block != nullptr) group.kind = block->kind;
    }
    ++group.count;
    saturating_add(group.total, each.call.length());
    group.first = std::min(group.first, each.call.begin);
    group.last = std::max(group.last, each.call.begin);
  }
}

std::vector<driver_call_group> driver_call_groups::get_groups() const {
  std::vector<driver_call_group> groups;
  for (const auto& [key, group] : groups_) groups.push_back(group);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const driver_call_group& a, const driver_call_group& b) { return a.total > b.total; });
  return groups;
}

}  // namespace sluice::metrics
