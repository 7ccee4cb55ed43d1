#include "core/import/nsys/memory.hpp"

#include <algorithm>

#include "core/import/nsys/enums.hpp"

namespace sluice::importing {

using namespace nsys_enums;

namespace {

/// Values of CUDA_GPU_MEMORY_USAGE_EVENTS.memoryOperationType.
enum memory_operation : std::int64_t { allocation, deallocation };

}  // namespace

void nsys_memory::take(const nsys::cells& row, const call_table::call* call) {
  using namespace nsys::memory;
  const std::int64_t owner = row.number(process);
  const auto where = places_.work(owner, row.number(device), row.number(context), row.number(stream, -1));
  const trace::thread_id thread = call == nullptr ? trace::thread_id::none : call->thread_of();
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
      trace::alloc_event& made = before_.emplace_back(block_of(row, where, {}, in_pool));
      made.flags = trace::born_before;
      gone.block = made.block;
      first_free_ = std::min(first_free_, gone.time);
    } else {
      gone.block = known->second;
      live_.erase(known);
    }
    out_.add(gone);
    return;
  }
  trace::alloc_event made = block_of(row, where, thread, in_pool);
  made.time = when;
  out_.add(made);
  const auto [known, fresh] = live_.try_emplace(key, made.block);
  if (fresh) return;
  checks_.fault("allocations at an address whose free is not in the file; it is inferred");
  trace::free_event gone;
  gone.time = when;
  gone.process = where.process;
  gone.source = trace::provenance::inferred;
  gone.block = known->second;
  gone.address = key.second;
  out_.add(gone);
  known->second = made.block;
}

trace::alloc_event nsys_memory::block_of(const nsys::cells& row, const nsys_places::work_place& where,
                                         trace::thread_id thread, trace::pool_id pool_of) {
  using namespace nsys::memory;
  trace::alloc_event made;
  made.process = where.process;
  made.thread = thread;
  made.block = static_cast<trace::block_id>(++blocks_);
  made.layer = trace::layer::driver;
  made.kind = kind_of(row.number(kind, -1));
  made.device = where.device;
  made.context = where.context;
  made.stream = where.stream;
  made.pool = pool_of;
  made.address = static_cast<std::uint64_t>(row.number(address));
  made.bytes = row.natural(bytes);
  made.correlation = row.natural(correlation);
  made.name = out_.intern(row.text(name));
  return made;
}

/// The pool that the event concerns, if it has one; also writes a sample of the pool.
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
    about.kind = kind_of(row.number(kind, -1));
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
  for (trace::alloc_event& made : before_) {
    made.time = begin;
    out_.add(made);
  }
  before_.clear();
  return begin;
}

}  // namespace sluice::importing
