#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/metrics/host_causes/classify.hpp"
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

/// Judges samples. Applies the rules to each frame, and looks at each (stack, state, system call), only once. Not
/// thread-safe. The constructor's arguments must outlive this object.
class sample_verdicts {
 public:
  sample_verdicts(const trace::tables& tables, const naming& names) : tables_(tables), names_(names) {}

  /// Returns the verdict on `shares`: the reason and library with the most time. `unsampled` if there are none.
  /// O(shares), plus O(rules) for each new frame and O(depth) for each new stack.
  [[nodiscard]] sampled_verdict judge(std::span<const host_share> shares);

 private:
  struct known_line {
    symbols::frame_line text;
    known_frame frame;  ///< Refers to `text`.
  };
  struct verdict {
    host_reason reason = host_reason::unsampled;
    std::string_view library;
    std::optional<symbols::line_id> line;
  };
  const known_line& know_line(symbols::line_id id);
  const verdict& judge_work(const host_work& work);

  const trace::tables& tables_;
  const naming& names_;
  std::unordered_map<std::uint64_t, std::vector<symbols::line_id>> frames_;
  std::deque<known_line> lines_;
  std::unordered_map<symbols::line_id, const known_line*> known_;
  std::unordered_map<host_work, verdict, host_work_hash> verdicts_;
};

}  // namespace sluice::metrics
