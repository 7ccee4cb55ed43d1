#include "core/generate/caching_allocator.hpp"

#include <algorithm>

namespace sluice::generate {
namespace {

constexpr std::uint64_t granularity = 512;
constexpr std::uint64_t small_limit = mib;
constexpr std::uint64_t small_segment = 2 * mib;
constexpr std::uint64_t large_segment = 20 * mib;
constexpr std::uint64_t own_segment_limit = 10 * mib;

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

std::uint64_t segment_for(std::uint64_t bytes) {
  if (bytes <= small_limit) return small_segment;
  return bytes < own_segment_limit ? large_segment : rounded_up(bytes, small_segment);
}

}  // namespace

void caching_allocator::put_free(std::uint64_t address, block& b) {
  b.free = true;
  free_blocks(b.small).emplace(b.bytes, address);
}

caching_allocator::place caching_allocator::allocate(std::uint64_t bytes) {
  bytes = std::max(rounded_up(bytes, granularity), granularity);
  const bool small = bytes <= small_limit;
  free_set& waiting = free_blocks(small);
  place output;
  auto best = waiting.lower_bound({bytes, 0});
  if (best == waiting.end()) {
    const std::uint64_t size = segment_for(bytes);
    block& whole = blocks_[next_segment_];
    whole = {size, next_segment_, false, small};
    segments_[next_segment_] = size;
    put_free(next_segment_, whole);
    // Leave a gap, because segments from the driver are not adjacent.
    next_segment_ += rounded_up(size, small_segment) + small_segment;
    reserved_ += size;
    output.grew = true;
    best = waiting.lower_bound({bytes, 0});
  }
  const std::uint64_t address = best->second;
  waiting.erase(best);
  block& taken = blocks_[address];
  taken.free = false;
  const std::uint64_t left = taken.bytes - bytes;
  if (left >= (small ? granularity : small_limit + 1)) {
    taken.bytes = bytes;
    block& rest = blocks_[address + bytes];
    rest = {left, taken.segment, false, small};
    put_free(address + bytes, rest);
  }
  allocated_ += taken.bytes;
  output.address = address;
  output.bytes = bytes;
  output.segment = taken.segment;
  output.segment_bytes = segments_[taken.segment];
  return output;
}

void caching_allocator::release(std::uint64_t address) {
  auto at = blocks_.find(address);
  if (at == blocks_.end() || at->second.free) return;
  allocated_ -= at->second.bytes;
  const auto joins = [&](const auto& other) {
    return other->second.free && other->second.segment == at->second.segment;
  };
  if (const auto after = std::next(at); after != blocks_.end() && joins(after)) {
    free_blocks(after->second.small).erase({after->second.bytes, after->first});
    at->second.bytes += after->second.bytes;
    blocks_.erase(after);
  }
  if (at != blocks_.begin()) {
    if (const auto before = std::prev(at); joins(before)) {
      free_blocks(before->second.small).erase({before->second.bytes, before->first});
      before->second.bytes += at->second.bytes;
      blocks_.erase(at);
      at = before;
    }
  }
  put_free(at->first, at->second);
}

std::vector<caching_allocator::segment> caching_allocator::trim() {
  std::vector<segment> gone;
  for (auto each = segments_.begin(); each != segments_.end();) {
    const auto first = blocks_.find(each->first);
    if (first == blocks_.end() || !first->second.free || first->second.bytes != each->second) {
      ++each;
      continue;
    }
    gone.push_back({each->first, each->second});
    free_blocks(first->second.small).erase({first->second.bytes, first->first});
    blocks_.erase(first);
    reserved_ -= each->second;
    each = segments_.erase(each);
  }
  return gone;
}

}  // namespace sluice::generate
