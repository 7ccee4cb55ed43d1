#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/views/chart/chart_model.hpp"
#include "app/gui/views/parts/panel_parts.hpp"
#include "app/gui/views/parts/view.hpp"
#include "core/query/types/memory_groups.hpp"

/// A stacked chart of groups of memory over time.
namespace sluice::gui {

/// A group of memory, drawn on top of the preceding groups.
struct memory_band {
  std::uint64_t key = 0;  ///< Identifies the group; the same in all results.
  std::string label;
  ImU32 colour = 0;
  std::vector<double> bytes;  ///< One value for each part of the range.
};

/// The content of a chart. Built once per query result.
struct memory_bands {
  time_range range;                ///< Divided into parts of equal length.
  std::vector<time_ns> moments;    ///< For each part, the time at which its values apply.
  std::vector<memory_band> bands;  ///< Sorted from bottom to top.
  bool nested = false;             ///< Each band contains the next, so bands are drawn over one another instead of
                                   ///< being added up.
  double highest = 0;              ///< Maximum of `total` over all parts.
  std::size_t highest_part = 0;

  [[nodiscard]] std::size_t parts() const { return bands.empty() ? 0 : bands.front().bytes.size(); }
  /// The sum of all bands in `part`; if they are nested, the largest of them.
  [[nodiscard]] double total(std::size_t part) const;
  /// The part that contains `time`; nullopt if `time` is outside the range.
  [[nodiscard]] std::optional<std::size_t> part_at(time_ns time) const;
  [[nodiscard]] time_ns get_begin(std::size_t part) const;
  /// The time at which the values of `part` apply.
  [[nodiscard]] time_ns get_moment(std::size_t part) const;
  /// Computes `highest` and `highest_part`. Call when all bands are complete.
  void settle();
};

/// The bands as series of a chart, one for each band in the same order. Positions are ns since `bands.range.begin`.
/// O(bands * parts).
[[nodiscard]] std::vector<chart_series> make_band_series(const memory_bands& bands);

/// The band that contains a number of bytes in `part`; null if there is none.
[[nodiscard]] const memory_band* band_at(const memory_bands& bands, std::size_t part, double bytes);

/// Assigns colours to groups. A group keeps its colour while the view moves.
class band_colours {
 public:
  /// The colour of a group. If all colours are taken, one is reused from a group that has not been requested since
  /// `begin_result`.
  [[nodiscard]] ImU32 of(const view_context& with, std::uint64_t key);
  void begin_result();
  void clear() { slots_.clear(); }
  static constexpr std::size_t count = query::memory_groups::limit;

 private:
  struct slot {
    std::uint64_t key = 0;
    std::size_t colour = 0;
    bool used = true;
  };
  std::vector<slot> slots_;
};

}  // namespace sluice::gui
