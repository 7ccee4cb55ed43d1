#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/report/waste/dead_writes.hpp"

/// Finds dead writes: writes to a block that is then overwritten completely before anything reads it. Sizes are in
/// bytes.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Finds dead writes section by section, in order of time. Only copies and memsets are known to overwrite a whole
/// block; a kernel may also read the block. Both writes must be in the same section.
class dead_writes_builder {
 public:
  explicit dead_writes_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Adds the accesses in `run`. O(accesses * log blocks).
  void add(const index::event_store& store, time_range run);
  /// Returns at most `limit` groups, most bytes first.
  [[nodiscard]] std::vector<dead_write_group> groups() const;
  static constexpr std::size_t limit = 32;

 private:
  const metrics_scope& scope_;
  std::map<std::tuple<trace::device_id, trace::layer, trace::stack_id, index::access_kind>, dead_write_group> all_;
};

}  // namespace sluice::metrics
