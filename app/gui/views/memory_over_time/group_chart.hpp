#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/views/panel_parts.hpp"
#include "core/query/answers/panels/memory_groups.hpp"

/// Groups of memory over time, on top of one another.
namespace sluice::gui {

/// A group, drawn on top of those before it.
struct memory_band {
  std::uint64_t key = 0;  ///< The same for the same group in other answers.
  std::string label;
  ImU32 colour = 0;
  std::vector<double> bytes;  ///< In each part of the range.
};

/// What a chart shows: made once from an answer.
struct memory_bands {
  query::time_range range;              ///< Divided evenly by the parts.
  std::vector<query::time_ns> moments;  ///< Of each part: when its values are of.
  std::vector<memory_band> bands;       ///< From the bottom up.
  bool nested = false;                  ///< Each band contains the next: they are drawn over one another, not added up.
  double highest = 0;                   ///< Of the total.
  std::size_t highest_part = 0;

  [[nodiscard]] std::size_t parts() const { return bands.empty() ? 0 : bands.front().bytes.size(); }
  /// The sum of all bands, or the largest of nested ones.
  [[nodiscard]] double total(std::size_t part) const;
  /// The part that holds `time`; none outside.
  [[nodiscard]] std::optional<std::size_t> part_at(query::time_ns time) const;
  [[nodiscard]] query::time_ns begin_of(std::size_t part) const;
  /// When the values of `part` are of.
  [[nodiscard]] query::time_ns moment_of(std::size_t part) const;
  /// Sets `highest`. Call when all bands are there.
  void settle();
};

/// Draws the bands into `at`. `chosen`: the key of a band that stands out. O(bands * parts).
void draw_bands(const view_context& with, const time_chart& at, const memory_bands& all,
                std::optional<std::uint64_t> chosen);

/// The band under a point of the chart; null if there is none.
[[nodiscard]] const memory_band* band_at(const time_chart& at, const memory_bands& all, ImVec2 point);

/// Gives groups colours that they keep while the view moves.
class band_colours {
 public:
  /// The colour of a group. Groups that were not asked for since `begin_answer` lose their colours first.
  [[nodiscard]] ImU32 of(const view_context& with, std::uint64_t key);
  void begin_answer();
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
