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
  instant output;
  output.time = time;
  output.address = details.address;
  output.has_address = details.has_address;
  output.failed = failed;
  output.bytes = details.bytes;
  output.allocated = details.allocated;
  output.reserved = details.reserved;
  output.process = process;
  output.thread = thread;
  output.device_type = narrowed(details.device_type == chrome_details::none ? cpu : details.device_type);
  output.device = output.device_type == cpu ? -1 : narrowed(details.device);
  instants_.push_back(output);
}

kineto_memory::heap& kineto_memory::get_heap(const instant& subject) {
  const auto [known, fresh] = heaps_.try_emplace({subject.process, subject.device_type, subject.device});
  heap& output = known->second;
  if (!fresh) return output;
  output.process = subject.process;
  output.kind = subject.device_type == cpu ? trace::memory_kind::host : trace::memory_kind::device;
  if (subject.device >= 0) output.device = devices_.device_of_memory(subject.device);
  if (subject.device_type != cpu) {
    output.pool = static_cast<trace::pool_id>(heaps_.size());
    trace::pool_row row;
    row.id = output.pool;
    row.process = subject.process;
    row.device = output.device;
    row.layer = trace::layer::framework;
    row.kind = output.kind;
    row.name = out_.intern(framework_ + " allocator");
    out_.add(row);
  }
  // The total in the first instant includes its own bytes.
  const std::int64_t own = subject.failed ? 0 : subject.bytes;
  if (subject.allocated == chrome_details::none || __builtin_sub_overflow(subject.allocated, own, &output.before))
    output.before = 0;
  return output;
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

void kineto_memory::allocate(heap& in, const instant& subject) {
  trace::alloc_event row;
  row.time = subject.time;
  row.process = subject.process;
  row.thread = subject.thread;
  row.block = static_cast<trace::block_id>(++blocks_);
  row.layer = trace::layer::framework;
  row.kind = in.kind;
  row.device = in.device;
  row.pool = in.pool;
  row.address = subject.address;
  row.bytes = magnitude(subject.bytes);
  row.stack = python_.at(subject.thread, subject.time);
  out_.add(row);
  ++metrics_.allocs;
  if (!subject.has_address) {
    in.without_address[row.bytes].push_back({row.block, row.bytes});
    return;
  }
  const auto [known, fresh] = in.live.try_emplace(subject.address, block{row.block, row.bytes});
  if (fresh) return;
  ++metrics_.addresses_reused;
  trace::free_event gone;
  gone.time = subject.time;
  gone.process = subject.process;
  gone.source = trace::provenance::inferred;
  gone.block = known->second.id;
  gone.layer = trace::layer::framework;
  gone.address = subject.address;
  out_.add(gone);
  known->second = {row.block, row.bytes};
}

/// Removes the block that an instant frees from the live blocks. If the instant has no address, takes the last
/// allocated block of the same size. This choice affects no total.
std::optional<kineto_memory::block> kineto_memory::take_live(heap& in, const instant& subject) {
  if (subject.has_address) {
    const auto known = in.live.find(subject.address);
    if (known == in.live.end()) return std::nullopt;
    const block found = known->second;
    in.live.erase(known);
    return found;
  }
  const auto known = in.without_address.find(magnitude(subject.bytes));
  if (known == in.without_address.end() || known->second.empty()) return std::nullopt;
  const block found = known->second.back();
  known->second.pop_back();
  ++metrics_.paired;
  return found;
}

void kineto_memory::refuse(const heap& in, const instant& subject) {
  trace::alloc_failed_event row;
  row.time = subject.time;
  row.process = subject.process;
  row.thread = subject.thread;
  row.layer = trace::layer::framework;
  row.kind = in.kind;
  row.device = in.device;
  row.bytes = magnitude(subject.bytes);
  row.stack = python_.at(subject.thread, subject.time);
  row.error = out_of_memory_result;
  row.name = out_.intern(framework_);
  out_.add(row);
}

void kineto_memory::release(heap& in, const instant& subject) {
  trace::free_event row;
  row.time = subject.time;
  row.process = subject.process;
  row.thread = subject.thread;
  row.layer = trace::layer::framework;
  row.address = subject.address;
  const std::uint64_t bytes = magnitude(subject.bytes);
  if (const auto known = take_live(in, subject)) {
    row.block = known->id;
    if (known->bytes != bytes) ++metrics_.sizes_differ;
    if (!subject.has_address) row.source = trace::provenance::inferred;
  } else {
    row.block = born_before(in, subject.address, bytes, trace::provenance::exact);
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
    heap& in = get_heap(each);
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
  // Bytes in the totals that no instant explains are blocks from before the recording that outlive it.
  for (auto& [which, in] : heaps_)
    if (in.before > 0) born_before(in, 0, magnitude(in.before), trace::provenance::inferred);
  sluice::release(instants_);
  return metrics_;
}

}  // namespace sluice::importing
