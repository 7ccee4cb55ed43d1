#include "core/index/memory/shared_memory.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace sluice::index {

imported_memory_builder::imported_memory_builder(const import_owners& links) {
  for (const auto& [import, owner] : links) owners_.try_emplace(raw(owner.alloc));
}

void imported_memory_builder::add(const memory_use& use, time_range run, time_range range) {
  for (const block_record& block : use.blocks()) {
    if (!block.allocated || !run.holds(block.born)) continue;
    if (block.imported() && range.holds(block.born)) imports_.push_back(block);
    if (owners_.empty()) continue;
    const auto wanted = owners_.find(raw(block.alloc));
    // A corrupt file may have several blocks for one allocation. Then use the block with the lowest id, whatever their
    // order.
    if (wanted != owners_.end() && (!wanted->second || block.id < wanted->second->id)) wanted->second = block;
  }
}

std::vector<imported_memory> imported_memory_builder::metrics(const import_owners& links) const {
  std::map<std::tuple<trace::process_id, trace::process_id, trace::layer, trace::memory_kind>, imported_memory> groups;
  for (const block_record& block : imports_) {
    const auto link = links.find(raw(block.alloc));
    const std::optional<block_record> owner = link == links.end() ? std::nullopt : owners_.at(raw(link->second.alloc));
    const trace::process_id whose = owner ? owner->process : trace::process_id::none;
    imported_memory& group = groups[{block.process, whose, block.layer, block.kind}];
    group.process = block.process;
    group.owner = whose;
    group.layer = block.layer;
    group.kind = block.kind;
    ++group.blocks;
    group.bytes += block.bytes == 0 && owner ? owner->bytes : block.bytes;
    if (owner && link->second.source == trace::provenance::inferred) group.inferred = true;
  }
  std::vector<imported_memory> memories;
  for (const auto& [key, group] : groups) memories.push_back(group);
  std::stable_sort(memories.begin(), memories.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return memories;
}

bool imported_memory_builder::knows(const import_owners& links) const {
  return std::all_of(links.begin(), links.end(),
                     [&](const auto& each) { return owners_.contains(raw(each.second.alloc)); });
}

}  // namespace sluice::index
