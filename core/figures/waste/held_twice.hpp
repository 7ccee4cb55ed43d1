#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/figures/figures_scope.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// Tensors that are held in two types: a kernel made a copy of half or a quarter of the size, or of twice or four times
/// the size, and both stay. Sizes are in bytes.
namespace sluice::analysis {

class index;
struct memory_peak;

/// Such pairs of blocks that the same two call stacks made, live at the peak.
struct held_twice {
  trace::device_id device{};
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  time_ns peak_time = 0;
  std::uint64_t peak_bytes = 0;
  trace::stack_id stack{};       ///< Of the originals.
  trace::stack_id copy_stack{};  ///< Of the copies.
  std::uint64_t blocks = 0;      ///< Pairs.
  std::uint64_t bytes = 0;       ///< Of the originals.
  std::uint64_t copy_bytes = 0;
  trace::block_id largest{};  ///< The largest copy.
  std::uint64_t largest_bytes = 0;
};

/// Finds such pairs in indexes of sections, in order of time; nothing if no uses (touches) were recorded. The copy's first
/// use is a kernel that is given the original and the copy and nothing else, and both are live for most of the time from
/// then on. Gradients, activations and inputs do not count.
class held_twice_builder {
 public:
  explicit held_twice_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Pairs whose copy is born in one run of sections.
  class of_run;
  /// Finds such pairs in `run`, the time range of `from`. May be called from several threads at the same time.
  /// O(blocks + accesses).
  [[nodiscard]] of_run find(const index& from, time_range run) const;
  /// Adds what was found, and the blocks that end in `run`. Call for every run, in order of time. O(pairs).
  void add(const of_run& found, const index& from, time_range run);
  /// Most bytes of copies first. `active`: `range_statistics::active`.
  [[nodiscard]] std::vector<held_twice> figures(std::span<const memory_peak> peaks, time_range active) const;

  static constexpr std::uint64_t least_bytes = std::uint64_t{1} << 16U;  ///< Smaller blocks are not looked at.
  static constexpr std::uint64_t rounding = 2048;  ///< In bytes. Allocators round sizes up, so ratios are not exact.
  static constexpr std::size_t limit = 32;

 private:
  struct half {
    trace::stack_id stack{};
    std::uint64_t bytes = 0;
    time_ns died = latest_time;  ///< `latest_time` if never freed.
  };
  struct pair {
    memory_key of;
    half original;
    half copy;
    trace::block_id block{};  ///< The copy.
    time_ns made = 0;
  };
  struct live_half {
    trace::block_id block{};
    half of;
    bool ended = false;  ///< Its death and the members below are known.
    bool lasts = false;  ///< By its category.
    bool categorised = false;
    time_ns last_use = 0;
  };
  struct live_pair {
    memory_key of;
    live_half original;
    live_half copy;
    time_ns made = 0;
  };
  static constexpr std::size_t most_pairs = 65536;
  /// Keeps the pair, both halves of which ended, if it is held twice.
  void keep(const live_pair& of);
  const figures_scope& scope_;
  std::vector<live_pair> live_;  ///< A half of each lives on.
  std::vector<pair> pairs_;
  time_ns last_use_ =
      -latest_time;  ///< Of any block of a pair: the active time ends with device times, if there are some.
};

class held_twice_builder::of_run {
  friend class held_twice_builder;
  std::vector<live_pair> pairs_;
};

}  // namespace sluice::analysis
