#include "core/export/torch/own_segments.hpp"

#include <algorithm>
#include <vector>

#include "core/base/saturating.hpp"

namespace sluice::exports::torch {
namespace {

constexpr std::uint64_t first_invented = std::uint64_t{1}
                                         << 46;  // The lowest invented address, unless recorded addresses are above it.

bool lies_in_one(const memory_place& at, const segment_places& segments) {
  const auto next = segments.upper_bound(at);
  if (next == segments.begin()) return false;
  const auto& [begin, subject] = *std::prev(next);
  return begin.first == at.first && at.second < subject.end;
}

/// Returns the available size of a segment for a block at the block's own address, or 0 if there is no room.
std::uint64_t room_at(const memory_place& at, std::uint64_t bytes, const segment_places& segments) {
  if (at.second > UINT64_MAX - bytes - rounding) return 0;
  const auto next = segments.lower_bound(at);
  const std::uint64_t wanted = rounded(bytes, rounding);
  if (next == segments.end() || next->first.first != at.first) return wanted;
  const std::uint64_t room = std::min(wanted, next->first.second - at.second);
  return room < bytes ? 0 : room;
}

// Invented addresses follow the highest block that ends at or below this address.
constexpr std::uint64_t highest_end = UINT64_MAX / 2;

}  // namespace

std::size_t give_addresses(std::span<block> blocks, const std::function<bool(const block&)>& wanted) {
  std::uint64_t free_from = first_invented;
  for (const block& each : blocks) {
    const std::uint64_t end = saturating_sum(each.born.address, each.born.bytes);
    if (end <= highest_end) free_from = std::max(free_from, end);
  }
  free_from = rounded(free_from, small_segment);
  std::size_t given = 0;
  for (block& each : blocks) {
    if (each.born.address != 0 || !wanted(each)) continue;
    each.born.address = free_from;
    free_from = saturating_sum(free_from, rounded(each.born.bytes, rounding));
    ++given;
  }
  return given;
}

void own_segments::add(std::span<const placed_block> live, segment_places& segments, block_places& inside) {
  std::vector<placed_block> lone;
  std::uint64_t free_from = first_invented;
  for (const auto& [at, subject] : segments) free_from = std::max(free_from, subject.end);
  for (const placed_block& each : live) {
    if (lies_in_one(each.first, segments)) continue;
    lone.push_back(each);
    if (each.first.second <= highest_end) free_from = std::max(free_from, each.first.second + each.second->born.bytes);
  }
  std::sort(lone.begin(), lone.end(), [](const placed_block& a, const placed_block& b) { return a.first < b.first; });
  for (const auto& [at, target] : lone) {
    block& output = made_.emplace_back(*target);
    std::uint64_t bytes = lies_in_one(at, segments) ? 0 : room_at(at, output.born.bytes, segments);
    if (bytes == 0) {
      output.born.address = free_from = rounded(free_from, small_segment);
      bytes = rounded(output.born.bytes, rounding);
      free_from += bytes;
    }
    const memory_place place(at.first, output.born.address);
    segments[place] = {&output, place.second + bytes};
    inside[place] = &output;
  }
}

}  // namespace sluice::exports::torch
