#include "core/metrics/findings/dead_writes/dead_writes.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"

namespace sluice::metrics {
namespace {

/// The minimum size of a block in bytes. Changing a program for smaller blocks is not worthwhile.
constexpr std::uint64_t min_bytes = std::uint64_t{64} << 10U;

/// True if the access writes the whole block. A kernel that only fills memory counts if it was passed the whole block.
bool writes_all(const index::access& access, const index::block_record& block) {
  switch (access.kind) {
    case index::access_kind::clear:
      return access.bytes == 0 || access.bytes >= block.bytes;
    case index::access_kind::upload:
    case index::access_kind::write:
      // Frameworks round block sizes up to 512 bytes or more, so a write may leave out that many bytes at the end.
      return access.bytes > 0 && access.bytes + access.bytes / 16 + 512 >= block.bytes;
    case index::access_kind::kernel:
    case index::access_kind::read:
      break;
  }
  return false;
}

/// True if the access is known to replace all contents of the block. This is a copy or a clear of the whole block. A
/// kernel that fills memory may write only a view of the block.
bool overwrites(const index::access& access, const index::block_record& block) {
  return access.kind != index::access_kind::clear ? writes_all(access, block) : access.bytes >= block.bytes;
}

}  // namespace

void dead_writes_builder::add(const index::event_store& store, time_range run) {
  const time_range here = intersect(scope_.range, run);
  const std::span<const index::access> uses = store.touches().accesses();
  for (std::size_t i = 1; i < uses.size(); ++i) {
    const index::access& first = uses[i - 1];
    const index::access& second = uses[i];
    if (first.block != second.block || second.kind == index::access_kind::kernel ||
        second.kind == index::access_kind::read)
      continue;
    if (first.kind == index::access_kind::kernel || first.kind == index::access_kind::read) continue;
    if (!here.holds(second.time) || first.time >= second.time) continue;
    const index::block_record* block = store.memory().find(first.block);
    if (block == nullptr || block->bytes < min_bytes || !index::is_device_resident(block->kind)) continue;
    if (!writes_all(first, *block) || !overwrites(second, *block)) continue;
    dead_write_group& group = all_[{block->device, block->layer, block->stack, first.kind}];
    ++group.count;
    saturating_add(group.bytes, block->bytes);
    if (block->bytes <= group.largest_bytes) continue;
    group.largest = block->id;
    group.largest_bytes = block->bytes;
    group.longest = {first.time, second.time + 1};
  }
}

std::vector<dead_write_group> dead_writes_builder::groups() const {
  std::vector<dead_write_group> write_groups;
  for (const auto& [key, subject] : all_) {
    dead_write_group& each = write_groups.emplace_back(subject);
    std::tie(each.device, each.layer, each.stack, each.first) = key;
  }
  std::stable_sort(write_groups.begin(), write_groups.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (write_groups.size() > limit) write_groups.resize(limit);
  return write_groups;
}

}  // namespace sluice::metrics
