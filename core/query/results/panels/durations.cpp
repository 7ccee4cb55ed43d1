#include "core/query/types/durations.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include "core/base/saturating.hpp"
#include "core/query/results/query_operator.hpp"

namespace sluice::query {
namespace {

using trace::row_type;

// --- scales ---------------------------------------------------------------------------------------------------------

/// A logarithmic scale of integers with `cells` cells per doubling, a power of two. Small numbers have their own cells.
template <std::size_t cells>
struct log_scale {
  static constexpr int get_exponent(std::uint64_t value) {
    return std::max(0, static_cast<int>(std::bit_width(value)) - static_cast<int>(std::bit_width(cells)));
  }
  static constexpr std::size_t get_place(std::uint64_t value) {
    const int exponent = get_exponent(value);
    return cells * static_cast<std::size_t>(exponent) + static_cast<std::size_t>(value >> exponent);
  }
  static constexpr std::uint64_t get_begin(std::size_t place) {
    if (place < cells * 2) return place;
    const std::size_t exponent = place / cells - 1;
    return (place % cells + cells) << exponent;
  }
};
using bar_scale = log_scale<4>;
using percentile_scale = log_scale<1024>;

static_assert(bar_scale::get_place(7) == 7 && bar_scale::get_place(8) == 8 && bar_scale::get_place(9) == 8);
static_assert(bar_scale::get_begin(8) == 8 && bar_scale::get_begin(9) == 10 && bar_scale::get_begin(12) == 16);
static_assert(percentile_scale::get_begin(percentile_scale::get_place(123'456'789)) <= 123'456'789);

// --- rows of each kind -----------------------------------------------------------------------------------------------

template <class Row>
inline constexpr bool has_name =
    std::is_same_v<Row, trace::kernel_event> || std::is_same_v<Row, trace::api_call_event> ||
    std::is_same_v<Row, trace::host_range_event>;
template <class Row>
inline constexpr bool has_direction = std::is_same_v<Row, trace::transfer_event>;

template <class Row>
constexpr trace::column_set<Row> wanted_columns() {
  if constexpr (has_name<Row>) return trace::column_set<Row>::of(&Row::id, &Row::time, &Row::end, &Row::name);
  if constexpr (has_direction<Row>) return trace::column_set<Row>::of(&Row::id, &Row::time, &Row::end, &Row::direction);
  return trace::column_set<Row>::of(&Row::id, &Row::time, &Row::end);
}

/// Calls `use.operator()<Row>()` for the row type `kind`. Returns false for a kind without durations.
template <class Use>
bool with_row_of(row_type kind, Use&& use) {
  switch (kind) {
    case row_type::kernel:
      return use.template operator()<trace::kernel_event>(), true;
    case row_type::transfer:
      return use.template operator()<trace::transfer_event>(), true;
    case row_type::memset:
      return use.template operator()<trace::memset_event>(), true;
    case row_type::api_call:
      return use.template operator()<trace::api_call_event>(), true;
    case row_type::host_range:
      return use.template operator()<trace::host_range_event>(), true;
    case row_type::sync:
      return use.template operator()<trace::sync_event>(), true;
    case row_type::file_io:
      return use.template operator()<trace::file_io_event>(), true;
    default:
      return false;
  }
}

// --- the reader -----------------------------------------------------------------------------------------------------

/// Reads one chunk after another. If the query names an event, searches the chunks for it first.
class duration_reader final : public chunk_operator<duration_histogram> {
 public:
  explicit duration_reader(const durations_query& query)
      : query_(query), fine_(percentile_scale::get_place(INT64_MAX) + 1) {
    made_.range = bounded(query.range);
    made_.kind = query.kind;
    made_.name = query.name;
    known_ = query.like == trace::event_id::none;
  }

  [[nodiscard]] share remaining_work() const override {
    const bool searches = query_.like != trace::event_id::none;
    return {(searches && known_ ? chunks_ : 0) + next_, searches ? 2 * chunks_ + (known_ ? 0 : 1) : chunks_};
  }
  result<void> work(const sources& source) override {
    if (next_ >= chunks_)
      return fail(error_code::not_found, "the event has no duration to compare", source.trace.path());
    const std::size_t chunk = next_++;
    return known_ ? count(source.trace, chunk) : look_for_event(source.trace, chunk);
  }

  result<duration_histogram> finish(const sources& /*source*/) override {
    duration_histogram histogram = made_;
    histogram.bars.clear();
    if (histogram.count > 0)
      for (std::size_t place = bar_scale::get_place(to_unsigned(histogram.shortest));
           place <= bar_scale::get_place(to_unsigned(histogram.longest)); ++place) {
        duration_bar bar = place < bars_.size() ? bars_[place] : duration_bar{};
        bar.from = static_cast<time_ns>(bar_scale::get_begin(place));
        bar.to = static_cast<time_ns>(bar_scale::get_begin(place + 1));
        histogram.bars.push_back(bar);
      }
    histogram.median = quantile(50);
    histogram.percentile99 = quantile(99);
    histogram.next = after_ ? after_ : first_;
    return histogram;
  }

 private:
  static std::uint64_t to_unsigned(time_ns duration) { return static_cast<std::uint64_t>(duration); }

  /// Returns the lowest duration that `percent` of the events do not exceed.
  [[nodiscard]] time_ns quantile(std::uint64_t percent) const {
    const std::uint64_t rank = made_.count / 100 * percent + (made_.count % 100 * percent + 99) / 100;
    std::uint64_t seen = 0;
    for (std::size_t place = 0; place < fine_.size() && rank > 0; ++place) {
      seen += fine_[place];
      if (seen < rank) continue;
      const std::uint64_t begin = percentile_scale::get_begin(place);
      const std::uint64_t width = percentile_scale::get_begin(place + 1) - begin;
      return std::clamp(static_cast<time_ns>(begin + width / 2), made_.shortest, made_.longest);
    }
    return 0;
  }

  result<void> look_for_event(const trace::snapshot& trace, std::size_t at) {
    const trace::chunk_info& chunk = trace.chunks()[at];
    const bool may_hold =
        chunk.highest_event == 0 || (chunk.lowest_event <= raw(query_.like) && raw(query_.like) <= chunk.highest_event);
    if (!may_hold) return {};
    result<void> read{};
    with_row_of(chunk.type, [&]<class Row>() {
      std::vector<Row> rows;
      read = trace.read_into<Row>(at, rows, wanted_columns<Row>());
      if (!read) return;
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& each) { return each.id == query_.like; });
      if (row == rows.end()) return;
      made_.kind = chunk.type;
      if constexpr (has_name<Row>) made_.name = row->name;
      if constexpr (has_direction<Row>) made_.direction = row->direction;
      known_ = true;
      next_ = 0;
    });
    return read;
  }

  result<void> count(const trace::snapshot& trace, std::size_t at) {
    const trace::chunk_info& chunk = trace.chunks()[at];
    if (chunk.type != made_.kind || chunk.max_time < made_.range.begin || chunk.min_time >= made_.range.end) return {};
    result<void> read{};
    with_row_of(chunk.type, [&]<class Row>() { read = count_rows<Row>(trace, at); });
    return read;
  }

  template <class Row>
  result<void> count_rows(const trace::snapshot& trace, std::size_t at) {
    if constexpr (has_name<Row>) {
      // Most chunks do not have the name; only its column is read from them.
      if (made_.name != trace::string_id::none) {
        if (auto got = trace.read_column<Row>(at, &Row::name, names_); !got) return got;
        if (std::find(names_.begin(), names_.end(), made_.name) == names_.end()) return {};
      }
    }
    std::vector<Row> rows;
    if (auto got = trace.read_into<Row>(at, rows, wanted_columns<Row>()); !got) return got;
    for (const Row& row : rows) {
      if constexpr (has_name<Row>)
        if (made_.name != trace::string_id::none && row.name != made_.name) continue;
      if constexpr (has_direction<Row>)
        if (made_.direction != trace::direction::unknown && row.direction != made_.direction) continue;
      take(row.id, row.time, row.end);
    }
    return {};
  }

  void take(trace::event_id event, time_ns time, time_ns ends) {
    const bool unfinished = ends == trace::unknown_time;
    const time_ns begin = bounded(time);
    const time_ns end = unfinished ? latest_time : std::max(begin, bounded(ends));
    // This counts the same events as `range_statistics`: those that overlap the range, and those of length 0 that start
    // in it.
    if (begin >= made_.range.end || (end <= made_.range.begin && begin < made_.range.begin)) return;
    if (unfinished) {
      ++made_.unfinished;
      return;
    }
    const time_ns duration = end - begin;
    made_.shortest = made_.count == 0 ? duration : std::min(made_.shortest, duration);
    made_.longest = std::max(made_.longest, duration);
    ++made_.count;
    saturating_add(made_.total, duration);
    ++fine_[percentile_scale::get_place(to_unsigned(duration))];
    const std::size_t place = bar_scale::get_place(to_unsigned(duration));
    if (place >= bars_.size()) bars_.resize(place + 1);
    duration_bar& bar = bars_[place];
    const bool leads =
        bar.count++ == 0 || duration > bar.span.length() || (duration == bar.span.length() && event < bar.longest);
    if (leads) {
      bar.longest = event;
      bar.span = {begin, end};
    }
    if (query_.step && duration >= query_.step->from && duration < query_.step->to) step_to({event, {begin, end}});
  }

  void step_to(const duration_step_to& candidate) {
    const auto order = [](const duration_step_to& to) { return std::tuple(to.span.begin, to.event); };
    const auto keep_earlier = [&](std::optional<duration_step_to>& best) {
      if (!best || order(candidate) < order(*best)) best = candidate;
    };
    keep_earlier(first_);
    if (order(candidate) > std::tuple(query_.step->after, query_.step->event)) keep_earlier(after_);
  }

  const durations_query query_;
  bool known_ = false;  ///< The events to count are known; otherwise the given event has not been found yet.
  duration_histogram made_;
  std::vector<duration_bar> bars_;   ///< By position in `bar_scale`.
  std::vector<std::uint64_t> fine_;  ///< The number of events at each position in `percentile_scale`.
  std::vector<trace::string_id> names_;
  std::optional<duration_step_to> first_, after_;
};

}  // namespace

operator_of<durations_query> make_operator(const durations_query& query) {
  return std::make_unique<duration_reader>(query);
}

}  // namespace sluice::query
