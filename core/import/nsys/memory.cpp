#include "core/import/nsys/memory.hpp"

#include <algorithm>

#include "core/import/nsys/enums.hpp"

namespace sluice::importing {

using namespace nsys_enums;

namespace {

/// The values of CUDA_GPU_MEMORY_USAGE_EVENTS.memoryOperationType.
enum memory_operation : std::int64_t { allocation, deallocation };

}  // namespace

void nsys_memory::take(const nsys::cells& row, const call_table::call* call) {
  using namespace nsys::memory;
  const std::int64_t owner = row.number(process);
  const auto where = places_.work(owner, row.number(device), row.number(context), row.number(stream, -1));
  const trace::thread_id thread = call == nullptr ? trace::thread_id::none : call->get_thread();
  const block_key key{nsys_places::process_bits(owner), static_cast<std::uint64_t>(row.number(address))};
  const bool is_free = row.number(operation) == deallocation;
  if (!is_free && row.number(operation) != allocation) {
    checks_.fault("memory events that are neither an allocation nor a free");
    return;
  }
  const trace::time_ns when = is_free ? order_.free(row.number(time)) : order_.allocation(row.number(time));
  const trace::pool_id in_pool = sample_pool(row, when, where, thread);
  if (is_free) {
    trace::free_event gone;
    gone.time = when;
    gone.process = where.process;
    gone.thread = thread;
    gone.layer = trace::layer::driver;
    gone.address = key.second;
    gone.stream = where.stream;
    gone.correlation = row.natural(correlation);
    const auto known = live_.find(key);
    if (known == live_.end()) {
      trace::alloc_event& event = before_.emplace_back(select_block(row, where, {}, in_pool));
      event.flags = trace::born_before;
      gone.block = event.block;
      first_free_ = std::min(first_free_, gone.time);
    } else {
      gone.block = known->second;
      live_.erase(known);
    }
    out_.add(gone);
    return;
  }
  trace::alloc_event output = select_block(row, where, thread, in_pool);
  output.time = when;
  out_.add(output);
  const auto [known, fresh] = live_.try_emplace(key, output.block);
  if (fresh) return;
  checks_.fault("allocations at an address whose previous free is not in the file and was inferred");
  trace::free_event gone;
  gone.time = when;
  gone.process = where.process;
  gone.source = trace::provenance::inferred;
  gone.block = known->second;
  gone.address = key.second;
  out_.add(gone);
  known->second = output.block;
}

trace::alloc_event nsys_memory::select_block(const nsys::cells& row, const nsys_places::work_place& where,
                                             trace::thread_id thread, trace::pool_id find_pool) {
  using namespace nsys::memory;
  trace::alloc_event allocation;
  allocation.process = where.process;
  allocation.thread = thread;
  allocation.block = static_cast<trace::block_id>(++blocks_);
  allocation.layer = trace::layer::driver;
  allocation.kind = get_kind(row.number(kind, -1));
  allocation.device = where.device;
  allocation.context = where.context;
  allocation.stream = where.stream;
  allocation.pool = find_pool;
  allocation.address = static_cast<std::uint64_t>(row.number(address));
  allocation.bytes = row.natural(bytes);
  allocation.correlation = row.natural(correlation);
  allocation.name = out_.intern(row.text(name));
  return allocation;
}

/// Returns the pool that the event concerns, or none. Also writes a sample of the pool.
trace::pool_id nsys_memory::sample_pool(const nsys::cells& row, trace::time_ns when,
                                        const nsys_places::work_place& where, trace::thread_id thread) {
  using namespace nsys::memory;
  if (row.number(pool) == 0) return {};
  const auto [known, fresh] = pools_.try_emplace({nsys_places::process_bits(row.number(process)), row.number(pool)});
  if (fresh) {
    trace::pool_row about;
    about.id = known->second = static_cast<trace::pool_id>(pools_.size());
    about.process = where.process;
    about.device = where.device;
    about.kind = get_kind(row.number(kind, -1));
    about.handle = static_cast<std::uint64_t>(row.number(pool));
    out_.add(about);
  }
  trace::pool_event sample;
  sample.time = when;
  sample.process = where.process;
  sample.thread = thread;
  sample.pool = known->second;
  sample.reserved = row.natural(pool_size);
  sample.used = row.natural(pool_used);
  sample.threshold = row.natural(pool_threshold);
  out_.add(sample);
  return known->second;
}

trace::time_ns nsys_memory::finish(trace::time_ns begin) {
  if (first_free_ <= begin) begin = first_free_ - 1;
  for (trace::alloc_event& allocation : before_) {
    allocation.time = begin;
    out_.add(allocation);
  }
  before_.clear();
  return begin;
}

}  // namespace sluice::importing
