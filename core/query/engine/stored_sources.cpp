#include "core/query/engine/stored_sources.hpp"

#include <algorithm>

#include "core/summary/memory_limit.hpp"

namespace sluice::query {
namespace {

/// Bytes of about eight sections.
constexpr std::size_t least_for_sections = 40'000'000;

}  // namespace

std::shared_ptr<stored_sources> open_stored_sources(const std::shared_ptr<const trace::snapshot>& trace,
                                                    std::size_t memory_bytes) {
  auto made = std::make_shared<stored_sources>();
  made->tiles = analysis::stored_tiles::of(trace);
  if (!made->tiles) return nullptr;
  made->figures = analysis::find_stored_figures(*trace);
  if (!made->figures) return nullptr;
  auto facts = std::make_shared<analysis::tensor_facts>();
  facts->steps = analysis::steps_of(*made->figures, trace);
  if (auto reader = analysis::section_reader::open(trace, facts->steps, made->tiles->sections())) {
    const std::size_t left = analysis::left_for_indexes(memory_bytes, analysis::taken_while_reading_sections);
    made->sections = std::make_shared<analysis::section_cache>(std::move(*reader), std::max(left, least_for_sections));
    made->blocks = std::make_shared<block_list>(made->sections->store());
    made->ahead = std::make_shared<prefetcher>(made->tiles, made->sections);
    made->in_memory = [cache = made->sections](std::span<const std::size_t> sections) {
      std::vector<std::shared_ptr<const analysis::index>> found;
      for (const std::size_t section : sections)
        found.push_back(cache->at_hand(section, section, analysis::section_scope::timeline));
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
