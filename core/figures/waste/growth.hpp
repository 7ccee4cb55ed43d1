#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Call stacks whose memory only grows: a leak, or a container that nothing empties. Sizes are in bytes, times in ns.
namespace sluice::analysis {

class index;

/// Blocks of one call stack that are still live at the end, and kept coming until then.
struct growing_group {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  trace::process_id process{};
  trace::stack_id stack{};
  trace::string_id name{};
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  time_ns first = 0;  ///< Birth of the first and of the last of them.
  time_ns last = 0;
  trace::block_id newest{};
};

/// Finds growing stacks of device-resident and pinned memory from indexes of sections, in order of time. A stack grows
/// if at least `least_blocks` of its blocks are live at the end, some of them born in each of eight equal parts of the
/// work from the first one's birth to the end, and this is at least half of all work. Work counts by the kernels launched:
/// what a program loads before the first does not grow. Where none were recorded, it counts by the active time. What is freed at
/// the very end counts as live, as a program frees everything when it ends; but not if the program still holds half of what it
/// did before the first of these births: then it has come back to where it began.
class growth_builder {
 public:
  explicit growth_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Adds the blocks that are born or end in `run`, the time range of `from`. O(blocks * log (stacks + kernels)).
  void add(const index& from, time_range run);
  /// Largest first. `active`: `range_statistics::active`.
  [[nodiscard]] std::vector<growing_group> figures(time_range active) const;

  static constexpr std::uint64_t least_blocks = 8;
  static constexpr std::size_t limit = 32;

 private:
  struct birth {
    time_ns time = 0;
    time_ns died = 0;  ///< `latest_time` if never freed.
    std::uint64_t bytes = 0;
    trace::block_id block{};
    std::uint64_t kernels = 0;  ///< Launched before it.
    double in_use = 0;          ///< Bytes of its memory in use before it.
  };
  /// Of a birth, what only the section of the birth shows.
  struct progress {
    std::uint64_t kernels = 0;
    double in_use = 0;
  };
  using origin = std::tuple<memory_key, trace::process_id, trace::stack_id, trace::string_id>;
  void add(const block_record& block, time_ns died, const progress& before);
  [[nodiscard]] bool goes_on_as_before(const memory_key& memory, const birth& first) const;
  const figures_scope& scope_;
  std::unordered_map<std::uint64_t, progress> live_;  ///< By id of the block.
  std::map<memory_key, double> in_use_at_end_;        ///< Bytes at the end of the latest section.
  /// Blocks that live to near the end of the range: the births of each stack, at most `most_births`.
  std::map<origin, std::vector<birth>> all_;
  std::uint64_t kernels_ = 0;
  static constexpr std::size_t most_births = 65536;
};

}  // namespace sluice::analysis
