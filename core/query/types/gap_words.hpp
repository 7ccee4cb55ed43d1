#pragma once

#include <string>

#include "core/metrics/host_causes/host_reason.hpp"
#include "core/symbols/frames.hpp"

/// What the host did in idle gaps, as text.
namespace sluice::query {

/// What the host did in a gap, or in a part of it.
struct gap_words {
  /// What the sampled time is due to, by the rule of the report (`metrics::sampled_causes`); `unsampled` without samples.
  metrics::host_reason reason = metrics::host_reason::unsampled;
  std::string library;         ///< The library of the cause, such as "cuDNN"; empty if none.
  double share = 0;            ///< The share of the sampled time that has this reason and library, 0..1; 1 if `mixed`.
  std::string place;           ///< "train.py:12 (make_batch)"; empty if unknown.
  symbols::frame_line line;    ///< The same line, in parts.
  bool place_is_next = false;  ///< The host code ran before `place`. Samples say where it ran itself.
  trace::stack_id stack{};     ///< The stack with most of this time; none without samples.
};

}  // namespace sluice::query
