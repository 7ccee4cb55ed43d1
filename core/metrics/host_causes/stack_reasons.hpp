#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/index/work/host_samples.hpp"
#include "core/metrics/host_causes/classify.hpp"
#include "core/metrics/host_causes/host_remedies.hpp"
#include "core/metrics/host_causes/sampled_causes.hpp"
#include "core/trace/model/tables.hpp"

namespace sluice::metrics {

/// Classifies the stacks of a recording, each one once. The rules see a frame as the recording names it: native frames
/// have the names that the recorder found in the files of the running program. Copies are independent. Not thread-safe.
class stack_reasons {
 public:
  /// Returns the cause that a sample shows. `host_cause::line` is the number of the innermost frame of the program
  /// itself (`trace::frame_id`), or 0. `tables`: those of the recording or of a later snapshot of it. O(1) for a known
  /// stack; else O(frames), plus some 40 us for each new frame.
  [[nodiscard]] const host_cause& find(const index::host_work& work, const trace::tables& tables);

  /// What the samples so far show about the program.
  [[nodiscard]] const program_traits& traits() const { return traits_; }

 private:
  [[nodiscard]] const known_frame& find_frame(trace::frame_id frame, const trace::tables& tables);
  [[nodiscard]] host_cause classify_stack(const index::host_work& work, const trace::tables& tables);

  const trace::tables* tables_ = nullptr;  ///< Whose texts `frames_` refers to.
  std::unordered_map<std::uint64_t, known_frame> frames_;
  std::unordered_map<index::host_work, host_cause, index::host_work_hash> causes_;
  program_traits traits_;
  std::vector<known_frame> stack_;        ///< Of the current stack, innermost first.
  std::vector<trace::frame_id> numbers_;  ///< Of the same frames.
};

}  // namespace sluice::metrics
