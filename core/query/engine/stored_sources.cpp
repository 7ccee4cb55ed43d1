#include "core/query/engine/stored_sources.hpp"

#include <algorithm>

#include "core/summary/memory_limit.hpp"

namespace sluice::query {
namespace {

/// The least memory for sections, in bytes: about eight sections.
constexpr std::size_t min_for_sections = 40'000'000;

}  // namespace

std::shared_ptr<stored_sources> open_stored_sources(const std::shared_ptr<const trace::snapshot>& trace,
                                                    std::size_t memory_bytes) {
  auto made = std::make_shared<stored_sources>();
  made->tiles = summary::stored_tiles::of(trace);
  if (!made->tiles) return nullptr;
  made->metrics = summary::find_stored_metrics(*trace);
  if (!made->metrics) return nullptr;
  auto facts = std::make_shared<index::tensor_facts>();
  facts->steps = summary::steps_of(*made->metrics, trace);
  if (auto reader = summary::section_reader::open(trace, facts->steps, made->tiles->sections())) {
    const std::size_t left = summary::left_for_indexes(memory_bytes, summary::taken_while_reading_sections);
    made->sections = std::make_shared<summary::section_cache>(std::move(*reader), std::max(left, min_for_sections));
    made->blocks = std::make_shared<block_list>(made->sections->store());
    made->ahead = std::make_shared<prefetcher>(made->tiles, made->sections);
    made->in_memory = [cache = made->sections](std::span<const std::size_t> sections) {
      std::vector<std::shared_ptr<const index::event_store>> found;
      for (const std::size_t section : sections)
        found.push_back(cache->at_hand(section, section, index::section_scope::timeline));
      return found;
    };
  }
  made->facts = std::move(facts);
  return made;
}

void take_over(const stored_sources& before, std::size_t settled, const stored_sources& now) {
  now.tiles->take_over(*before.tiles);
  if (before.sections && now.sections) now.sections->take_over(*before.sections, settled);
}

}  // namespace sluice::query
