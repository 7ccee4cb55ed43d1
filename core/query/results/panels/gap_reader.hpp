#pragma once

#include <optional>

#include "core/metrics/base/code_place.hpp"
#include "core/metrics/host_causes/stack_reasons.hpp"
#include "core/metrics/idle/recent_samples.hpp"
#include "core/query/types/gap_words.hpp"

namespace sluice::query {

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
