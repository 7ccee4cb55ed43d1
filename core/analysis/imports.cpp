#include "core/analysis/imports.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "core/analysis/index.hpp"

namespace sluice::analysis {

std::vector<imported_memory> find_imports(const index& from, time_range range) {
  std::unordered_map<std::uint64_t, const block_record*> owners;  // By the event of their allocation.
  for (const auto& [import, owner] : from.import_owners()) owners[raw(owner.alloc)] = nullptr;
  std::vector<const block_record*> imports;
  for (const block_record& block : from.memory().blocks()) {
    if (!block.allocated) continue;
    if (block.imported() && block.born >= range.begin && block.born < range.end) imports.push_back(&block);
    if (const auto wanted = owners.find(raw(block.alloc)); wanted != owners.end()) wanted->second = &block;
  }
  std::map<std::tuple<trace::process_id, trace::process_id, trace::layer, trace::memory_kind>, imported_memory> groups;
  for (const block_record* block : imports) {
    const auto link = from.import_owners().find(raw(block->alloc));
    const block_record* owner = link == from.import_owners().end() ? nullptr : owners[raw(link->second.alloc)];
    const trace::process_id whose = owner == nullptr ? trace::process_id::none : owner->process;
    imported_memory& group = groups[{block->process, whose, block->level, block->kind}];
    group.process = block->process;
    group.owner = whose;
    group.level = block->level;
    group.kind = block->kind;
    ++group.blocks;
    group.bytes += block->bytes == 0 && owner != nullptr ? owner->bytes : block->bytes;
    if (owner != nullptr && link->second.source == trace::provenance::inferred) group.inferred = true;
  }
  std::vector<imported_memory> all;
  for (const auto& [key, group] : groups) all.push_back(group);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return all;
}

}  // namespace sluice::analysis
