#pragma once

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

/// A tile as it is kept in memory, once it was read. Private to core.
namespace sluice::analysis {

/// The bins of one curve or lane in which something is said, in order of time.
template <class Bin>
struct stored_bins {
  std::span<const std::uint16_t> places;  ///< Which of the tile's bins each is.
  std::span<const Bin> bins;
  [[nodiscard]] std::size_t size() const { return bins.size(); }
};

/// A bin of a lane, as it is drawn: what is drawn goes through thousands, so it takes a third of what its row does.
struct drawn_bin {
  trace::event_id event{};  ///< Of the longest slice with a part in it, like what follows.
  std::uint64_t bytes = 0;  ///< Of all slices that begin in it; of steps the number of the longest.
  float busy = 0;           ///< The share of it that slices cover.
  std::uint32_t count = 0;  ///< Slices that begin in it.
  std::uint32_t name = 0;   ///< No file has as many strings: a name beyond is none.
  std::uint8_t kind = 0;
  std::uint8_t tag = 0;
};
static_assert(sizeof(drawn_bin) == 32);

/// Immutable.
class tile_rows {
 public:
  /// What a file says of the tile `where`, in these of its chunks; of so many curves and lanes. What makes no sense is left out.
  /// `joins`: bins of lanes may be drawn as one, for which it has to be known how long their longest slices are. Errors: io, corrupt.
  [[nodiscard]] static result<std::shared_ptr<const tile_rows>> read(const trace::snapshot& from,
                                                                     std::span<const trace::chunk_info> chunks,
                                                                     const timeline::tile& where, std::size_t curves,
                                                                     std::size_t lanes, bool joins);

  [[nodiscard]] stored_bins<curve_bin> curve(std::size_t number) const { return curves_.of(number); }
  [[nodiscard]] stored_bins<drawn_bin> lane(std::size_t number) const { return lanes_.of(number); }
  /// Bins [first, behind) of `lane(number)` as one that lasts from the first to the last. Of a tile that was not read for it, the longest
  /// slice of all is taken to be the first one's.
  [[nodiscard]] drawn_bin joined(std::size_t number, std::size_t first, std::size_t behind) const;
  /// Of memory.
  [[nodiscard]] std::size_t bytes() const {
    return curves_.bytes() + lanes_.bytes() + lengths_.size() * sizeof(time_ns);
  }

 private:
  template <class Bin>
  struct bins_of_many {
    std::vector<std::uint32_t> begins;  ///< Of each, and the end of the last.
    std::vector<std::uint16_t> places;
    std::vector<Bin> bins;
    [[nodiscard]] stored_bins<Bin> of(std::size_t number) const {
      if (number + 1 >= begins.size()) return {};
      const std::size_t first = begins[number], count = begins[number + 1] - first;
      return {std::span(places).subspan(first, count), std::span(bins).subspan(first, count)};
    }
    /// Says where the bins of rows lie that have these owners and times; false unless they are in order, and of this tile and so many.
    template <class Owners, class Times>
    bool place(const Owners& owner, const Times& time, std::size_t rows, const timeline::tile& where,
               std::size_t count);
    /// Replaces them by what `bin_of` makes of rows that are in order.
    template <class Row, class Make>
    void take(std::span<const Row> rows, const timeline::tile& where, std::size_t count, Make&& bin_of);
    [[nodiscard]] std::size_t bytes() const {
      return begins.size() * sizeof(std::uint32_t) + places.size() * sizeof(std::uint16_t) + bins.size() * sizeof(Bin);
    }
  };
  /// Replaces bins by what rows say; false, and they mean nothing, unless all rows are in order and make sense.
  bool take(const trace::row_values<trace::integer_bin_row>& rows, const timeline::tile& where, std::size_t count);
  bool take(const trace::row_values<trace::lane_bin_row>& rows, const timeline::tile& where, std::size_t count,
            bool joins);
  result<void> read_curves(const trace::snapshot& from, std::span<const trace::chunk_info> chunks,
                           const timeline::tile& where, std::size_t count);
  result<void> read_lanes(const trace::snapshot& from, std::span<const trace::chunk_info> chunks,
                          const timeline::tile& where, std::size_t count, bool joins);

  bins_of_many<curve_bin> curves_;
  bins_of_many<drawn_bin> lanes_;
  std::vector<time_ns> lengths_;  ///< Of the longest slice in each bin of the lanes, if some are joined; else none.
};

/// Goes through a curve's bins in a tile: where nothing is said it is constant.
class bin_walk {
 public:
  explicit bin_walk(stored_bins<curve_bin> stored) : stored_(stored) {}

  /// The `several` bins from `first` on, as one. `first` never falls.
  sampled_bin take(std::size_t first, std::size_t several);
  /// Appends the `count` bins from `first` on, each as it is.
  void take_each(std::size_t first, std::size_t count, std::vector<sampled_bin>& to);
  /// At the end of the tile.
  double last();

 private:
  void go_to(std::size_t bin);
  [[nodiscard]] sampled_bin here(std::size_t bin) const;

  stored_bins<curve_bin> stored_;
  std::size_t next_ = 0;
  double before_ = 0;
};

}  // namespace sluice::analysis
