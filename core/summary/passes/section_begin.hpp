#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "core/index/chunk_index.hpp"
#include "core/index/recording_facts.hpp"

namespace sluice::summary {

/// Returns the time range of a section. The first section has no start, and the last section has no end.
[[nodiscard]] inline time_range find_run(std::size_t section, std::span<const time_ns> begins) {
  return {section == 0 ? -latest_time : begins[section],
          section + 1 < begins.size() ? begins[section + 1] : latest_time + 1};
}

/// Returns the facts with which the event store of one part of a section starts. They include nothing that comes after
/// the section.
[[nodiscard]] inline index::section_facts get_begin(std::size_t section, index::section_part part,
                                                    std::span<const time_ns> begins,
                                                    std::shared_ptr<const index::recording_facts> whole) {
  index::section_facts facts;
  facts.run = find_run(section, begins);
  facts.whole = std::move(whole);
  facts.unfolding = true;
  facts.part = part;
  facts.samples_known = true;
  facts.chunks = *facts.whole->chunks->in(facts.run, facts.samples_known);
  return facts;
}

/// Adds the rows of `rows` that were sampled outside the section.
inline void add_samples_outside(std::span<const trace::last_sample_row> rows, index::section_facts& to) {
  for (const trace::last_sample_row& row : rows)
    if (row.sampled < to.run.begin || row.sampled >= to.run.end) to.samples.push_back(row);
}

}  // namespace sluice::summary
