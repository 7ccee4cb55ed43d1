#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::writer {

/// Finds the owners of imported blocks: matches exports and imports of all processes by the keys in their
/// `share_record`s, and writes a link for each import whose owner is known. If an imported block is exported again, its
/// imports are linked to the first owner. Beyond a limit, the oldest exports are forgotten. Not thread-safe. All calls
/// are O(1) on average.
class ipc_links {
 public:
  explicit ipc_links(trace::file_writer& file) : file_(file) {}

  /// Call when `block` was exported with `key`. A later export with the same key replaces this export.
  void exported(std::uint64_t key, const trace::alloc_event& block);
  /// Call when `row.from` was imported with `key`. The caller fills in all of `row`, except for the link's target.
  void imported(std::uint64_t key, trace::link_event row);

  /// Call when a pool was exported with the pool key `key`, and when a process has imported the pool with that key as
  /// `handle`.
  void exported_pool(std::uint64_t key, trace::pool_id pool);
  void imported_pool(std::uint64_t key, trace::process_id process, std::uint64_t handle);
  /// Call when a block of an exported pool was exported or imported. Its block key is only unique within the pool. If
  /// the importer's pool is unknown, a block key that only one pool has counts as a match, marked as inferred.
  void exported_from_pool(std::uint64_t key, const trace::alloc_event& block);
  void imported_from_pool(std::uint64_t key, trace::process_id process, std::uint64_t pool, trace::link_event row);

 private:
  struct pool_block {
    trace::pool_id pool{};
    trace::event_id alloc{};
  };
  static constexpr std::size_t most = std::size_t{1} << 16;

  void link(trace::event_id owner, trace::link_event row);
  [[nodiscard]] trace::event_id first_owner(trace::event_id alloc) const;

  trace::file_writer& file_;
  std::unordered_map<std::uint64_t, trace::event_id> blocks_;               ///< Allocations, keyed by block key.
  std::unordered_map<std::uint64_t, std::vector<pool_block>> pool_blocks_;  ///< For each block key, one block per pool.
  std::unordered_map<std::uint64_t, trace::pool_id> pools_;
  std::unordered_map<std::uint64_t, trace::pool_id> had_pools_;  ///< Imported pools; key: hash of process and handle.
  std::unordered_map<trace::event_id, trace::event_id> owners_;  ///< The first owner of each import.
  std::deque<std::uint64_t> order_;                              ///< Keys of blocks, oldest first.
};

}  // namespace sluice::writer
