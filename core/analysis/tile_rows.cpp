#include "core/analysis/tile_rows.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/analysis/slice_kind.hpp"
#include "core/thread_scratch.hpp"
#include "core/trace/row_values.hpp"

namespace sluice::analysis {
namespace {

using summaries::tile;
using trace::curve_bin_row;
using trace::integer_bin_row;
using trace::lane_bin_row;
using trace::tile_bins;

std::uint32_t owner_of(const curve_bin_row& row) { return row.curve; }
std::uint32_t owner_of(const lane_bin_row& row) { return row.lane; }

bool is_slice_kind(std::uint8_t kind) { return kind <= static_cast<std::uint8_t>(slice_kind::step); }

bool makes_sense(const curve_bin_row& row) {
  return std::isfinite(row.minimum) && std::isfinite(row.maximum) && std::isfinite(row.mean) && std::isfinite(row.last);
}
bool makes_sense(const lane_bin_row& row) { return is_slice_kind(row.kind); }

/// It is of the tile, of a curve or lane that there is, and can be.
template <class Row>
bool belongs(const Row& row, const tile& where, std::size_t owners) {
  return row.time >= where.begin && row.time < where.end() && owner_of(row) < owners && makes_sense(row);
}

/// So that some add up, whatever a file says.
time_ns bounded_busy(time_ns busy) { return std::clamp<time_ns>(busy, 0, time_ns{1} << 52); }

curve_bin bin_of(const curve_bin_row& row) {
  const double mean = std::max(
      row.minimum, std::min(row.mean, row.maximum));  // Means are told less exactly than what they lie between.
  return {row.minimum, row.maximum, mean, row.last};
}
lane_bin bin_of(const lane_bin_row& row) {
  return {row.count, row.kind, row.tag, bounded_busy(row.busy), row.bytes, row.length, row.event, row.name};
}

/// `before`: the curve's value where the bin begins.
curve_bin bin_of(const integer_bin_row& row, double before) {
  const double minimum = before - static_cast<double>(row.fall), maximum = before + static_cast<double>(row.rise);
  const double mean = minimum + std::min(trace::share_of(row.mean), 1.0) * (maximum - minimum);
  return {minimum, maximum, mean, minimum + static_cast<double>(row.last)};
}

/// A member of rows, by their places.
template <class Row, class Member>
struct of_rows {
  std::span<const Row> rows;
  Member member;
  of_rows(std::span<const Row> of, Member which) : rows(of), member(which) {}
  auto operator[](std::size_t i) const { return member(rows[i]); }
};

/// Where all rows of these kinds are in one chunk, as they are in every tile of ours but the largest; else null.
template <class... Rows>
const trace::chunk_info* only_chunk(std::span<const trace::chunk_info> chunks) {
  const auto is_of_them = [](const trace::chunk_info& chunk) {
    return ((chunk.type == trace::type_of_row<Rows>) || ...);
  };
  const auto found = std::find_if(chunks.begin(), chunks.end(), is_of_them);
  return found != chunks.end() && std::none_of(found + 1, chunks.end(), is_of_them) ? &*found : nullptr;
}

/// Appends the rows of a kind in a tile's chunks.
template <class Row>
result<void> read_rows(const trace::snapshot& from, std::span<const trace::chunk_info> chunks, std::vector<Row>& rows) {
  std::vector<Row> more;
  for (const trace::chunk_info& chunk : chunks) {
    if (chunk.type != trace::type_of_row<Row>) continue;
    if (auto got = from.read_summary<Row>(chunk, more); !got) return got;
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return {};
}

/// What rows of integers say, as rows of reals. They follow one another by curve and time, or mean nothing.
void append_integers(std::span<const integer_bin_row> rows, std::vector<curve_bin_row>& to) {
  curve_bin bin;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const integer_bin_row& row = rows[i];
    bin = bin_of(row, i > 0 && rows[i - 1].curve == row.curve ? bin.last : static_cast<double>(row.begin));
    to.push_back({row.time, row.curve, bin.minimum, bin.maximum, bin.mean, bin.last});
  }
}

/// What a writer of ours leaves as it is to be, and a hostile one does not.
template <class Row>
void put_in_order(std::vector<Row>& rows, const tile& where, std::size_t count) {
  std::erase_if(rows, [&](const Row& row) { return !belongs(row, where, count); });
  const auto before = [](const Row& a, const Row& b) {
    return std::tuple(owner_of(a), a.time) < std::tuple(owner_of(b), b.time);
  };
  if (!std::is_sorted(rows.begin(), rows.end(), before)) std::stable_sort(rows.begin(), rows.end(), before);
}

}  // namespace

template <class Bin>
template <class Owners, class Times>
bool tile_rows::bins_of_many<Bin>::place(const Owners& owner, const Times& time, std::size_t rows, const tile& where,
                                         std::size_t count) {
  begins.assign(count + 1, static_cast<std::uint32_t>(rows));
  places.resize(rows);
  std::size_t owners = 0;  // Their begins are known.
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint64_t offset = static_cast<std::uint64_t>(time[i]) - static_cast<std::uint64_t>(where.begin);
    const std::uint64_t bin = offset >> where.bin_level();
    const std::uint64_t in_all = owner[i] * std::uint64_t{tile_bins} + bin;
    if (owner[i] >= count || bin >= tile_bins || in_all < before) return false;
    before = in_all;
    while (owners <= owner[i]) begins[owners++] = static_cast<std::uint32_t>(i);
    places[i] = static_cast<std::uint16_t>(bin);
  }
  return true;
}

template <class Bin>
template <class Row>
void tile_rows::bins_of_many<Bin>::take(std::span<const Row> rows, const tile& where, std::size_t count) {
  bins.clear();
  for (const Row& row : rows) bins.push_back(bin_of(row));
  place(of_rows(rows, [](const Row& row) { return owner_of(row); }),
        of_rows(rows, [](const Row& row) { return row.time; }), rows.size(), where, count);
}

bool tile_rows::take(const trace::row_values<integer_bin_row>& rows, const tile& where, std::size_t count) {
  if (!curves_.place(rows.of(&integer_bin_row::curve), rows.of(&integer_bin_row::time), rows.size(), where, count))
    return false;
  const auto begin = rows.of(&integer_bin_row::begin), fall = rows.of(&integer_bin_row::fall),
             rise = rows.of(&integer_bin_row::rise);
  const auto last = rows.of(&integer_bin_row::last);
  const auto mean = rows.of(&integer_bin_row::mean);
  curves_.bins.clear();
  curves_.bins.reserve(rows.size());
  for (std::size_t curve = 0; curve < count; ++curve) {
    const std::size_t first = curves_.begins[curve], behind = curves_.begins[curve + 1];
    double before = first < behind ? static_cast<double>(begin[first]) : 0;
    for (std::size_t i = first; i < behind; ++i) {
      const integer_bin_row row{.fall = fall[i], .rise = rise[i], .last = last[i], .mean = mean[i]};
      before = curves_.bins.emplace_back(bin_of(row, before)).last;
    }
  }
  return true;
}

bool tile_rows::take(const trace::row_values<lane_bin_row>& rows, const tile& where, std::size_t count) {
  if (!lanes_.place(rows.of(&lane_bin_row::lane), rows.of(&lane_bin_row::time), rows.size(), where, count))
    return false;
  const auto for_each_member = [](auto&& use) {
    use(&lane_bin_row::count, &lane_bin::count);
    use(&lane_bin_row::busy, &lane_bin::busy);
    use(&lane_bin_row::bytes, &lane_bin::bytes);
    use(&lane_bin_row::length, &lane_bin::length);
    use(&lane_bin_row::event, &lane_bin::event);
    use(&lane_bin_row::name, &lane_bin::name);
    use(&lane_bin_row::kind, &lane_bin::kind);
    use(&lane_bin_row::tag, &lane_bin::tag);
  };
  lane_bin alike;
  if (rows.size() != 0) for_each_member([&](auto from, auto to) { alike.*to = rows.of(from)[0]; });
  lanes_.bins.clear();
  lanes_.bins.reserve(rows.size());
  bool sound = true;
  // Some at a time, which stay near while each of their members is set.
  constexpr std::size_t near = 128;
  for (std::size_t at = 0; at < rows.size(); at += near) {
    const std::size_t behind = std::min(rows.size(), at + near);
    lanes_.bins.resize(behind, alike);
    for_each_member([&](auto from, auto to) {
      const auto values = rows.of(from);
      if (values.is_constant()) return;
      for (std::size_t i = at; i < behind; ++i) lanes_.bins[i].*to = values[i];
    });
    for (std::size_t i = at; i < behind; ++i) {
      lane_bin& bin = lanes_.bins[i];
      bin.busy = bounded_busy(bin.busy);
      sound &= is_slice_kind(bin.kind);
    }
  }
  return sound;
}

result<void> tile_rows::read_curves(const trace::snapshot& from, std::span<const trace::chunk_info> chunks,
                                    const tile& where, std::size_t count) {
  if (const trace::chunk_info* const chunk = only_chunk<curve_bin_row, integer_bin_row>(chunks);
      chunk != nullptr && chunk->type == trace::row_type::integer_bin) {
    thread_local trace::row_values<integer_bin_row> values;
    if (auto got = from.read_summary<integer_bin_row>(*chunk, values); !got) return got;
    if (take(values, where, count)) return {};
  }
  thread_scratch<integer_bin_row> integers;
  thread_scratch<curve_bin_row> rows;
  if (auto got = read_rows(from, chunks, *integers); !got) return got;
  if (auto got = read_rows(from, chunks, *rows); !got) return got;
  append_integers(*integers, *rows);
  put_in_order(*rows, where, count);
  curves_.take(std::span<const curve_bin_row>(*rows), where, count);
  return {};
}

result<void> tile_rows::read_lanes(const trace::snapshot& from, std::span<const trace::chunk_info> chunks,
                                   const tile& where, std::size_t count, bool joins) {
  if (const trace::chunk_info* const chunk = only_chunk<lane_bin_row>(chunks)) {
    constexpr auto but_lengths = trace::column_set<lane_bin_row>::of(
        &lane_bin_row::lane, &lane_bin_row::time, &lane_bin_row::count, &lane_bin_row::busy, &lane_bin_row::bytes,
        &lane_bin_row::event, &lane_bin_row::name, &lane_bin_row::kind, &lane_bin_row::tag);
    const auto wanted = joins ? trace::column_set<lane_bin_row>() : but_lengths;
    thread_local trace::row_values<lane_bin_row> values;
    if (auto got = from.read_summary<lane_bin_row>(*chunk, values, wanted); !got) return got;
    if (take(values, where, count)) return {};
  }
  thread_scratch<lane_bin_row> rows;
  if (auto got = read_rows(from, chunks, *rows); !got) return got;
  put_in_order(*rows, where, count);
  lanes_.take(std::span<const lane_bin_row>(*rows), where, count);
  return {};
}

result<std::shared_ptr<const tile_rows>> tile_rows::read(const trace::snapshot& from,
                                                         std::span<const trace::chunk_info> chunks, const tile& where,
                                                         std::size_t curves, std::size_t lanes, bool joins) {
  auto made = std::make_shared<tile_rows>();
  if (auto got = made->read_curves(from, chunks, where, curves); !got) return tl::unexpected(got.error());
  if (auto got = made->read_lanes(from, chunks, where, lanes, joins); !got) return tl::unexpected(got.error());
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

void bin_walk::take_each(std::size_t first, std::span<sampled_bin> to) {
  for (std::size_t i = 0; i < to.size();) {
    go_to(first + i);
    const std::size_t told = next_ < told_.size() ? told_.places[next_] - first : to.size();
    for (const std::size_t until = std::min(told, to.size()); i < until; ++i) to[i] = {before_, before_, before_};
    if (i == to.size()) return;
    const curve_bin& bin = told_.bins[next_];
    to[i++] = {bin.minimum, bin.maximum, bin.mean};
  }
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
