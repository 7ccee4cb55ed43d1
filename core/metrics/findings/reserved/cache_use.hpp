#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/id_set.hpp"
#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/report/waste/reserved.hpp"
#include "core/trace/model/model.hpp"

/// Computes how much memory pools and caching allocators hold, and how much of that memory the program needs over time.
/// Sizes are in bytes.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Builds the `cache_use` metrics section by section, in order of time.
class cache_use_builder {
 public:
  explicit cache_use_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Adds the events in `run`. O(blocks * log blocks).
  void add(const index::event_store& store, time_range run);
  [[nodiscard]] std::vector<cache_use> metrics() const;

 private:
  /// Several consecutive changes of the pool's or allocator's memory, merged.
  struct piece {
    double used = 0;      ///< The highest number of bytes in use.
    double reserved = 0;  ///< The highest number of bytes held.
    double weight = 0;    ///< The number of launches, copies, allocations and frees.
  };
  struct gathered {
    std::vector<piece> pieces;
    /// The number of changes that form a piece. It doubles whenever there are more than `max_pieces` pieces.
    std::size_t changes_a_piece = 1;
    double reserved_maximum = 0;
    time_ns reserved_time = 0;
  };
  using key = std::pair<trace::pool_id, trace::device_id>;
  static constexpr std::size_t max_pieces = 2048;
  static constexpr std::uint64_t all_parts = 16;
  static constexpr double min_weight = 32;

  template <class Used, class Reserved>
  static void add(gathered& to, std::vector<time_ns> changes, const Used& used, const Reserved& reserved,
                  const index::event_store& store, time_range run);
  /// Applies sampled sizes to earlier pieces. A pool's reserved size is known only from samples. Because a pool grows
  /// only to hand memory out, the size in a sample is assumed to apply from the increase in use that required this
  /// size.
  static void hold_until_sampled(std::vector<piece>& pieces);
  [[nodiscard]] std::map<trace::device_id, timeline::level_tree> format_segments(const index::memory_use& memory);

  const metrics_scope& scope_;
  std::map<key, gathered> all_;
  id_set segments_;  ///< Driver blocks that contain a framework's blocks.
};

}  // namespace sluice::metrics
