#pragma once

#include <optional>

#include "core/symbols/attribution.hpp"
#include "core/symbols/frames.hpp"

/// How the stacks of a recording become lines of the program.
namespace sluice::metrics {

/// How to resolve stacks to lines. `book` resolves native functions immediately or later, depending on `lookup`.
struct naming {
  symbols::frame_cache& book;
  symbols::frame_cache::lookup lookup = symbols::frame_cache::lookup::at_once;
  bool* provisional = nullptr;  ///< Set to true if some names are not known yet. May be null.
  /// If set, this becomes `report::grouping`. Otherwise, `most_even` chooses the grouping.
  std::optional<symbols::attribution> by{};
};

}  // namespace sluice::metrics
