#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/metrics/host_causes/stack_reasons.hpp"
#include "core/metrics/idle/host_use.hpp"
#include "core/metrics/report.hpp"

/// What samples of a host thread say about an idle gap: the reason, the library, the program's line.
namespace sluice::metrics {

/// What most of the sampled time of a gap, or of a part of it, went to.
struct sampled_verdict {
  host_reason reason = host_reason::unsampled;
  std::string library;                   ///< As in `host_verdict`; empty if no library has a part in it.
  std::optional<symbols::line_id> line;  ///< The line of the program in which most of this time was spent.
  trace::stack_id stack{};               ///< The stack with most of this time.
  time_ns time = 0;                      ///< The time with this reason and library.
  time_ns sampled = 0;                   ///< The time with samples.
};

/// Judges samples, by the same rules as the report (`stack_reasons`). Not thread-safe. The constructor's arguments must
/// outlive this object.
class sample_verdicts {
 public:
  sample_verdicts(const trace::tables& tables, const naming& names) : tables_(tables), names_(names) {}

  /// Returns the verdict on `shares`: the reason and library with the most time. `unsampled` if there are none.
  /// O(shares), plus the cost of `stack_reasons::find` for each new stack.
  [[nodiscard]] sampled_verdict judge(std::span<const host_share> shares);

 private:
  [[nodiscard]] std::optional<symbols::line_id> find_line(const host_cause& cause);

  const trace::tables& tables_;
  const naming& names_;
  stack_reasons reasons_;
};

}  // namespace sluice::metrics
