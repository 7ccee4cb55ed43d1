#include "core/analysis/tile_rows.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/analysis/slice_kind.hpp"
#include "core/thread_scratch.hpp"

namespace sluice::analysis {
namespace {

using summaries::tile;
using trace::curve_bin_row;
using trace::integer_bin_row;
using trace::lane_bin_row;
using trace::tile_bins;

std::uint32_t owner_of(const curve_bin_row& row) { return row.curve; }
std::uint32_t owner_of(const integer_bin_row& row) { return row.curve; }
std::uint32_t owner_of(const lane_bin_row& row) { return row.lane; }

bool makes_sense(const curve_bin_row& row) {
  return std::isfinite(row.minimum) && std::isfinite(row.maximum) && std::isfinite(row.mean) && std::isfinite(row.last);
}
bool makes_sense(const integer_bin_row& /*row*/) { return true; }
bool makes_sense(const lane_bin_row& row) { return row.kind <= static_cast<std::uint8_t>(slice_kind::step); }

/// It is of the tile, of a curve or lane that there is, and can be.
template <class Row>
bool belongs(const Row& row, const tile& where, std::size_t owners) {
  return row.time >= where.begin && row.time < where.end() && owner_of(row) < owners && makes_sense(row);
}

/// `before`: that of the same curve or lane in the row before; null if there is none.
curve_bin bin_of(const curve_bin_row& row, const curve_bin* /*before*/) {
  const double mean = std::max(
      row.minimum, std::min(row.mean, row.maximum));  // Means are told less exactly than what they lie between.
  return {row.minimum, row.maximum, mean, row.last};
}
lane_bin bin_of(const lane_bin_row& row, const lane_bin* /*before*/) {
  constexpr time_ns longest = time_ns{1} << 52;  // So that some add up.
  return {row.count, row.kind,   row.tag,   std::clamp<time_ns>(row.busy, 0, longest),
          row.bytes, row.length, row.event, row.name};
}

curve_bin bin_of(const integer_bin_row& row, const curve_bin* before) {
  const double from = before == nullptr ? static_cast<double>(row.begin) : before->last;
  const double minimum = from - static_cast<double>(row.fall), maximum = from + static_cast<double>(row.rise);
  const double mean = minimum + std::min(trace::share_of(row.mean), 1.0) * (maximum - minimum);
  return {minimum, maximum, mean, minimum + static_cast<double>(row.last)};
}

/// Appends the rows of a kind in a tile's chunks.
template <class Row>
result<void> read_rows(const trace::snapshot& from, std::span<const trace::chunk_info> chunks, std::vector<Row>& rows) {
  for (const trace::chunk_info& chunk : chunks) {
    if (chunk.type != trace::type_of_row<Row>) continue;
    std::vector<Row> more;
    if (auto got = from.read_summary<Row>(chunk, rows.empty() ? rows : more); !got) return got;
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return {};
}

/// What rows of integers say, as rows of reals. They follow one another by curve and time, or mean nothing.
void append_integers(std::span<const integer_bin_row> rows, std::vector<curve_bin_row>& to) {
  curve_bin bin;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const integer_bin_row& row = rows[i];
    bin = bin_of(row, i > 0 && rows[i - 1].curve == row.curve ? &bin : nullptr);
    to.push_back({row.time, row.curve, bin.minimum, bin.maximum, bin.mean, bin.last});
  }
}

/// What a writer of ours leaves as it is to be, and a hostile one does not.
template <class Row>
void put_in_order(std::vector<Row>& rows, const tile& where, std::size_t count) {
  std::erase_if(rows, [&](const Row& row) { return !belongs(row, where, count); });
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tuple(owner_of(a), a.time) < std::tuple(owner_of(b), b.time);
  });
}

}  // namespace

template <class Bin>
template <class Row>
bool tile_rows::bins_of_many<Bin>::take(std::span<const Row> rows, const tile& where, std::size_t count) {
  begins.assign(count + 1, static_cast<std::uint32_t>(rows.size()));
  places.resize(rows.size());
  bins.resize(rows.size());
  std::size_t owners = 0;  // Their begins are known.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (!belongs(row, where, count)) return false;
    const std::size_t owner = owner_of(row);
    if (owner + 1 < owners || (owner + 1 == owners && row.time < rows[i - 1].time)) return false;
    const bool first = owner >= owners;
    while (owners <= owner) begins[owners++] = static_cast<std::uint32_t>(i);
    places[i] = static_cast<std::uint16_t>((row.time - where.begin) >> where.bin_level());
    bins[i] = bin_of(row, first ? nullptr : &bins[i - 1]);
  }
  return true;
}

result<void> tile_rows::read_curves(const trace::snapshot& from, std::span<const trace::chunk_info> chunks,
                                    const tile& where, std::size_t count) {
  thread_scratch<integer_bin_row> integers;
  thread_scratch<curve_bin_row> reals;
  if (auto got = read_rows(from, chunks, *integers); !got) return got;
  if (auto got = read_rows(from, chunks, *reals); !got) return got;
  if (reals->empty() && curves_.take(std::span<const integer_bin_row>(*integers), where, count)) return {};
  if (integers->empty() && curves_.take(std::span<const curve_bin_row>(*reals), where, count)) return {};
  append_integers(*integers, *reals);
  put_in_order(*reals, where, count);
  curves_.take(std::span<const curve_bin_row>(*reals), where, count);
  return {};
}

result<void> tile_rows::read_lanes(const trace::snapshot& from, std::span<const trace::chunk_info> chunks,
                                   const tile& where, std::size_t count) {
  thread_scratch<lane_bin_row> rows;
  if (auto got = read_rows(from, chunks, *rows); !got) return got;
  if (lanes_.take(std::span<const lane_bin_row>(*rows), where, count)) return {};
  put_in_order(*rows, where, count);
  lanes_.take(std::span<const lane_bin_row>(*rows), where, count);
  return {};
}

result<std::shared_ptr<const tile_rows>> tile_rows::read(const trace::snapshot& from,
                                                         std::span<const trace::chunk_info> chunks, const tile& where,
                                                         std::size_t curves, std::size_t lanes) {
  auto made = std::make_shared<tile_rows>();
  if (auto got = made->read_curves(from, chunks, where, curves); !got) return tl::unexpected(got.error());
  if (auto got = made->read_lanes(from, chunks, where, lanes); !got) return tl::unexpected(got.error());
  return std::shared_ptr<const tile_rows>(std::move(made));
}

sampled_bin bin_walk::take(std::size_t first, std::size_t several) {
  go_to(first);
  sampled_bin all = here(first);
  double mean = all.mean;
  for (std::size_t i = first + 1; i < first + several; ++i) {
    go_to(i);
    const sampled_bin bin = here(i);
    all.minimum = std::min(all.minimum, bin.minimum);
    all.maximum = std::max(all.maximum, bin.maximum);
    mean += bin.mean;
  }
  if (all.minimum != all.maximum) all.mean = mean / static_cast<double>(several);
  return all;
}

double bin_walk::last() {
  go_to(tile_bins);
  return before_;
}

void bin_walk::go_to(std::size_t bin) {
  for (; next_ < told_.size() && told_.places[next_] < bin; ++next_) before_ = told_.bins[next_].last;
}

sampled_bin bin_walk::here(std::size_t bin) const {
  if (next_ == told_.size() || told_.places[next_] != bin) return {before_, before_, before_};
  const curve_bin& told = told_.bins[next_];
  return {told.minimum, told.maximum, told.mean};
}

}  // namespace sluice::analysis
