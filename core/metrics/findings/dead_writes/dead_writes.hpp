#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/metrics/base/metrics_scope.hpp"

/// Finds dead writes: writes to a block that is then overwritten completely before anything reads it. Sizes are in
/// bytes.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// The dead writes to blocks that one call stack allocated.
struct dead_write_group {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::stack_id stack{};  ///< The stack that allocated the blocks.
  index::access_kind first =
      /// The kind of the write whose data is never read: a clear, an upload or another copy.
      index::access_kind::clear;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< Total bytes written in vain.
  time_range longest;       ///< For the largest block, the time from the dead write to the write that replaced it.
  trace::block_id largest{};
  std::uint64_t largest_bytes = 0;
};

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
