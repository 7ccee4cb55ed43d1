#pragma once

#include <optional>
#include <string>

#include "core/metrics/base/code_place.hpp"
#include "core/metrics/host_causes/stack_reasons.hpp"
#include "core/metrics/idle/recent_samples.hpp"

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

/// Describes parts of gaps. Looks at each stack once. Not thread-safe. The constructor's arguments must outlive it.
/// Private to core/query.
class gap_reader {
 public:
  gap_reader(const trace::tables& tables, const metrics::naming& names)
      : tables_(tables), names_(names), places_(tables, names) {}

  /// `host`: what the thread did that caused the gap. `stack`: the stack of a recorded call, which names the place if
  /// the samples name none.
  [[nodiscard]] gap_words describe(const metrics::work_times& host, trace::stack_id stack, bool stack_is_next);

 private:
  [[nodiscard]] std::optional<symbols::line_id> find_line(const metrics::host_cause& cause);

  const trace::tables& tables_;
  const metrics::naming& names_;
  metrics::code_places places_;
  metrics::stack_reasons reasons_;
};

}  // namespace sluice::query
