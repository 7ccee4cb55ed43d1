#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/report/waste/growth.hpp"
#include "core/trace/model/model.hpp"

/// Finds call stacks whose memory only grows, because of a leak or a container that is never emptied. Sizes are in
/// bytes, times in ns.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Finds the growing stacks of device-resident and pinned memory, section by section in order of time. A stack grows if
/// three conditions are true. At least `min_blocks` of its blocks are live at the end. The work between the first
/// allocation of these blocks and the end is at least half of all work. If that work is divided into eight equal parts,
/// some of the blocks were allocated in each part, except possibly the last. Work is measured in kernels launched, so
/// memory that a program loads before its first kernel does not count as growth. If no kernels were recorded, work is
/// measured in active time. Blocks freed at the very end count as live, because a program frees everything when it
/// exits. They do not count as live if the program continues to hold half of the bytes that it held before the first of
/// these allocations, because memory use has then returned to its earlier level.
class growth_builder {
 public:
  explicit growth_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Adds the blocks allocated or freed in `run`, the time range that `store` covers. O(blocks * log (stacks +
  /// kernels)).
  void add(const index::event_store& store, time_range run);
  /// Returns the groups, sorted by bytes, largest first. `active` is `range_statistics::active`.
  [[nodiscard]] std::vector<growing_group> metrics(time_range active) const;

  static constexpr std::uint64_t min_blocks = 8;
  static constexpr std::size_t limit = 32;

 private:
  struct birth {
    time_ns time = 0;
    time_ns died = 0;  ///< `latest_time` if never freed.
    std::uint64_t bytes = 0;
    trace::block_id block{};
    std::uint64_t kernels = 0;  ///< Number of kernels launched before the allocation.
    double in_use = 0;          ///< Bytes of this kind of memory in use before the allocation.
  };
  /// Facts about an allocation that are available only in the section in which it happens.
  struct progress {
    std::uint64_t kernels = 0;
    double in_use = 0;
  };
  using origin = std::tuple<index::memory_key, trace::process_id, trace::stack_id, trace::string_id>;
  void add(const index::block_record& block, time_ns died, const progress& before);
  [[nodiscard]] bool goes_on_as_before(const index::memory_key& memory, const birth& first) const;
  const metrics_scope& scope_;
  std::unordered_map<std::uint64_t, progress> live_;   ///< Indexed by block id.
  std::map<index::memory_key, double> in_use_at_end_;  ///< Bytes in use at the end of the latest section.
  /// For each stack, the allocations of blocks that stay live until near the end of the range. At most `max_births` per
  /// stack.
  std::map<origin, std::vector<birth>> all_;
  std::uint64_t kernels_ = 0;
  static constexpr std::size_t max_births = 65536;
};

}  // namespace sluice::metrics
