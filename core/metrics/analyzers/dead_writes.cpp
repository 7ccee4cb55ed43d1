#include "core/metrics/analyzers/dead_writes.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"

namespace sluice::metrics {
namespace {

/// In bytes. Changing a program for smaller blocks is not worthwhile.
constexpr std::uint64_t min_bytes = std::uint64_t{64} << 10U;

/// True if the access writes the whole block. A kernel that only fills memory counts if it was passed the whole block.
bool writes_all(const index::access& of, const index::block_record& block) {
  switch (of.kind) {
    case index::access_kind::clear:
      return of.bytes == 0 || of.bytes >= block.bytes;
    case index::access_kind::upload:
    case index::access_kind::write:
      // Frameworks round block sizes up to 512 bytes or more, so a write may leave out that many bytes at the end.
      return of.bytes > 0 && of.bytes + of.bytes / 16 + 512 >= block.bytes;
    case index::access_kind::kernel:
    case index::access_kind::read:
      break;
  }
  return false;
}

/// True if the access is known to replace all contents of the block: a copy, or a clear of the whole block. A kernel
/// that fills memory may write only a view of the block.
bool overwrites(const index::access& of, const index::block_record& block) {
  return of.kind != index::access_kind::clear ? writes_all(of, block) : of.bytes >= block.bytes;
}

}  // namespace

void dead_writes_builder::add(const index::event_store& from, time_range run) {
  const time_range here = common_of(scope_.range, run);
  const std::span<const index::access> uses = from.touches().accesses();
  for (std::size_t i = 1; i < uses.size(); ++i) {
    const index::access& first = uses[i - 1];
    const index::access& second = uses[i];
    if (first.block != second.block || second.kind == index::access_kind::kernel ||
        second.kind == index::access_kind::read)
      continue;
    if (first.kind == index::access_kind::kernel || first.kind == index::access_kind::read) continue;
    if (!here.holds(second.time) || first.time >= second.time) continue;
    const index::block_record* block = from.memory().find(first.block);
    if (block == nullptr || block->bytes < min_bytes || !index::is_device_resident(block->kind)) continue;
    if (!writes_all(first, *block) || !overwrites(second, *block)) continue;
    dead_write_group& of = all_[{block->device, block->layer, block->stack, first.kind}];
    ++of.count;
    saturating_add(of.bytes, block->bytes);
    if (block->bytes <= of.largest_bytes) continue;
    of.largest = block->id;
    of.largest_bytes = block->bytes;
    of.longest = {first.time, second.time + 1};
  }
}

std::vector<dead_write_group> dead_writes_builder::groups() const {
  std::vector<dead_write_group> made;
  for (const auto& [key, of] : all_) {
    dead_write_group& each = made.emplace_back(of);
    std::tie(each.device, each.layer, each.stack, each.first) = key;
  }
  std::stable_sort(made.begin(), made.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (made.size() > limit) made.resize(limit);
  return made;
}

}  // namespace sluice::metrics
