#pragma once

#include "core/timeline/time_range.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::analysis {

/// Where figures are looked for. Those who gather them keep a reference, and copies of them share it. For a recording that
/// grows, its owner puts a later snapshot and range here when all sections so far lie before the old end; what was
/// gathered then stays right. Nothing may be gathered meanwhile.
struct figures_scope {
  const trace::snapshot* trace = nullptr;  ///< Not owned; never null.
  time_range range;                        ///< What lies outside does not count. `bounded`.

  [[nodiscard]] const trace::tables& tables() const { return trace->tables(); }
};

}  // namespace sluice::analysis
