// Blocks that end without an explicit free: with their context, their graph, or the last mapping of their memory.
#include "instrumentation/writer/blocks/block_ledger.hpp"

#include <algorithm>
#include <unordered_set>

namespace sluice::writer {

using namespace trace;

void block_ledger::end_by_inference(const alloc_event& block, time_ns when) {
  free_request inferred;
  inferred.row.time = std::max(when, block.time);
  inferred.row.process = block.process;
  inferred.row.source = provenance::inferred;
  inferred.row.block = block.block;
  inferred.row.layer = block.layer;
  inferred.row.address = block.address;
  write(inferred);
}

/// Ends the live blocks selected by `choose`, and the blocks inside them.
template <class Choose>
void block_ledger::end_those(Choose&& choose, time_ns when) {
  std::unordered_set<block_id> ended;
  std::vector<alloc_event> doomed;
  // From the lowest layer up, so that parents come before the blocks inside them.
  for (std::size_t place = 0; place < live_.size(); ++place) {
    doomed.clear();
    live_[place].for_each([&](const alloc_event& block) {
      if (choose(block) || (block.parent != block_id::none && ended.contains(block.parent))) doomed.push_back(block);
    });
    for (const alloc_event& block : doomed) {
      ended.insert(block.block);
      held_again_.erase(block.block);
      end_by_inference(block, when);
      retire(block, place, when);
      erase(place, block);
    }
  }
}

// ----------------------------------------------------------------------------------------------------------- contexts

void block_ledger::end_context(context_id context, time_ns when) {
  if (context == context_id::none) return;
  const auto belongs = [&](const alloc_event& block) {
    // Virtual memory belongs to the process, not to a context.
    const bool of_process = block.kind == memory_kind::reservation || block.kind == memory_kind::physical ||
                            block.kind == memory_kind::mapping;
    return block.context == context && !of_process && block.time <= when;
  };
  end_those(belongs, when);
}

// ------------------------------------------------------------------------------------------------------------- graphs

void block_ledger::add_graph(std::uint64_t graph, std::uint64_t made) {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end() || graph == made) return;
  const std::shared_ptr<memory_of_graph> memory = found->second;
  ++memory->holders;
  graphs_[made] = memory;
}

void block_ledger::end_graph(std::uint64_t graph, time_ns when) {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return;
  const std::shared_ptr<memory_of_graph> memory = found->second;
  graphs_.erase(found);
  if (--memory->holders != 0) return;
  const std::unordered_set<std::uint64_t> addresses(memory->addresses.begin(), memory->addresses.end());
  end_those(
      [&](const alloc_event& block) { return (block.flags & graph_memory) != 0 && addresses.contains(block.address); },
      when);
}

// ---------------------------------------------------------------------------------------------------- physical memory

void block_ledger::hold_physical(const alloc_event& mapping, std::uint64_t handle) {
  if (handle == 0) return;
  ++physical_[handle].mappings;
  physical_of_[mapping.block] = handle;
}

/// Call when the handle of physical memory was released. Returns true if the memory stays live because it is mapped.
bool block_ledger::release_physical(const free_request& request, const alloc_event& block) {
  const auto use = physical_.find(block.address);
  if (use == physical_.end() || use->second.mappings == 0) return false;
  use->second.released = true;
  use->second.request = request;
  return true;
}

void block_ledger::let_go_of_physical(const free_request& request, const alloc_event& mapping) {
  const auto handle = physical_of_.find(mapping.block);
  if (handle == physical_of_.end()) return;
  const auto use = physical_.find(handle->second);
  physical_of_.erase(handle);
  if (use == physical_.end() || --use->second.mappings != 0) return;
  const physical_use last = use->second;
  const std::uint64_t address = use->first;
  physical_.erase(use);
  if (!last.released) return;
  const std::size_t place = place_of(layer::driver, memory_kind::physical);
  const alloc_event* block = live_[place].find(address);
  if (block == nullptr) return;
  end_by_inference(*block, request.row.time);
  erase(place, *block);
}

}  // namespace sluice::writer
