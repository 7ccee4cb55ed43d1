#pragma once

#include "core/base/time/time_range.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::metrics {

/// The snapshot and time range from which metrics are computed. Builders keep a reference to their scope, and copies of
/// a builder share it. For a growing recording, the owner assigns a later snapshot and range once all sections added so
/// far precede the end of the old range. The metrics collected until then stay valid. No builder may run during the
/// assignment.
struct metrics_scope {
  const trace::snapshot* trace = nullptr;  ///< Not owned; never null.
  time_range range;                        ///< Everything outside this range is ignored. Must be `bounded`.

  [[nodiscard]] const trace::tables& tables() const { return trace->tables(); }
};

}  // namespace sluice::metrics
