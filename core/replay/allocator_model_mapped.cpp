// Pools whose memory is one address space that grows by mapping pages. PyTorch's expandable segments, and the models
// based on them, have such pools.
#include <algorithm>

#include "core/replay/allocator_model.hpp"

namespace sluice::replay {
namespace {

/// The size of an address space in bytes, which exceeds the memory of any device.
constexpr std::uint64_t space_bytes = std::uint64_t{1} << 50;

}  // namespace

/// Takes a block of at least `bytes`, part or all of which is not mapped yet. Returns none if the limit is reached.
allocator_model::index allocator_model::take_mapped(std::uint32_t begin, std::uint64_t bytes) {
  index at = find_space(begin, bytes);
  if (!nodes_[at].mapped && !map(at, bytes)) return none;
  while (nodes_[at].bytes < bytes) {
    const index next = nodes_[at].after;
    if (!map(next, bytes - nodes_[at].bytes)) return none;
    at = next;  // The block has been merged with the free block before it.
  }
  take_free(at);
  return at;
}

/// Returns the lowest block at which adjacent free and unmapped memory add up to `bytes`. O(unmapped ranges).
allocator_model::index allocator_model::find_space(std::uint32_t begin, std::uint64_t bytes) {
  pool& in = pools_[begin];
  for (const by_address& each : in.unmapped) {
    const index before = nodes_[each.at].before;
    const index first = before != none && !nodes_[before].used ? before : each.at;
    std::uint64_t found = 0;
    for (index at = first; found < bytes && at != none && !nodes_[at].used; at = nodes_[at].after)
      found += nodes_[at].bytes;
    if (found >= bytes) return first;
  }
  node space;
  space.bytes = space_bytes / find_page(in) * find_page(in);
  space.pool = begin;
  space.mapped = false;
  const index at = make(space);
  in.unmapped.insert({space.address, at});
  return at;
}

/// Maps whole pages at the start of an unmapped block, as many as `bytes` need. Returns false if the limit is reached.
bool allocator_model::map(index at, std::uint64_t bytes) {
  pool& in = pools_[nodes_[at].pool];
  const std::uint64_t page = find_page(in);
  const auto in_pages = [&](std::uint64_t size) { return std::min(nodes_[at].bytes, (size + page - 1) / page * page); };
  std::uint64_t size = in_pages(std::max(bytes, rules_.min_growth));
  const auto fits = [&] { return size <= rules_.limit && reserved_ <= rules_.limit - size; };
  if (!fits()) size = in_pages(bytes);
  if (!fits()) return false;
  in.unmapped.erase({nodes_[at].address, at});
  nodes_[at].mapped = true;
  if (size < nodes_[at].bytes) {
    node rest = nodes_[at];
    rest.address += size;
    rest.bytes -= size;
    rest.before = at;
    rest.mapped = false;
    const index output = make(rest);
    if (rest.after != none) nodes_[rest.after].before = output;
    nodes_[at].after = output;
    nodes_[at].bytes = size;
    pools_[rest.pool].unmapped.insert({rest.address, output});
  }
  join(at, nodes_[at].before);
  join(at, nodes_[at].after);
  put_free(at);
  change_mapped(in, size, true);
  return true;
}

/// Releases those pages of a free block that are completely free.
void allocator_model::unmap(index at) {
  pool& in = pools_[nodes_[at].pool];
  const std::uint64_t page = find_page(in);
  const node was = nodes_[at];
  const std::uint64_t begin = (was.address + page - 1) / page * page;
  const std::uint64_t end = (was.address + was.bytes) / page * page;
  if (begin >= end) return;
  take_free(at);
  const auto part = [&](std::uint64_t start, std::uint64_t to, index before, index after) {
    node rest = was;
    rest.address = start;
    rest.bytes = to - start;
    rest.before = before;
    rest.after = after;
    const index output = make(rest);
    if (before != none) nodes_[before].after = output;
    if (after != none) nodes_[after].before = output;
    put_free(output);
  };
  if (begin > was.address) part(was.address, begin, was.before, at);
  if (end < was.address + was.bytes) part(end, was.address + was.bytes, at, was.after);
  nodes_[at].address = begin;
  nodes_[at].bytes = end - begin;
  nodes_[at].mapped = false;
  join(at, nodes_[at].before);
  join(at, nodes_[at].after);
  in.unmapped.insert({nodes_[at].address, at});
  change_mapped(in, end - begin, false);
}

void allocator_model::change_mapped(pool& in, std::uint64_t bytes, bool more) {
  const bool had = in.mapped_bytes > 0;
  in.mapped_bytes = more ? in.mapped_bytes + bytes : in.mapped_bytes - bytes;
  reserved_ = more ? reserved_ + bytes : reserved_ - bytes;
  const bool has = in.mapped_bytes > 0;
  if (has && !had) ++segments_;
  if (had && !has) --segments_;
  metrics_.segments = std::max(metrics_.segments, segments_);
  ++metrics_.driver_calls;
}

}  // namespace sluice::replay
