#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/summary/tiles/tile_bins.hpp"
#include "core/timeline/sampled_bin.hpp"
#include "core/timeline/tile_grid.hpp"
#include "core/trace/file/reader.hpp"

/// Reads a part of a tile (some of its curves or lanes) into memory. Private to core.
namespace sluice::summary {

/// The stored bins of one curve or lane, in order of time. Bins that repeat the previous value are not stored.
template <class Bin>
struct stored_bins {
  std::span<const std::uint16_t> places;  ///< For each stored bin, its position in the tile.
  std::span<const Bin> bins;
  [[nodiscard]] std::size_t size() const { return bins.size(); }
};

/// A bin of a lane, for drawing. Thousands of bins are processed per frame, so a bin takes only a third of the size of
/// its row.
struct drawn_bin {
  trace::event_id event{};  ///< The longest slice in the bin. Members without a comment also describe that slice.
  /// Sum over the slices that begin in the bin. If the slices are steps, the number of the longest step.
  std::uint64_t bytes = 0;
  float busy = 0;           ///< The share of the bin that slices cover.
  std::uint32_t count = 0;  ///< Number of slices that begin in the bin.
  std::uint32_t name = 0;   ///< 0 if the id exceeds 32 bits, which does not happen in a real file.
  std::uint8_t kind = 0;
  std::uint8_t tag = 0;
};
static_assert(sizeof(drawn_bin) == 32);

/// The kind of rows in a part of a tile.
enum class tile_content : std::uint8_t { curves, lanes };

/// Curves or lanes with consecutive numbers: [first, behind).
struct owner_range {
  std::uint32_t first = 0;
  std::uint32_t behind = 0;
  friend auto operator<=>(const owner_range&, const owner_range&) = default;
  [[nodiscard]] bool holds(std::size_t number) const { return number >= first && number < behind; }
  [[nodiscard]] std::size_t count() const { return behind - first; }
};

/// Some curves or some lanes of a tile. Immutable.
class tile_rows {
 public:
  /// Reads the curves or lanes `owners` of the tile `where` from `chunks`, which must contain all their rows. Ignores
  /// corrupt rows, and rows of other owners. If `joins`, also reads the lengths of slices, which are needed to merge
  /// bins of lanes when drawing. Errors: io, corrupt.
  [[nodiscard]] static result<std::shared_ptr<const tile_rows>> read(const trace::snapshot& recording,
                                                                     std::span<const trace::chunk_info> chunks,
                                                                     const timeline::tile& where, tile_content content,
                                                                     owner_range owners, bool joins);

  [[nodiscard]] owner_range owners() const { return owners_; }
  // In the following functions, `number` must be in `owners()`.

  [[nodiscard]] stored_bins<curve_bin> curve(std::size_t number) const { return curves_.of(number - owners_.first); }
  [[nodiscard]] stored_bins<drawn_bin> lane(std::size_t number) const { return lanes_.of(number - owners_.first); }
  /// Merges bins [first, behind) of `lane(number)` into one. If the tile was read without `joins`, the slice in the
  /// first bin is assumed to be the longest.
  [[nodiscard]] drawn_bin joined(std::size_t number, std::size_t first, std::size_t behind) const;
  /// The memory that this object takes, in bytes.
  [[nodiscard]] std::size_t bytes() const {
    return curves_.bytes() + lanes_.bytes() + lengths_.size() * sizeof(time_ns);
  }

 private:
  template <class Bin>
  struct bins_of_many {
    /// Index of the first bin of each owner; the last element is the total number of bins.
    std::vector<std::uint32_t> begins;
    std::vector<std::uint16_t> places;
    std::vector<Bin> bins;
    [[nodiscard]] stored_bins<Bin> of(std::size_t number) const {
      if (number + 1 >= begins.size()) return {};
      const std::size_t first = begins[number], count = begins[number + 1] - first;
      return {std::span(places).subspan(first, count), std::span(bins).subspan(first, count)};
    }
    /// Sets `begins` and `places`. Returns false unless the rows are sorted, their times are in the tile `where`, and
    /// their owners are in `owners`.
    template <class Owners, class Times>
    bool place(const Owners& owner, const Times& time, std::size_t rows, const timeline::tile& where,
               owner_range owners);
    /// Replaces the bins by `find_bin(row)` for each of `rows`, which must be in order.
    template <class Row, class Make>
    void take(std::span<const Row> rows, const timeline::tile& where, owner_range owners, Make&& find_bin);
    [[nodiscard]] std::size_t bytes() const {
      return begins.size() * sizeof(std::uint32_t) + places.size() * sizeof(std::uint16_t) + bins.size() * sizeof(Bin);
    }
  };
  /// Replaces the bins by those of `rows`. Returns false, leaving the bins invalid, unless all rows are in order and
  /// valid.
  bool take(const trace::row_values<trace::integer_bin_row>& rows, const timeline::tile& where);
  bool take(const trace::row_values<trace::lane_bin_row>& rows, const timeline::tile& where, bool joins);
  result<void> read_curves(const trace::snapshot& recording, std::span<const trace::chunk_info> chunks,
                           const timeline::tile& where);
  result<void> read_lanes(const trace::snapshot& recording, std::span<const trace::chunk_info> chunks,
                          const timeline::tile& where, bool joins);

  owner_range owners_;
  bins_of_many<curve_bin> curves_;
  bins_of_many<drawn_bin> lanes_;
  /// The length of the longest slice in each bin of the lanes, in ns; empty without `joins`.
  std::vector<time_ns> lengths_;
};

/// Iterates over the bins of a curve in a tile. Between stored bins, the curve is constant.
class bin_walk {
 public:
  explicit bin_walk(stored_bins<curve_bin> stored) : stored_(stored) {}

  /// Merges the `several` bins from bin `first` on into one. `first` must not decrease between calls.
  timeline::sampled_bin take(std::size_t first, std::size_t several);
  /// Appends the `count` bins from bin `first` on, without merging them.
  void take_each(std::size_t first, std::size_t count, std::vector<timeline::sampled_bin>& to);
  /// Returns the curve's value at the end of the tile.
  double last();

 private:
  void go_to(std::size_t bin);
  [[nodiscard]] timeline::sampled_bin here(std::size_t bin) const;

  stored_bins<curve_bin> stored_;
  std::size_t next_ = 0;
  double before_ = 0;
};

}  // namespace sluice::summary
