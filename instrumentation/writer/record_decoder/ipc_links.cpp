#include "instrumentation/writer/record_decoder/ipc_links.hpp"

#include <algorithm>

namespace sluice::writer {

using namespace trace;

namespace {
std::uint64_t mixed(process_id process, std::uint64_t handle) { return handle ^ (raw(process) << 48); }
constexpr std::size_t max_pools_of_a_key = 64;
}  // namespace

event_id ipc_links::first_owner(event_id alloc) const {
  const auto before = owners_.find(alloc);
  return before == owners_.end() ? alloc : before->second;
}

void ipc_links::link(event_id owner, link_event row) {
  owner = first_owner(owner);
  // The block was imported again, or imported by its exporter.
  if (owner == row.from || owners_.contains(row.from)) return;
  if (owners_.size() >= most) owners_.clear();
  owners_.emplace(row.from, owner);
  row.kind = link_kind::import_to_owner;
  row.to = owner;
  file_.add(row);
}

void ipc_links::exported(std::uint64_t key, const alloc_event& block) {
  if (key == 0) return;
  if (blocks_.insert_or_assign(key, block.id).second) order_.push_back(key);
  if (order_.size() <= most) return;
  blocks_.erase(order_.front());
  order_.pop_front();
}

void ipc_links::imported(std::uint64_t key, link_event row) {
  const auto owner = blocks_.find(key);
  if (owner != blocks_.end()) link(owner->second, row);
}

void ipc_links::exported_pool(std::uint64_t key, pool_id pool) {
  if (key != 0 && pools_.size() < most) pools_[key] = pool;
}

void ipc_links::imported_pool(std::uint64_t key, process_id process, std::uint64_t handle) {
  const auto pool = pools_.find(key);
  // The handle may have belonged to another pool before.
  if (pool == pools_.end()) {
    had_pools_.erase(mixed(process, handle));
  } else if (had_pools_.size() < most) {
    had_pools_[mixed(process, handle)] = pool->second;
  }
}

void ipc_links::exported_from_pool(std::uint64_t key, const alloc_event& block) {
  if (pool_blocks_.size() >= most) pool_blocks_.clear();
  std::vector<pool_block>& blocks = pool_blocks_[key];
  const auto same =
      std::find_if(blocks.begin(), blocks.end(), [&](const pool_block& b) { return b.pool == block.pool; });
  if (same != blocks.end()) {
    same->alloc = block.id;
  } else if (blocks.size() < max_pools_of_a_key) {
    blocks.push_back({block.pool, block.id});
  }
}

void ipc_links::imported_from_pool(std::uint64_t key, process_id process, std::uint64_t handle, link_event row) {
  const auto found = pool_blocks_.find(key);
  if (found == pool_blocks_.end()) return;
  const std::vector<pool_block>& blocks = found->second;
  const auto pool = had_pools_.find(mixed(process, handle));
  if (pool == had_pools_.end()) {
    if (blocks.size() != 1) return;
    row.source = provenance::inferred;
    return link(blocks.front().alloc, row);
  }
  const auto owner =
      std::find_if(blocks.begin(), blocks.end(), [&](const pool_block& b) { return b.pool == pool->second; });
  if (owner != blocks.end()) link(owner->alloc, row);
}

}  // namespace sluice::writer
