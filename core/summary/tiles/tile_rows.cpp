#include "core/summary/tiles/tile_rows.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/base/thread_scratch.hpp"
#include "core/timeline/slice_kind.hpp"
#include "core/trace/columns/row_values.hpp"

namespace sluice::summary {
namespace {

using timeline::tile;
using trace::curve_bin_row;
using trace::integer_bin_row;
using trace::lane_bin_row;
using trace::tile_bins;

std::uint32_t find_owner(const curve_bin_row& row) { return row.curve; }
std::uint32_t find_owner(const lane_bin_row& row) { return row.lane; }

bool is_slice_kind(std::uint8_t kind) { return kind <= static_cast<std::uint8_t>(timeline::slice_kind::step); }

bool makes_sense(const curve_bin_row& row) {
  return std::isfinite(row.minimum) && std::isfinite(row.maximum) && std::isfinite(row.mean) &&
         std::isfinite(row.last) && std::isfinite(row.below_peak) && row.minimum <= row.maximum;
}
bool makes_sense(const lane_bin_row& row) { return is_slice_kind(row.kind); }

/// True if the row is in the tile, belongs to one of the curves or lanes to read, and has valid values.
template <class Row>
bool belongs(const Row& row, const tile& where, owner_range owners) {
  return row.time >= where.begin && row.time < where.end() && owners.holds(find_owner(row)) && makes_sense(row);
}

curve_bin find_bin(const curve_bin_row& row) {
  const double mean =
      // Clamp the mean, because stored means are less exact than minima and maxima.
      std::max(row.minimum, std::min(row.mean, row.maximum));
  return {row.minimum, row.maximum, mean, row.last, std::clamp(row.maximum - row.below_peak, row.minimum, row.maximum)};
}

/// Converts rows of lanes to bins of length `1 / share_of_a_ns`, in ns.
struct lane_bins_of {
  double share_of_a_ns;
  explicit lane_bins_of(const tile& where) : share_of_a_ns(1 / static_cast<double>(time_ns{1} << where.bin_level())) {}
  [[nodiscard]] drawn_bin operator()(const lane_bin_row& row) const {
    const double busy = std::clamp(static_cast<double>(row.busy) * share_of_a_ns, 0.0, 1.0);
    const std::uint64_t name = raw(row.name) <= UINT32_MAX ? raw(row.name) : 0;
    return {row.event, row.bytes, static_cast<float>(busy), row.count, static_cast<std::uint32_t>(name),
            row.kind,  row.tag};
  }
};

/// Converts a row to a bin. `before`: the curve's value at the start of the bin.
inline curve_bin find_bin(const integer_bin_row& row, double before) {
  const double minimum = before - static_cast<double>(row.fall), maximum = before + static_cast<double>(row.rise);
  const double mean = minimum + std::min(trace::compute_share(row.mean), 1.0) * (maximum - minimum);
  return {minimum, maximum, mean, minimum + static_cast<double>(row.last),
          std::max(minimum, maximum - static_cast<double>(row.below_peak))};
}

/// Gives access to one member of rows by index.
template <class Row, class Member>
struct of_rows {
  std::span<const Row> rows;
  Member member;
  of_rows(std::span<const Row> items, Member which) : rows(items), member(which) {}
  auto operator[](std::size_t i) const { return member(rows[i]); }
};

/// Returns the only chunk with rows of these types, as in most tile parts that Sluice writes; null if there are
/// several.
template <class... Rows>
const trace::chunk_info* only_chunk(std::span<const trace::chunk_info> chunks) {
  const auto is_of_them = [](const trace::chunk_info& chunk) {
    return ((chunk.type == trace::type_of_row<Rows>) || ...);
  };
  const auto found = std::find_if(chunks.begin(), chunks.end(), is_of_them);
  return found != chunks.end() && std::none_of(found + 1, chunks.end(), is_of_them) ? &*found : nullptr;
}

/// Appends the rows of one type in the given chunks.
template <class Row>
result<void> read_rows(const trace::snapshot& recording, std::span<const trace::chunk_info> chunks,
                       std::vector<Row>& rows) {
  std::vector<Row> more;
  for (const trace::chunk_info& chunk : chunks) {
    if (chunk.type != trace::type_of_row<Row>) continue;
    if (auto got = recording.read_summary<Row>(chunk, more); !got) return got;
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return {};
}

/// Converts rows of integers to rows of doubles. The result is only meaningful if the rows are in order of curve and
/// time.
void append_integers(std::span<const integer_bin_row> rows, std::vector<curve_bin_row>& to) {
  curve_bin bin;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const integer_bin_row& row = rows[i];
    bin = find_bin(row, i > 0 && rows[i - 1].curve == row.curve ? bin.last : static_cast<double>(row.begin));
    to.push_back({row.time, row.curve, bin.minimum, bin.maximum, bin.mean, bin.last, bin.maximum - bin.at_peak});
  }
}

/// Removes invalid rows and sorts the rest. Files written by Sluice need neither, but corrupt or hostile files may.
template <class Row>
void put_in_order(std::vector<Row>& rows, const tile& where, owner_range owners) {
  std::erase_if(rows, [&](const Row& row) { return !belongs(row, where, owners); });
  const auto before = [](const Row& a, const Row& b) {
    return std::tuple(find_owner(a), a.time) < std::tuple(find_owner(b), b.time);
  };
  if (!std::is_sorted(rows.begin(), rows.end(), before)) std::stable_sort(rows.begin(), rows.end(), before);
}

}  // namespace

template <class Bin>
template <class Owners, class Times>
bool tile_rows::bins_of_many<Bin>::place(const Owners& owner, const Times& time, std::size_t rows, const tile& where,
                                         owner_range owners) {
  begins.assign(owners.count() + 1, static_cast<std::uint32_t>(rows));
  places.resize(rows);
  std::size_t set = 0;  // The number of owners whose start is set.
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint64_t offset = static_cast<std::uint64_t>(time[i]) - static_cast<std::uint64_t>(where.begin);
    const std::uint64_t bin = offset >> where.bin_level();
    const std::uint64_t in_all = owner[i] * std::uint64_t{tile_bins} + bin;
    if (!owners.holds(owner[i]) || bin >= tile_bins || in_all < before) return false;
    before = in_all;
    while (set <= owner[i] - owners.first) begins[set++] = static_cast<std::uint32_t>(i);
    places[i] = static_cast<std::uint16_t>(bin);
  }
  return true;
}

template <class Bin>
template <class Row, class Make>
void tile_rows::bins_of_many<Bin>::take(std::span<const Row> rows, const tile& where, owner_range owners,
                                        Make&& find_bin) {
  bins.clear();
  for (const Row& row : rows) bins.push_back(find_bin(row));
  place(of_rows(rows, [](const Row& row) { return find_owner(row); }),
        of_rows(rows, [](const Row& row) { return row.time; }), rows.size(), where, owners);
}

bool tile_rows::take(const trace::row_values<integer_bin_row>& rows, const tile& where) {
  if (!curves_.place(rows.of(&integer_bin_row::curve), rows.of(&integer_bin_row::time), rows.size(), where, owners_))
    return false;
  const auto begin = rows.of(&integer_bin_row::begin), fall = rows.of(&integer_bin_row::fall),
             rise = rows.of(&integer_bin_row::rise);
  const auto last = rows.of(&integer_bin_row::last);
  const auto mean = rows.of(&integer_bin_row::mean);
  const auto below_peak = rows.of(&integer_bin_row::below_peak);
  curves_.bins.clear();
  curves_.bins.reserve(rows.size());
  for (std::size_t curve = 0; curve < owners_.count(); ++curve) {
    const std::size_t first = curves_.begins[curve], behind = curves_.begins[curve + 1];
    double before = first < behind ? static_cast<double>(begin[first]) : 0;
    for (std::size_t i = first; i < behind; ++i) {
      const integer_bin_row row{
          .fall = fall[i], .rise = rise[i], .last = last[i], .mean = mean[i], .below_peak = below_peak[i]};
      before = curves_.bins.emplace_back(find_bin(row, before)).last;
    }
  }
  return true;
}

bool tile_rows::take(const trace::row_values<lane_bin_row>& rows, const tile& where, bool joins) {
  if (!lanes_.place(rows.of(&lane_bin_row::lane), rows.of(&lane_bin_row::time), rows.size(), where, owners_))
    return false;
  const auto slices = rows.of(&lane_bin_row::count);
  const auto busy = rows.of(&lane_bin_row::busy);
  const auto bytes = rows.of(&lane_bin_row::bytes);
  const auto event = rows.of(&lane_bin_row::event);
  const auto name = rows.of(&lane_bin_row::name);
  const auto kind = rows.of(&lane_bin_row::kind), tag = rows.of(&lane_bin_row::tag);
  const lane_bins_of find_bin(where);
  lanes_.bins.clear();
  lanes_.bins.reserve(rows.size());
  bool sound = true;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sound &= is_slice_kind(kind[i]);
    lanes_.bins.push_back(find_bin({.count = slices[i],
                                    .busy = busy[i],
                                    .bytes = bytes[i],
                                    .event = event[i],
                                    .name = name[i],
                                    .kind = kind[i],
                                    .tag = tag[i]}));
  }
  lengths_.clear();
  if (!joins) return sound;
  const auto length = rows.of(&lane_bin_row::length);
  lengths_.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) lengths_.push_back(length[i]);
  return sound;
}

result<void> tile_rows::read_curves(const trace::snapshot& recording, std::span<const trace::chunk_info> chunks,
                                    const tile& where) {
  if (const trace::chunk_info* const chunk = only_chunk<curve_bin_row, integer_bin_row>(chunks);
      chunk != nullptr && chunk->type == trace::row_type::integer_bin) {
    thread_local trace::row_values<integer_bin_row> values;
    if (auto got = recording.read_summary<integer_bin_row>(*chunk, values); !got) return got;
    if (take(values, where)) return {};
  }
  thread_scratch<integer_bin_row> integers;
  thread_scratch<curve_bin_row> rows;
  if (auto got = read_rows(recording, chunks, *integers); !got) return got;
  if (auto got = read_rows(recording, chunks, *rows); !got) return got;
  append_integers(*integers, *rows);
  put_in_order(*rows, where, owners_);
  curves_.take(std::span<const curve_bin_row>(*rows), where, owners_,
               [](const curve_bin_row& row) { return find_bin(row); });
  return {};
}

result<void> tile_rows::read_lanes(const trace::snapshot& recording, std::span<const trace::chunk_info> chunks,
                                   const tile& where, bool joins) {
  if (const trace::chunk_info* const chunk = only_chunk<lane_bin_row>(chunks)) {
    constexpr auto but_lengths = trace::column_set<lane_bin_row>::of(
        &lane_bin_row::lane, &lane_bin_row::time, &lane_bin_row::count, &lane_bin_row::busy, &lane_bin_row::bytes,
        &lane_bin_row::event, &lane_bin_row::name, &lane_bin_row::kind, &lane_bin_row::tag);
    const auto wanted = joins ? trace::column_set<lane_bin_row>() : but_lengths;
    thread_local trace::row_values<lane_bin_row> values;
    if (auto got = recording.read_summary<lane_bin_row>(*chunk, values, wanted); !got) return got;
    if (take(values, where, joins)) return {};
  }
  thread_scratch<lane_bin_row> rows;
  if (auto got = read_rows(recording, chunks, *rows); !got) return got;
  put_in_order(*rows, where, owners_);
  lanes_.take(std::span<const lane_bin_row>(*rows), where, owners_, lane_bins_of(where));
  lengths_.clear();
  if (!joins) return {};
  for (const lane_bin_row& row : *rows) lengths_.push_back(row.length);
  return {};
}

result<std::shared_ptr<const tile_rows>> tile_rows::read(const trace::snapshot& recording,
                                                         std::span<const trace::chunk_info> chunks, const tile& where,
                                                         tile_content content, owner_range owners, bool joins) {
  auto rows = std::make_shared<tile_rows>();
  rows->owners_ = owners;
  auto got = content == tile_content::curves ? rows->read_curves(recording, chunks, where)
                                             : rows->read_lanes(recording, chunks, where, joins);
  if (!got) return tl::unexpected(got.error());
  return std::shared_ptr<const tile_rows>(std::move(rows));
}

drawn_bin tile_rows::joined(std::size_t number, std::size_t first, std::size_t behind) const {
  const stored_bins<drawn_bin> stored = lane(number);
  // `busy` is a share of a bin, and the length of a bin in ns may exceed the precision of a share.
  constexpr double unit = 1 << 24;
  const auto bin_at = [&](std::size_t i) {
    const drawn_bin& bin = stored.bins[i];
    const std::size_t in_all = lanes_.begins[number - owners_.first] + i;
    return lane_bin{bin.count, bin.kind,
                    bin.tag,   static_cast<time_ns>(bin.busy * unit),
                    bin.bytes, in_all < lengths_.size() ? lengths_[in_all] : 0,
                    bin.event, static_cast<trace::string_id>(bin.name)};
  };
  lane_bin whole = bin_at(first);
  for (std::size_t i = first + 1; i < behind; ++i) whole.append(bin_at(i));
  const double bins = stored.places[behind - 1] + 1 - stored.places[first];
  return {whole.event,
          whole.bytes,
          static_cast<float>(static_cast<double>(whole.busy) / (bins * unit)),
          whole.count,
          static_cast<std::uint32_t>(raw(whole.name)),
          whole.kind,
          whole.tag};
}

timeline::sampled_bin bin_walk::take(std::size_t first, std::size_t several) {
  go_to(first);
  timeline::sampled_bin sampled_bin = here(first);
  double mean = sampled_bin.mean;
  for (std::size_t i = first + 1; i < first + several; ++i) {
    go_to(i);
    const timeline::sampled_bin bin = here(i);
    sampled_bin.minimum = std::min(sampled_bin.minimum, bin.minimum);
    sampled_bin.maximum = std::max(sampled_bin.maximum, bin.maximum);
    sampled_bin.at_peak = std::max(sampled_bin.at_peak, bin.at_peak);
    mean += bin.mean;
  }
  if (sampled_bin.minimum != sampled_bin.maximum) sampled_bin.mean = mean / static_cast<double>(several);
  return sampled_bin;
}

void bin_walk::take_each(std::size_t first, std::size_t count, std::vector<timeline::sampled_bin>& to) {
  for (const std::size_t behind = first + count; first < behind;) {
    go_to(first);  // A corrupt file may repeat a bin; the first row for a bin counts.
    const std::size_t stored = next_ < stored_.size() ? std::min<std::size_t>(stored_.places[next_], behind) : behind;
    for (; first < stored; ++first) to.push_back(timeline::sampled_bin::constant(before_));
    for (; next_ < stored_.size() && first < behind && stored_.places[next_] == first; ++next_, ++first) {
      const curve_bin& bin = stored_.bins[next_];
      to.push_back({bin.minimum, bin.maximum, bin.mean, bin.at_peak});
      before_ = bin.last;
    }
  }
}

double bin_walk::last() {
  go_to(tile_bins);
  return before_;
}

void bin_walk::go_to(std::size_t bin) {
  for (; next_ < stored_.size() && stored_.places[next_] < bin; ++next_) before_ = stored_.bins[next_].last;
}

timeline::sampled_bin bin_walk::here(std::size_t bin) const {
  if (next_ == stored_.size() || stored_.places[next_] != bin) return timeline::sampled_bin::constant(before_);
  const curve_bin& stored = stored_.bins[next_];
  return {stored.minimum, stored.maximum, stored.mean, stored.at_peak};
}

}  // namespace sluice::summary
