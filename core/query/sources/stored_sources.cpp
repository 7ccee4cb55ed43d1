#include "core/query/sources/stored_sources.hpp"

#include <algorithm>

#include "core/summary/memory_limit.hpp"

namespace sluice::query {
namespace {

/// The least memory for sections, in bytes: about eight sections.
constexpr std::size_t min_for_sections = 40'000'000;

}  // namespace

std::shared_ptr<stored_sources> open_stored_sources(const std::shared_ptr<const trace::snapshot>& trace,
                                                    std::size_t memory_bytes) {
  auto sources = std::make_shared<stored_sources>();
  sources->tiles = summary::stored_tiles::of(trace);
  if (!sources->tiles) return nullptr;
  sources->metrics = summary::find_stored_metrics(*trace);
  if (!sources->metrics) return nullptr;
  auto facts = std::make_shared<index::tensor_facts>();
  facts->steps = summary::get_steps(*sources->metrics, trace);
  if (auto reader = summary::section_reader::open(trace, facts->steps, sources->tiles->sections())) {
    const std::size_t left = summary::left_for_indexes(memory_bytes, summary::taken_while_reading_sections);
    sources->sections = std::make_shared<summary::section_cache>(std::move(*reader), std::max(left, min_for_sections));
    sources->blocks = std::make_shared<block_list>(sources->sections->store());
    sources->ahead = std::make_shared<prefetcher>(sources->tiles, sources->sections);
    sources->in_memory = [cache = sources->sections](std::span<const std::size_t> sections) {
      std::vector<std::shared_ptr<const index::event_store>> found;
      for (const std::size_t section : sections)
        found.push_back(cache->at_hand(section, section, index::section_scope::timeline));
      return found;
    };
  }
  sources->facts = std::move(facts);
  return sources;
}

void take_over(const stored_sources& before, std::size_t settled, const stored_sources& now) {
  now.tiles->take_over(*before.tiles);
  if (before.sections && now.sections) now.sections->take_over(*before.sections, settled);
}

}  // namespace sluice::query
