// Blocks that end without an explicit free: with their context, their graph, or the last mapping of their memory.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "instrumentation/writer/blocks/block_ledger.hpp"

namespace sluice::writer {

using namespace trace;

/// Removes a live block and adds an inferred free for it.
void block_ledger::end_block(const alloc_event& block, time_ns time, block_rows& rows) {
  completions_.write(inferred_free(block, std::max(time, block.time)), rows);
  freed_.add(block, time);
  live_.erase(block);
}

/// Ends the live blocks selected by `choose`, and the blocks inside them.
template <class Choose>
void block_ledger::end_chosen(Choose&& choose, time_ns time, block_rows& rows) {
  std::unordered_set<block_id> ended;
  std::vector<alloc_event> chosen;
  // From the lowest layer up, so that parents come before the blocks inside them.
  for (std::size_t table = 0; table < live_block_tables::table_count; ++table) {
    chosen.clear();
    live_.for_each_in(table, [&](const alloc_event& block) {
      if (choose(block) || (block.parent != block_id::none && ended.contains(block.parent))) chosen.push_back(block);
    });
    for (const alloc_event& block : chosen) {
      ended.insert(block.block);
      more_uses_.erase(block.block);
      end_block(block, time, rows);
    }
  }
}

void block_ledger::end_context(context_id context, time_ns time, block_rows& rows) {
  if (context == context_id::none) return;
  const auto belongs = [&](const alloc_event& block) {
    // Virtual memory belongs to the process, not to a context.
    const bool of_process = block.kind == memory_kind::reservation || block.kind == memory_kind::physical ||
                            block.kind == memory_kind::mapping;
    return block.context == context && !of_process && block.time <= time;
  };
  end_chosen(belongs, time, rows);
}

void block_ledger::end_graph(std::uint64_t graph, time_ns time, block_rows& rows) {
  const std::unordered_set<std::uint64_t> addresses = graphs_.end(graph);
  if (addresses.empty()) return;
  const auto belongs = [&](const alloc_event& block) {
    return (block.flags & graph_memory) != 0 && addresses.contains(block.address);
  };
  end_chosen(belongs, time, rows);
}

/// Call when a mapping ends: ends its physical memory, too, if nothing else uses that memory.
void block_ledger::end_mapping(const alloc_event& mapping, time_ns time, block_rows& rows) {
  const std::optional<std::uint64_t> unused = physical_.remove_mapping(mapping.block);
  const alloc_event* const block = unused ? find_physical(*unused) : nullptr;
  if (block != nullptr) end_block(*block, time, rows);
}

}  // namespace sluice::writer
