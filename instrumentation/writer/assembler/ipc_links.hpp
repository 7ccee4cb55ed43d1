#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::collector {

/// Whose memory an imported block is: joins what processes made known with what others had of it, by the keys that a
/// `share_record` carries, and writes a link for each import whose owner is known. An import of an import leads to the first
/// owner. Not thread-safe. All calls are O(1) on average; what was exported longest ago is forgotten beyond a limit.
class ipc_links {
 public:
  explicit ipc_links(trace::file_writer& file) : file_(file) {}

  /// `block` was made known by `key`; a later one of the same key goes before it.
  void exported(std::uint64_t key, const trace::alloc_event& block);
  /// `row.from` is this allocation of another process's memory, `row` otherwise filled in.
  void imported(std::uint64_t key, trace::link_event row);

  /// A pool was made known, and had from there as pool `handle` of `process`.
  void exported_pool(std::uint64_t key, trace::pool_id pool);
  void imported_pool(std::uint64_t key, trace::process_id process, std::uint64_t handle);
  /// What tells a pool's block is a key within its pool. Without knowing which pool that is, a key that only one pool's block has is taken
  /// for it, inferred.
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
  std::unordered_map<std::uint64_t, trace::event_id> blocks_;               ///< Allocations, by key.
  std::unordered_map<std::uint64_t, std::vector<pool_block>> pool_blocks_;  ///< One for each pool.
  std::unordered_map<std::uint64_t, trace::pool_id> pools_;
  std::unordered_map<std::uint64_t, trace::pool_id> had_pools_;  ///< By process and handle, mixed.
  std::unordered_map<trace::event_id, trace::event_id> owners_;  ///< Of imports.
  std::deque<std::uint64_t> order_;                              ///< Keys of blocks, the oldest first.
};

}  // namespace sluice::collector
