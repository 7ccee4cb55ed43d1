#include "core/figures/waste/dead_writes.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"
#include "core/index/index.hpp"

namespace sluice::analysis {
namespace {

/// Small blocks are not worth a change of the program.
constexpr std::uint64_t least_bytes = std::uint64_t{64} << 10U;

/// True if the access writes all of the block. A kernel that fills was given all of it.
bool writes_all(const access& of, const block_record& block) {
  switch (of.kind) {
    case access_kind::clear:
      return of.bytes == 0 || of.bytes >= block.bytes;
    case access_kind::upload:
    case access_kind::write:
      // Frameworks round the size of blocks up to 512 bytes, and more: what is behind the data does not matter.
      return of.bytes > 0 && of.bytes + of.bytes / 16 + 512 >= block.bytes;
    case access_kind::kernel:
    case access_kind::read:
      break;
  }
  return false;
}

/// A kernel that fills may be a view's: only a whole clear, or copies, are known to end the old content.
bool overwrites(const access& of, const block_record& block) {
  return of.kind != access_kind::clear ? writes_all(of, block) : of.bytes >= block.bytes;
}

}  // namespace

void dead_writes_builder::add(const index& from, time_range run) {
  const time_range here = common_of(scope_.range, run);
  const std::span<const access> uses = from.touches().accesses();
  for (std::size_t i = 1; i < uses.size(); ++i) {
    const access& first = uses[i - 1];
    const access& second = uses[i];
    if (first.block != second.block || second.kind == access_kind::kernel || second.kind == access_kind::read) continue;
    if (first.kind == access_kind::kernel || first.kind == access_kind::read) continue;
    if (!here.holds(second.time) || first.time >= second.time) continue;
    const block_record* block = from.memory().find(first.block);
    if (block == nullptr || block->bytes < least_bytes || !is_device_resident(block->kind)) continue;
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

}  // namespace sluice::analysis
