#include "core/export/torch/memory_in_order.hpp"

#include "core/export/in_order.hpp"
#include "core/index/memory/memory_use.hpp"

namespace sluice::exports {
namespace {

block_change make_change(const trace::alloc_event& row, time_ns born) {
  block_change change;
  change.time = born;
  change.order = raw(row.id);
  change.born = true;
  change.block = row.block;
  change.layer = row.layer;
  change.kind = row.kind;
  if (!index::is_host_resident(row.kind)) change.device = row.device;
  change.pool = row.pool;
  change.process = row.process;
  change.thread = row.thread;
  change.address = row.address;
  change.bytes = row.bytes;
  change.before = (row.flags & trace::born_before) != 0;
  return change;
}

}  // namespace

result<void> memory_in_order(job& export_job, const std::function<result<void>(const block_change&)>& visit) {
  options all_times = export_job.wanted();
  all_times.range.reset();
  all_times.progress = nullptr;
  const job source(export_job.trace(), all_times);
  const time_ns until = export_job.range().end;
  const bool whole = !export_job.wanted().range;

  const auto make = [&](const auto& row, const auto& push) {
    using row_type = std::remove_cvref_t<decltype(row)>;
    if ((!whole && row.time >= until) || !source.takes(row)) return;
    if constexpr (std::is_same_v<row_type, trace::free_event>) {
      block_change gone;
      gone.time = row.time;
      gone.order = raw(row.id);
      gone.block = row.block;
      gone.process = row.process;
      gone.thread = row.thread;
      push(gone);
    } else {
      push(make_change(row, row.time));
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
  return in_order<block_change, trace::alloc_event, trace::live_block_event, trace::free_event>(export_job, make, emit);
}

}  // namespace sluice::exports
