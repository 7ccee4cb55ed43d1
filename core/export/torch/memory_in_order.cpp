#include "core/export/torch/memory_in_order.hpp"

#include "core/export/in_order.hpp"
#include "core/index/memory/memory_use.hpp"

namespace sluice::exports {
namespace {

block_change change_of(const trace::alloc_event& row, time_ns born) {
  block_change made;
  made.time = born;
  made.order = raw(row.id);
  made.born = true;
  made.block = row.block;
  made.layer = row.layer;
  made.kind = row.kind;
  if (!index::is_host_resident(row.kind)) made.device = row.device;
  made.pool = row.pool;
  made.process = row.process;
  made.thread = row.thread;
  made.address = row.address;
  made.bytes = row.bytes;
  made.before = (row.flags & trace::born_before) != 0;
  return made;
}

}  // namespace

result<void> memory_in_order(job& what, const std::function<result<void>(const block_change&)>& visit) {
  options all_times = what.wanted();
  all_times.range.reset();
  all_times.progress = nullptr;
  const job from(what.trace(), all_times);
  const time_ns until = what.range().end;
  const bool whole = !what.wanted().range;

  const auto make = [&](const auto& row, const auto& push) {
    using row_type = std::remove_cvref_t<decltype(row)>;
    if ((!whole && row.time >= until) || !from.takes(row)) return;
    if constexpr (std::is_same_v<row_type, trace::free_event>) {
      block_change gone;
      gone.time = row.time;
      gone.order = raw(row.id);
      gone.block = row.block;
      gone.process = row.process;
      gone.thread = row.thread;
      push(gone);
    } else {
      push(change_of(row, row.time));
    }
  };
  std::unordered_map<std::uint64_t, block_change> live;
  const auto emit = [&](const block_change& change) -> result<void> {
    if (change.born) {
      return live.try_emplace(raw(change.block), change).second ? visit(change) : result<void>{};
    }
    const auto known = live.find(raw(change.block));
    if (known == live.end()) return {};
    block_change gone = known->second;
    gone.time = change.time;
    gone.order = change.order;
    gone.born = false;
    gone.thread = change.thread;
    live.erase(known);
    return visit(gone);
  };
  return in_order<block_change, trace::alloc_event, trace::live_block_event, trace::free_event>(what, make, emit);
}

}  // namespace sluice::exports
