#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "core/index/chunk_index.hpp"
#include "core/index/recording_facts.hpp"

namespace sluice::summary {

/// Returns the time range of a section. The first section has no start, and the last has no end.
[[nodiscard]] inline time_range run_of(std::size_t section, std::span<const time_ns> begins) {
  return {section == 0 ? -latest_time : begins[section],
          section + 1 < begins.size() ? begins[section + 1] : latest_time + 1};
}

/// Returns the facts with which the event store of one part of a section starts. They include nothing that comes after
/// the section.
[[nodiscard]] inline index::section_facts begin_of(std::size_t section, index::section_part part,
                                                   std::span<const time_ns> begins,
                                                   std::shared_ptr<const index::recording_facts> whole) {
  index::section_facts made;
  made.run = run_of(section, begins);
  made.whole = std::move(whole);
  made.unfolding = true;
  made.part = part;
  made.samples_known = true;
  made.chunks = *made.whole->chunks->in(made.run, made.samples_known);
  return made;
}

/// Adds those of `rows` that were sampled outside the section.
inline void add_samples_outside(std::span<const trace::last_sample_row> rows, index::section_facts& to) {
  for (const trace::last_sample_row& row : rows)
    if (row.sampled < to.run.begin || row.sampled >= to.run.end) to.samples.push_back(row);
}

}  // namespace sluice::summary
