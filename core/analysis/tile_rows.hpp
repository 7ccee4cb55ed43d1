#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/analysis/sampled_bin.hpp"
#include "core/analysis/tile_bins.hpp"
#include "core/error.hpp"
#include "core/summary/tiles.hpp"
#include "core/trace/reader.hpp"

/// A tile as it is kept in memory, once it was read. Private to core/analysis.
namespace sluice::analysis {

/// The bins of one curve or lane in which something is said, in order of time.
template <class Bin>
struct told_bins {
  std::span<const std::uint16_t> places;  ///< Which of the tile's bins each is.
  std::span<const Bin> bins;
  [[nodiscard]] std::size_t size() const { return bins.size(); }
};

/// Immutable. A bin takes three quarters of what its row does: what is drawn goes through thousands.
class tile_rows {
 public:
  /// What a file says of the tile `where`, in these of its chunks; of so many curves and lanes. What makes no sense is left out.
  /// `joins`: bins of lanes may be drawn as one, for which it has to be known how long their longest slices are. Errors: io, corrupt.
  [[nodiscard]] static result<std::shared_ptr<const tile_rows>> read(const trace::snapshot& from,
                                                                     std::span<const trace::chunk_info> chunks,
                                                                     const summaries::tile& where, std::size_t curves,
                                                                     std::size_t lanes, bool joins);

  [[nodiscard]] told_bins<curve_bin> curve(std::size_t number) const { return curves_.of(number); }
  [[nodiscard]] told_bins<lane_bin> lane(std::size_t number) const { return lanes_.of(number); }
  /// Of memory.
  [[nodiscard]] std::size_t bytes() const { return curves_.bytes() + lanes_.bytes(); }

 private:
  template <class Bin>
  struct bins_of_many {
    std::vector<std::uint32_t> begins;  ///< Of each, and the end of the last.
    std::vector<std::uint16_t> places;
    std::vector<Bin> bins;
    [[nodiscard]] told_bins<Bin> of(std::size_t number) const {
      if (number + 1 >= begins.size()) return {};
      const std::size_t first = begins[number], count = begins[number + 1] - first;
      return {std::span(places).subspan(first, count), std::span(bins).subspan(first, count)};
    }
    /// Says where the bins of rows lie that have these owners and times; false unless they are in order, and of this tile and so many.
    template <class Owners, class Times>
    bool place(const Owners& owner, const Times& time, std::size_t rows, const summaries::tile& where,
               std::size_t count);
    /// Replaces them by what rows say that are in order.
    template <class Row>
    void take(std::span<const Row> rows, const summaries::tile& where, std::size_t count);
    [[nodiscard]] std::size_t bytes() const {
      return begins.size() * sizeof(std::uint32_t) + places.size() * sizeof(std::uint16_t) + bins.size() * sizeof(Bin);
    }
  };
  /// Replaces bins by what rows say; false, and they mean nothing, unless all rows are in order and make sense.
  bool take(const trace::row_values<trace::integer_bin_row>& rows, const summaries::tile& where, std::size_t count);
  bool take(const trace::row_values<trace::lane_bin_row>& rows, const summaries::tile& where, std::size_t count);
  result<void> read_curves(const trace::snapshot& from, std::span<const trace::chunk_info> chunks,
                           const summaries::tile& where, std::size_t count);
  result<void> read_lanes(const trace::snapshot& from, std::span<const trace::chunk_info> chunks,
                          const summaries::tile& where, std::size_t count, bool joins);

  bins_of_many<curve_bin> curves_;
  bins_of_many<lane_bin> lanes_;
};

/// Goes through a curve's bins in a tile: where nothing is said it is constant.
class bin_walk {
 public:
  explicit bin_walk(told_bins<curve_bin> told) : told_(told) {}

  /// The `several` bins from `first` on, as one. `first` never falls.
  sampled_bin take(std::size_t first, std::size_t several);
  /// As many bins as `to` has, from `first` on, each as it is.
  void take_each(std::size_t first, std::span<sampled_bin> to);
  /// At the end of the tile.
  double last();

 private:
  void go_to(std::size_t bin);
  [[nodiscard]] sampled_bin here(std::size_t bin) const;

  told_bins<curve_bin> told_;
  std::size_t next_ = 0;
  double before_ = 0;
};

}  // namespace sluice::analysis
