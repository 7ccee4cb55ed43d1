#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/id_set.hpp"
#include "core/figures/figures_scope.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

/// What pools and caching allocators hold, and how much of it is needed over time. Sizes are in bytes.
namespace sluice::analysis {

class index;

/// One pool with recorded blocks, or the caching allocator of a framework on one device. Parts are equal numbers of
/// launches, copies, allocations and frees, in order of time: what the program does counts, not how long it takes.
struct cache_use {
  trace::pool_id pool{};  ///< None: a framework's allocator, which gets segments from the driver.
  trace::device_id device{};
  std::uint64_t reserved_maximum = 0;
  time_ns reserved_time = 0;  ///< When it was first reached.
  std::uint64_t parts = 0;    ///< 16, or 0 if the program did too little to judge.
  /// The last parts, without a break, in which at least half of the maximum was held and at most half of that was in use.
  std::uint64_t low_parts = 0;
  std::uint64_t usual_maximum = 0;   ///< Highest use in low parts.
  std::uint64_t usual_reserved = 0;  ///< Highest bytes held in low parts.

  /// The share of the parts that are low; 0 if there are none to judge.
  [[nodiscard]] double low_share() const {
    return parts == 0 ? 0 : static_cast<double>(low_parts) / static_cast<double>(parts);
  }
};

/// Collects cache uses from indexes of sections, in order of time.
class cache_use_builder {
 public:
  explicit cache_use_builder(const figures_scope& scope) : scope_(scope) {}  ///< It must outlive this.

  /// Adds the events in `run`. O(blocks * log blocks).
  void add(const index& from, time_range run);
  [[nodiscard]] std::vector<cache_use> figures() const;

 private:
  /// Some changes that follow one another.
  struct piece {
    double used = 0;      ///< Highest bytes in use.
    double reserved = 0;  ///< Highest bytes held.
    double weight = 0;    ///< Launches, copies and changes.
  };
  struct gathered {
    std::vector<piece> pieces;
    std::size_t changes_a_piece = 1;  ///< Doubles when there are too many pieces.
    double reserved_maximum = 0;
    time_ns reserved_time = 0;
  };
  using key = std::pair<trace::pool_id, trace::device_id>;
  static constexpr std::size_t most_pieces = 2048;
  static constexpr std::uint64_t all_parts = 16;
  static constexpr double least_weight = 32;

  template <class Used, class Reserved>
  static void add(gathered& to, std::vector<time_ns> changes, const Used& used, const Reserved& reserved,
                  const index& from, time_range run);
  /// What a pool holds is only known from samples. It grows only to hand memory out, so what a sample shows was held since
  /// the use that needed it.
  static void hold_until_sampled(std::vector<piece>& pieces);
  [[nodiscard]] std::map<trace::device_id, timeline::level_tree> segments_of(const memory_use& memory);

  const figures_scope& scope_;
  std::map<key, gathered> all_;
  id_set segments_;  ///< Driver blocks in which a framework's blocks lie.
};

}  // namespace sluice::analysis
