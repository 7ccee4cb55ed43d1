#pragma once

#include <memory>
#include <vector>

#include "core/index/tensor_facts.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "tests/core/recordings/random_recording.hpp"
#include "tests/core/recordings/whole_sections.hpp"

namespace sluice::testing {

/// A recording in eight sections of 500 ns each, starting at 0.
struct in_parts {
  in_parts() {
    reported.recorded.flush();
    const indexed before(reported.recorded.open());
    std::vector<trace::section_row> sections;
    for (trace::time_ns begin = 0; begin < 4000; begin += 500) sections.push_back({begin, begin + 500, 0});
    reported.recorded.writer().add_summary<trace::section_row>(sections);
    summary::save_sections(before.index, *before.snapshot, sections, reported.recorded.writer());
    reported.recorded.close();
    store = summary::section_reader::open(reported.recorded.open()->latest(), {}).value();
  }
  query::random_recording reported{11, false};
  std::shared_ptr<const summary::section_reader> store;
};

}  // namespace sluice::testing
