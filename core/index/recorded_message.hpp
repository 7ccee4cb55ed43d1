#pragma once

#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::analysis {

/// What the recorder, or an importer, told the user.
struct recorded_message {
  trace::severity severity = trace::severity::info;
  time_ns time = 0;
  trace::string_id text{};
  trace::event_id event{};
};

}  // namespace sluice::analysis
