#pragma once

#include <memory>
#include <vector>

#include "core/index/tensor_facts.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "tests/core/recordings/random_recording.hpp"
#include "tests/core/recordings/whole_sections.hpp"

namespace sluice::testing {

/// A recording in eight sections of 500 ns each, from 0 on.
struct in_parts {
  in_parts() {
    told.made.flush();
    const indexed before(told.made.open());
    std::vector<trace::section_row> sections;
    for (trace::time_ns begin = 0; begin < 4000; begin += 500) sections.push_back({begin, begin + 500, 0});
    told.made.writer().add_summary<trace::section_row>(sections);
    analysis::save_sections(before.index, *before.snapshot, sections, told.made.writer());
    told.made.close();
    store = analysis::section_reader::open(told.made.open()->latest(), {}).value();
  }
  query::random_recording told{11, false};
  std::shared_ptr<const analysis::section_reader> store;
};

}  // namespace sluice::testing
