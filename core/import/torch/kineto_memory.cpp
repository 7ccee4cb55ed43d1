#include "core/import/torch/kineto_memory.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "core/base/freed_memory.hpp"
#include "core/import/event_order.hpp"

namespace sluice::importing {
namespace {

/// A value of c10::DeviceType.
constexpr std::int32_t cpu = 0;
constexpr std::int64_t out_of_memory_result = 2;  // CUDA_ERROR_OUT_OF_MEMORY

std::int32_t narrowed(std::int64_t number) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp(number, std::int64_t{-1}, most));
}

std::uint64_t magnitude(std::int64_t bytes) {
  return bytes < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(bytes) : static_cast<std::uint64_t>(bytes);
}

}  // namespace

void kineto_memory::add(trace::process_id process, trace::thread_id thread, trace::time_ns time,
                        const chrome_details& details, bool failed) {
  instant made;
  made.time = time;
  made.address = details.address;
  made.has_address = details.has_address;
  made.failed = failed;
  made.bytes = details.bytes;
  made.allocated = details.allocated;
  made.reserved = details.reserved;
  made.process = process;
  made.thread = thread;
  made.device_type = narrowed(details.device_type == chrome_details::none ? cpu : details.device_type);
  made.device = made.device_type == cpu ? -1 : narrowed(details.device);
  instants_.push_back(made);
}

kineto_memory::heap& kineto_memory::heap_of(const instant& of) {
  const auto [known, fresh] = heaps_.try_emplace({of.process, of.device_type, of.device});
  heap& made = known->second;
  if (!fresh) return made;
  made.process = of.process;
  made.kind = of.device_type == cpu ? trace::memory_kind::host : trace::memory_kind::device;
  if (of.device >= 0) made.device = devices_.device_of_memory(of.device);
  if (of.device_type != cpu) {
    made.pool = static_cast<trace::pool_id>(heaps_.size());
    trace::pool_row row;
    row.id = made.pool;
    row.process = of.process;
    row.device = made.device;
    row.layer = trace::layer::framework;
    row.kind = made.kind;
    row.name = out_.intern(framework_ + " allocator");
    out_.add(row);
  }
  // The total in the first instant includes its own bytes.
  const std::int64_t own = of.failed ? 0 : of.bytes;
  if (of.allocated == chrome_details::none || __builtin_sub_overflow(of.allocated, own, &made.before)) made.before = 0;
  return made;
}

trace::block_id kineto_memory::born_before(heap& in, std::uint64_t address, std::uint64_t bytes,
                                           trace::provenance source) {
  trace::alloc_event row;
  row.time = begin_;
  row.process = in.process;
  row.source = source;
  row.block = static_cast<trace::block_id>(++blocks_);
  row.layer = trace::layer::framework;
  row.kind = in.kind;
  row.device = in.device;
  row.pool = in.pool;
  row.address = address;
  row.bytes = bytes;
  row.flags = trace::born_before;
  out_.add(row);
  return row.block;
}

void kineto_memory::allocate(heap& in, const instant& of) {
  trace::alloc_event row;
  row.time = of.time;
  row.process = of.process;
  row.thread = of.thread;
  row.block = static_cast<trace::block_id>(++blocks_);
  row.layer = trace::layer::framework;
  row.kind = in.kind;
  row.device = in.device;
  row.pool = in.pool;
  row.address = of.address;
  row.bytes = magnitude(of.bytes);
  row.stack = python_.at(of.thread, of.time);
  out_.add(row);
  ++metrics_.allocs;
  if (!of.has_address) {
    in.without_address[row.bytes].push_back({row.block, row.bytes});
    return;
  }
  const auto [known, fresh] = in.live.try_emplace(of.address, block{row.block, row.bytes});
  if (fresh) return;
  ++metrics_.addresses_reused;
  trace::free_event gone;
  gone.time = of.time;
  gone.process = of.process;
  gone.source = trace::provenance::inferred;
  gone.block = known->second.id;
  gone.layer = trace::layer::framework;
  gone.address = of.address;
  out_.add(gone);
  known->second = {row.block, row.bytes};
}

/// Removes the block that an instant frees from the live ones. Without an address, takes the last allocated block of
/// the same size: the choice makes no difference to any total.
std::optional<kineto_memory::block> kineto_memory::take_live(heap& in, const instant& of) {
  if (of.has_address) {
    const auto known = in.live.find(of.address);
    if (known == in.live.end()) return std::nullopt;
    const block found = known->second;
    in.live.erase(known);
    return found;
  }
  const auto known = in.without_address.find(magnitude(of.bytes));
  if (known == in.without_address.end() || known->second.empty()) return std::nullopt;
  const block found = known->second.back();
  known->second.pop_back();
  ++metrics_.paired;
  return found;
}

void kineto_memory::refuse(const heap& in, const instant& of) {
  trace::alloc_failed_event row;
  row.time = of.time;
  row.process = of.process;
  row.thread = of.thread;
  row.layer = trace::layer::framework;
  row.kind = in.kind;
  row.device = in.device;
  row.bytes = magnitude(of.bytes);
  row.stack = python_.at(of.thread, of.time);
  row.error = out_of_memory_result;
  row.name = out_.intern(framework_);
  out_.add(row);
}

void kineto_memory::release(heap& in, const instant& of) {
  trace::free_event row;
  row.time = of.time;
  row.process = of.process;
  row.thread = of.thread;
  row.layer = trace::layer::framework;
  row.address = of.address;
  const std::uint64_t bytes = magnitude(of.bytes);
  if (const auto known = take_live(in, of)) {
    row.block = known->id;
    if (known->bytes != bytes) ++metrics_.sizes_differ;
    if (!of.has_address) row.source = trace::provenance::inferred;
  } else {
    row.block = born_before(in, of.address, bytes, trace::provenance::exact);
    if (in.before > 0) in.before -= static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, magnitude(in.before)));
    ++metrics_.born_before;
  }
  out_.add(row);
  ++metrics_.frees;
}

kineto_memory::metrics kineto_memory::finish(trace::time_ns begin) {
  const bool freed_at_once = std::any_of(instants_.begin(), instants_.end(), [&](const instant& each) {
    return each.bytes < 0 && !each.failed && each.time <= begin;
  });
  begin_ = metrics_.begin = freed_at_once ? begin - 1 : begin;
  std::set<std::int64_t> ordinals;
  for (const instant& each : instants_)
    if (each.device >= 0) ordinals.insert(each.device);
  devices_.match_nodes(ordinals);
  if (!instants_.empty()) metrics_.without_stack = python_.left_out();
  std::stable_sort(instants_.begin(), instants_.end(),
                   [](const instant& a, const instant& b) { return a.time < b.time; });
  event_order order;
  for (instant& each : instants_) {
    heap& in = heap_of(each);
    if (!each.failed && each.bytes != 0) {
      each.time = each.bytes > 0 ? order.allocation(each.time) : order.free(each.time);
    }
    if (each.failed) {
      refuse(in, each);
    } else if (each.bytes > 0) {
      allocate(in, each);
    } else if (each.bytes < 0) {
      release(in, each);
    } else if (each.allocated < 0) {
      ++metrics_.empty;
    }
    if (in.pool == trace::pool_id::none || each.allocated < 0) continue;
    trace::pool_event sample;
    sample.time = each.time;
    sample.process = each.process;
    sample.thread = each.thread;
    sample.pool = in.pool;
    sample.used = magnitude(each.allocated);
    sample.reserved = each.reserved < 0 ? 0 : magnitude(each.reserved);
    out_.add(sample);
  }
  // Bytes in the totals without any instant: blocks from before the recording that outlived it.
  for (auto& [which, in] : heaps_)
    if (in.before > 0) born_before(in, 0, magnitude(in.before), trace::provenance::inferred);
  sluice::release(instants_);
  return metrics_;
}

}  // namespace sluice::importing
