#include "core/analysis/tile_rows.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/analysis/slice_kind.hpp"

namespace sluice::analysis {
namespace {

using summaries::tile;
using trace::curve_bin_row;
using trace::integer_bin_row;
using trace::lane_bin_row;
using trace::row_type;
using trace::tile_bins;

/// Of a thread, for the next tile; more than most recordings have in one.
constexpr std::size_t most_rows_kept = std::size_t{1} << 14;

std::uint32_t owner_of(const curve_bin_row& row) { return row.curve; }
std::uint32_t owner_of(const lane_bin_row& row) { return row.lane; }

bool makes_sense(const curve_bin_row& row) {
  return std::isfinite(row.minimum) && std::isfinite(row.maximum) && std::isfinite(row.mean) && std::isfinite(row.last);
}
bool makes_sense(const lane_bin_row& row) { return row.kind <= static_cast<std::uint8_t>(slice_kind::step); }

curve_bin bin_of(const curve_bin_row& row) {
  const double mean = std::max(
      row.minimum, std::min(row.mean, row.maximum));  // Means are told less exactly than what they lie between.
  return {row.minimum, row.maximum, mean, row.last};
}
lane_bin bin_of(const lane_bin_row& row) {
  constexpr time_ns longest = time_ns{1} << 52;  // So that some add up.
  return {row.count, row.kind,   row.tag,   std::clamp<time_ns>(row.busy, 0, longest),
          row.bytes, row.length, row.event, row.name};
}

/// What rows of integers say, as that of doubles. They follow one another by curve and time, or mean nothing.
void append_integers(std::span<const integer_bin_row> rows, std::vector<curve_bin_row>& to) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const integer_bin_row& row = rows[i];
    const bool first = i == 0 || rows[i - 1].curve != row.curve;
    const double before = first ? static_cast<double>(row.begin) : to.back().last;
    const double minimum = before - static_cast<double>(row.fall), maximum = before + static_cast<double>(row.rise);
    const double mean = minimum + trace::share_of(row.mean) * (maximum - minimum);
    to.push_back({row.time, row.curve, minimum, maximum, mean, minimum + static_cast<double>(row.last)});
  }
}

result<void> read_integers(const trace::snapshot& from, std::span<const trace::chunk_info> chunks,
                           std::vector<curve_bin_row>& to) {
  thread_local std::vector<integer_bin_row> rows;
  for (const trace::chunk_info& chunk : chunks) {
    if (chunk.type != row_type::integer_bin) continue;
    if (auto got = from.read_summary<integer_bin_row>(chunk, rows); !got) return got;
    append_integers(rows, to);
    if (rows.capacity() > most_rows_kept) rows = {};
  }
  return {};
}

}  // namespace

template <class Row, class Bin>
result<void> tile_rows::read(const trace::snapshot& from, std::span<const trace::chunk_info> chunks, const tile& where,
                             std::size_t count, bins_of_many<Bin>& into) {
  // Used again: fresh memory for the rows of a tile would take as long as to decode them.
  thread_local std::vector<Row> kept;
  std::vector<Row> all = std::exchange(kept, {});
  all.clear();
  for (const trace::chunk_info& chunk : chunks) {
    if (chunk.type != trace::type_of_row<Row>) continue;
    std::vector<Row> more;
    if (auto got = from.read_summary<Row>(chunk, all.empty() ? all : more); !got) return got;
    all.insert(all.end(), more.begin(), more.end());
  }
  if constexpr (std::is_same_v<Row, curve_bin_row>) {
    if (auto got = read_integers(from, chunks, all); !got) return got;
  }
  // What a writer of ours leaves in order, and a hostile one does not.
  std::erase_if(all, [&](const Row& row) {
    return row.time < where.begin || row.time >= where.end() || owner_of(row) >= count || !makes_sense(row);
  });
  const auto before = [](const Row& a, const Row& b) {
    return std::tuple(owner_of(a), a.time) < std::tuple(owner_of(b), b.time);
  };
  if (!std::is_sorted(all.begin(), all.end(), before)) std::sort(all.begin(), all.end(), before);
  into.begins.reserve(count + 1);
  into.places.reserve(all.size());
  into.bins.reserve(all.size());
  for (const Row& row : all) {
    while (into.begins.size() <= owner_of(row)) into.begins.push_back(static_cast<std::uint32_t>(into.bins.size()));
    into.places.push_back(static_cast<std::uint16_t>((row.time - where.begin) >> where.bin_level()));
    into.bins.push_back(bin_of(row));
  }
  into.begins.resize(count + 1, static_cast<std::uint32_t>(into.bins.size()));
  if (all.capacity() <= most_rows_kept) kept = std::move(all);
  return {};
}

result<std::shared_ptr<const tile_rows>> tile_rows::read(const trace::snapshot& from,
                                                         std::span<const trace::chunk_info> chunks, const tile& where,
                                                         std::size_t curves, std::size_t lanes) {
  auto made = std::make_shared<tile_rows>();
  if (auto got = read<curve_bin_row>(from, chunks, where, curves, made->curves_); !got)
    return tl::unexpected(got.error());
  if (auto got = read<lane_bin_row>(from, chunks, where, lanes, made->lanes_); !got) return tl::unexpected(got.error());
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
