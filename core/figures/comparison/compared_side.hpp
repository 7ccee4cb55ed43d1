#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/figures/diff.hpp"
#include "core/figures/range_statistics.hpp"
#include "core/figures/tensor_report.hpp"
#include "core/index/tensor_facts.hpp"

/// All that a comparison needs of one recording, or of a range of it.
namespace sluice::analysis {

class index;

/// One side of a comparison. Its ids are those of its own recording.
struct compared_side {
  range_statistics statistics;                 ///< Of the range.
  compared_figures figures;                    ///< As `sluice diff` compares them.
  std::vector<peak_composition> compositions;  ///< Of the peaks of layers with tensors, each at its `maximum_time`.
  std::vector<step> steps;                 ///< That begin in the range, in order; evenly thinned out to `step_limit`.
  step_source source = step_source::none;  ///< How the steps are known.
  std::uint64_t step_count = 0;            ///< Before thinning out.
  time_ns median_step = 0;                 ///< Median duration of the steps, in ns; 0 without steps.

  static constexpr std::size_t step_limit = 4096;
};

/// Sets the members about steps: those of `process`, or if that is none, of the process with most steps that begin in the
/// range. O(steps).
void put_steps(const step_facts& facts, time_range range, compared_side& into,
               trace::process_id process = trace::process_id::none);

/// Keeps what is about one device. The active time and the steps stay those of the whole.
void keep_device(compared_side& of, trace::device_id device);

/// Computes a side from the index of everything in `range`. O(blocks log blocks + copies). With `process`, `from` is an
/// index of this process alone.
[[nodiscard]] compared_side side_of(const index& from, const trace::snapshot& trace, time_range range,
                                    trace::process_id process = trace::process_id::none);

/// Computes a side from indexes of consecutive sections, so that no index holds the whole range. The result is that of
/// `side_of`, except for the last digits of means.
class compared_side_builder {
 public:
  /// `process`: as for `side_of`.
  explicit compared_side_builder(time_range range, trace::process_id process = trace::process_id::none)
      : range_(range), process_(process), measured_(range) {}

  /// Adds `part`. Parts follow one another, the first begins with the range. O(blocks log blocks + copies) of `from`.
  void add(const index& from, const trace::snapshot& trace, time_range part, const std::atomic<bool>& cancelled);
  [[nodiscard]] compared_side side(const trace::tables& tables) const;

 private:
  struct highest_use {
    double bytes = -1;
    stack_use at_peak;
    stack_use allocated;
    std::optional<peak_composition> composition;
  };
  const time_range range_;
  const trace::process_id process_;
  range_measurer measured_;
  std::map<memory_key, highest_use> memory_;
  std::map<std::pair<trace::device_id, trace::direction>, stack_use> copies_;
  std::shared_ptr<const step_facts> steps_;
};

}  // namespace sluice::analysis
