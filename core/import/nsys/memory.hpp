#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/import/call_table.hpp"
#include "core/import/event_order.hpp"
#include "core/import/nsys/checks.hpp"
#include "core/import/nsys/places.hpp"
#include "core/import/nsys/tables.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Imports the rows of CUDA_GPU_MEMORY_USAGE_EVENTS: the driver's blocks, and samples of its pools. Private to
/// core/import.
class nsys_memory {
 public:
  nsys_memory(trace::file_writer& out, nsys_places& places, nsys_checks& checks)
      : out_(out), places_(places), checks_(checks) {}

  /// Adds a row. `call` is the API call that requested the operation, or null if the file does not have it.
  void take(const nsys::cells& row, const call_table::call* call);
  /// Writes the blocks that existed before the first event, which is at `begin`. Returns the start of the recording.
  /// This is `begin` or, if one of these blocks is freed at or before `begin`, 1 ns before the first of these frees.
  [[nodiscard]] trace::time_ns finish(trace::time_ns begin);

 private:
  using block_key = std::pair<std::uint64_t, std::uint64_t>;
  struct block_hash {
    std::size_t operator()(const block_key& key) const { return key.first * 0x9e3779b97f4a7c15U ^ key.second; }
  };

  [[nodiscard]] trace::alloc_event select_block(const nsys::cells& row, const nsys_places::work_place& where,
                                                trace::thread_id thread, trace::pool_id find_pool);
  trace::pool_id sample_pool(const nsys::cells& row, trace::time_ns when, const nsys_places::work_place& where,
                             trace::thread_id thread);

  trace::file_writer& out_;
  nsys_places& places_;
  nsys_checks& checks_;
  event_order order_;
  std::unordered_map<block_key, trace::block_id, block_hash> live_;
  std::uint64_t blocks_ = 0;
  std::vector<trace::alloc_event> before_;  ///< Blocks that have a free but no allocation.
  trace::time_ns first_free_ = INT64_MAX;   ///< The earliest free of a block in `before_`.
  std::map<std::pair<std::uint64_t, std::int64_t>, trace::pool_id> pools_;
};

}  // namespace sluice::importing
