#pragma once

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::index {

/// A message to the user that the recorder or an importer stored in the recording.
struct recorded_message {
  trace::severity severity = trace::severity::info;
  time_ns time = 0;
  trace::string_id text{};
  trace::event_id event{};
};

}  // namespace sluice::index
