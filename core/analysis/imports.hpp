#pragma once

#include <cstdint>
#include <vector>

#include "core/analysis/time_range.hpp"
#include "core/trace/model.hpp"

namespace sluice::analysis {

class index;

/// Memory of other processes that one has had, by whose it is. Its bytes count with its owner.
struct imported_memory {
  trace::process_id process{};
  trace::process_id owner{};  ///< None: the recording does not name it.
  trace::layer level = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;  ///< Of physical memory the owner's word for it; 0 where nobody told.
  bool inferred = false;    ///< Of some of them the owner is.
};

/// Of blocks born in `range`: most bytes first. O(blocks), O(1) where nothing was imported.
[[nodiscard]] std::vector<imported_memory> find_imports(const index& from, time_range range);

}  // namespace sluice::analysis
