#include "core/replay/allocator_model.hpp"

#include <algorithm>

namespace sluice::replay {
namespace {

/// Segments without a recorded address get addresses above all real addresses.
constexpr std::uint64_t first_made_up_address = std::uint64_t{1} << 60;

}  // namespace

allocator_model::allocator_model(const allocator_requests& requests, const allocator_rules& rules)
    : rules_(rules), node_of_(requests.blocks, none), next_address_(first_made_up_address) {
  const std::uint32_t arenas = std::max<std::uint32_t>(requests.arenas, 1);
  pools_.resize(std::size_t{arenas} * 2);
  for (std::uint32_t arena = 0; arena < arenas; ++arena) {
    const bool is_private = arena < requests.private_arenas.size() && requests.private_arenas[arena];
    for (const bool large : {false, true}) {
      pools_[arena * 2 + (large ? 1 : 0)].is_small = !large;
      pools_[arena * 2 + (large ? 1 : 0)].is_private = is_private;
    }
  }
}

std::uint32_t allocator_model::pool_for(std::uint64_t bytes, std::uint16_t arena) const {
  const std::uint32_t large = !rules_.two_classes || bytes > largest_small ? 1 : 0;
  const std::uint32_t last = static_cast<std::uint32_t>(pools_.size() / 2) - 1;
  std::uint32_t value = std::min<std::uint32_t>(arena, last);
  // In every model, a graph has its own memory.
  if (!rules_.arenas && (rules_.by.by == policy::model::best_fit || !pools_[value * 2].is_private)) value = 0;
  return value * 2 + large;
}

bool allocator_model::allocate(std::uint32_t block, std::uint64_t bytes, std::uint16_t arena, std::uint64_t address) {
  const std::uint64_t size = block_size(rules_.by, bytes);
  const std::uint32_t begin = pool_for(size, arena);
  index at = find_free(begin, size);
  if (at != none) {
    take_free(at);
  } else {
    collect_garbage();
    at = take_new(begin, size, address);
    if (at == none) at = after_retries(begin, size, address);
    if (at == none) {
      ++metrics_.failures;
      return false;
    }
  }
  if (should_split(nodes_[at], size)) split(at, size);
  nodes_[at].used = true;
  node_of_[block] = at;
  allocated_ += nodes_[at].bytes;
  metrics_.peak_allocated = std::max(metrics_.peak_allocated, allocated_);
  note_peak();
  return true;
}

void allocator_model::free(std::uint32_t block) {
  const index at = node_of_[block];
  if (at == none) return;
  node_of_[block] = none;
  allocated_ -= nodes_[at].bytes;
  nodes_[at].used = false;
  join(at, nodes_[at].before);
  join(at, nodes_[at].after);
  put_free(at);
}

void allocator_model::empty_cache(std::span<const std::uint16_t> kept) {
  std::vector<bool> keeps(pools_.size());
  for (const std::uint16_t arena : kept)
    if (std::size_t{arena} * 2 + 1 < keeps.size()) keeps[arena * 2] = keeps[arena * 2 + 1] = true;
  // The large pool comes first, as in PyTorch.
  for (const std::uint32_t large : {1U, 0U})
    for (std::uint32_t at = large; at < pools_.size(); at += 2)
      if (!keeps[at]) release_pool(at);
}

allocator_model::place allocator_model::get_place(std::uint32_t block) const {
  const node& at = nodes_[node_of_[block]];
  return {at.pool, at.address, at.bytes};
}

// --- searching and splitting ----------------------------------------------------------------------------------------

allocator_model::index allocator_model::find_free(std::uint32_t begin, std::uint64_t bytes) {
  const pool& in = pools_[begin];
  if (!in.is_small && !in.is_private) ++searches_;
  auto found = in.free.lower_bound({bytes, 0, 0});
  if (found == in.free.end()) return none;
  const index at = rules_.mapped ? find_expandable(in, found) : found->at;
  return fits_split_limit(bytes, nodes_[at].bytes) ? at : none;
}

/// A block that is followed by unmapped addresses counts as being as large as it can become, so that the end of a space
/// is used last.
allocator_model::index allocator_model::find_expandable(const pool& in, std::set<by_size>::iterator source) const {
  const auto expanded = [&](index at) {
    const index after = nodes_[at].after;
    return nodes_[at].bytes + (after != none && !nodes_[after].mapped ? nodes_[after].bytes : 0);
  };
  for (auto next = std::next(source); next != in.free.end() && expanded(next->at) < expanded(source->at); ++next)
    source = next;
  return source->at;
}

/// True if the split limit allows this block. Blocks of `max_split` bytes or more only serve large requests of about
/// their size.
bool allocator_model::fits_split_limit(std::uint64_t bytes, std::uint64_t block) const {
  const std::uint64_t most = rules_.by.max_split;
  if (bytes < most) return block < most;
  return block < bytes + rules_.by.non_split_rounding;
}

bool allocator_model::should_split(const node& block, std::uint64_t bytes) const {
  const std::uint64_t rest = block.bytes - bytes;
  if (rules_.mapped || pools_[block.pool].is_small) return rest >= smallest_block;
  return bytes < rules_.by.max_split && rest > largest_small;
}

/// Shrinks the block at `at` to `bytes`; the rest becomes free.
void allocator_model::split(index at, std::uint64_t bytes) {
  node rest = nodes_[at];
  rest.address += bytes;
  rest.bytes -= bytes;
  rest.before = at;
  const index output = make(rest);
  if (rest.after != none) nodes_[rest.after].before = output;
  nodes_[at].bytes = bytes;
  nodes_[at].after = output;
  put_free(output);
}

// --- taking and releasing -------------------------------------------------------------------------------------------

allocator_model::index allocator_model::take_new(std::uint32_t begin, std::uint64_t bytes, std::uint64_t address) {
  const std::uint64_t size = segment_size(bytes);
  if (rules_.limit_by_segment && (size > rules_.limit || reserved_ > rules_.limit - size)) return none;
  if (rules_.mapped) return take_mapped(begin, bytes);
  node output;
  output.address = address != 0 ? address : next_address_;
  output.bytes = size;
  output.pool = begin;
  if (address == 0) next_address_ += size;
  reserved_ += size;
  ++segments_;
  ++metrics_.driver_calls;
  metrics_.segments = std::max(metrics_.segments, segments_);
  return make(output);
}

allocator_model::index allocator_model::after_retries(std::uint32_t begin, std::uint64_t bytes, std::uint64_t address) {
  if (release_oversize(begin, bytes)) {
    const index at = take_new(begin, bytes, address);
    if (at != none) return at;
  }
  ++metrics_.retries;
  for (const std::uint32_t large : {1U, 0U})
    for (std::uint32_t at = large; at < pools_.size(); at += 2)
      if (!pools_[at].is_private) release_pool(at);
  // Memory that was mapped before may now be free space of this pool.
  return take_new(begin, bytes, address);
}

/// Releases segments that have been free for longer than average, until less memory is reserved than the share of the
/// limit.
void allocator_model::collect_garbage() {
  if (rules_.mapped || !rules_.limit_set || rules_.by.collect_above <= 0) return;
  const auto threshold = static_cast<std::uint64_t>(rules_.by.collect_above * static_cast<double>(rules_.limit));
  if (reserved_ <= threshold) return;
  const std::uint64_t target = reserved_ - threshold;
  std::vector<index> candidates;
  std::uint64_t ages = 0;
  for (std::uint32_t at = 1; at < pools_.size(); at += 2) {
    if (pools_[at].is_private) continue;
    for (const by_size& each : pools_[at].free) {
      if (nodes_[each.at].is_split()) continue;
      candidates.push_back(each.at);
      ages += searches_ - nodes_[each.at].freed_at;
    }
  }
  std::uint64_t gained = 0;
  for (bool found = true; found && gained < target && !candidates.empty();) {
    found = false;
    const double oldest = static_cast<double>(ages) / static_cast<double>(candidates.size());
    // The ages of all segments count, even of the segments released in this pass, because the threshold is the average
    // at the start of the pass.
    std::vector<index> left;
    for (const index at : candidates) {
      const std::uint64_t age = searches_ - nodes_[at].freed_at;
      if (static_cast<double>(age) < oldest) {
        left.push_back(at);
        continue;
      }
      found = true;
      gained += nodes_[at].bytes;
      ages -= age;
      release_segment(at);
    }
    candidates = std::move(left);
  }
}

/// With max_split_size_mb, releases just enough of the blocks that are not split. Returns false if there are too few
/// such blocks.
bool allocator_model::release_oversize(std::uint32_t begin, std::uint64_t bytes) {
  if (rules_.by.max_split == no_limit || rules_.mapped) return false;
  auto& free = pools_[begin].free;
  const std::uint64_t needed = std::max(bytes, rules_.by.max_split);
  const auto found = free.lower_bound({needed, 0, 0});
  if (found != free.end()) {
    release_segment(found->at);
    return true;
  }
  std::uint64_t gained = 0;
  while (gained < needed && !free.empty() && free.rbegin()->bytes >= rules_.by.max_split) {
    gained += free.rbegin()->bytes;
    release_segment(free.rbegin()->at);
  }
  return gained >= needed;
}

void allocator_model::release_segment(index at) {
  take_free(at);
  reserved_ -= nodes_[at].bytes;
  --segments_;
  ++metrics_.driver_calls;
  drop(at);
}

void allocator_model::release_pool(std::uint32_t value) {
  std::vector<index> going;
  for (const by_size& each : pools_[value].free)
    if (rules_.mapped || !nodes_[each.at].is_split()) going.push_back(each.at);
  for (const index at : going) {
    if (rules_.mapped) {
      unmap(at);
    } else {
      release_segment(at);
    }
  }
}

void allocator_model::note_peak() {
  if (reserved_ <= metrics_.peak_reserved) return;
  metrics_.peak_reserved = reserved_;
  metrics_.largest_hole = hole();
}

std::uint64_t allocator_model::hole() const {
  std::uint64_t largest = 0;
  for (const pool& each : pools_)
    if (!each.free.empty()) largest = std::max(largest, each.free.rbegin()->bytes);
  return largest;
}

// --- nodes ----------------------------------------------------------------------------------------------------------

allocator_model::index allocator_model::make(const node& output) {
  if (spare_.empty()) {
    nodes_.push_back(output);
    return static_cast<index>(nodes_.size() - 1);
  }
  const index at = spare_.back();
  spare_.pop_back();
  nodes_[at] = output;
  return at;
}

void allocator_model::drop(index at) { spare_.push_back(at); }

void allocator_model::put_free(index at) {
  node& block = nodes_[at];
  block.used = false;
  block.freed_at = searches_;
  pools_[block.pool].free.insert({block.bytes, block.address, at});
}

/// Merges `neighbour` into the block at `into` if both are free, and both are mapped or both unmapped. `into` must not
/// be in any set.
void allocator_model::join(index into, index neighbour) {
  if (neighbour == none || nodes_[neighbour].used || nodes_[neighbour].mapped != nodes_[into].mapped) return;
  node& block = nodes_[into];
  const node gone = nodes_[neighbour];
  if (gone.mapped) {
    take_free(neighbour);
  } else {
    pools_[gone.pool].unmapped.erase({gone.address, neighbour});
  }
  if (block.before == neighbour) {
    block.address = gone.address;
    block.before = gone.before;
    if (gone.before != none) nodes_[gone.before].after = into;
  } else {
    block.after = gone.after;
    if (gone.after != none) nodes_[gone.after].before = into;
  }
  block.bytes += gone.bytes;
  drop(neighbour);
}

}  // namespace sluice::replay
