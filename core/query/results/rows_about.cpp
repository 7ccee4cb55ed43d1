#include "core/query/results/rows_about.hpp"

namespace sluice::query {
namespace {

/// Adds the allocation rows of the block `id` in chunks of one row type to `into`.
template <class Row>
void get_births(trace::block_id id, const sources& source, index::memory_use& into) {
  const auto chunks = source.index.chunks().find(
      [=](const index::chunk_reach& about) { return raw(id) >= about.lowest_block && raw(id) <= about.highest_block; });
  for (const std::size_t chunk : chunks.value_or(std::vector<std::size_t>{})) {
    if (source.trace.chunk(chunk).type != trace::type_of_row<Row>) continue;
    const auto rows = source.trace.read<Row>(chunk);
    if (!rows) continue;
    for (const Row& row : **rows)
      if (row.block == id) into.add(row);
  }
}

}  // namespace

std::optional<index::block_record> find_block(trace::block_id id, const sources& source) {
  if (const index::block_record* known = source.index.memory().find(id)) return *known;
  if (!source.index.is_part()) return std::nullopt;
  index::memory_use found;
  get_births<trace::alloc_event>(id, source, found);
  if (found.find(id) == nullptr) get_births<trace::live_block_event>(id, source, found);
  const index::block_record* known = found.find(id);
  return known == nullptr ? std::nullopt : std::optional(*known);
}

trace::string_id get_name_tag(trace::event_id alloc, const sources& source) {
  if (!source.index.is_part()) {
    const auto known = source.index.name_tags().find(raw(alloc));
    return known == source.index.name_tags().end() ? trace::string_id::none : known->second;
  }
  trace::string_id name{};
  rows_about<trace::attribute_event>(alloc, source, [&](const trace::attribute_event& row) {
    const bool says = row.target == alloc && row.target != trace::event_id::none && row.text != trace::string_id::none;
    if (says && source.trace.tables().text(row.key) == "name") name = row.text;
  });
  return name;
}

std::optional<index::event_store::import_owner> find_import_owner(trace::event_id alloc, const sources& source) {
  std::optional<index::event_store::import_owner> owner;
  if (!source.index.is_part()) {
    const auto known = source.index.import_owners().find(raw(alloc));
    if (known != source.index.import_owners().end()) owner = known->second;
    return owner;
  }
  rows_about<trace::link_event>(alloc, source, [&](const trace::link_event& row) {
    if (row.from == alloc && row.kind == trace::link_kind::import_to_owner) owner = {row.to, row.source};
  });
  return owner;
}

bool holds_blocks(trace::block_id id, const sources& source) {
  if (const index::section_facts* known = source.index.known_from_file())
    return std::binary_search(known->whole->segments.begin(), known->whole->segments.end(), id);
  const auto blocks = source.index.memory().blocks();
  return std::any_of(blocks.begin(), blocks.end(), [&](const auto& block) { return block.parent == id; });
}

}  // namespace sluice::query
