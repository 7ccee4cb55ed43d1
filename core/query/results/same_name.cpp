#include "core/query/results/event_details.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/base/saturating.hpp"
#include "core/query/results/rows_about.hpp"

namespace sluice::query {
namespace {

/// Returns the property that two events of one kind must share to count as events with the same name.
auto name_of_row(const trace::kernel_event& row) { return row.name; }
auto name_of_row(const trace::api_call_event& row) { return row.name; }
auto name_of_row(const trace::host_range_event& row) { return row.name; }
auto name_of_row(const trace::marker_event& row) { return row.name; }
auto name_of_row(const trace::file_io_event& row) { return row.file; }
auto name_of_row(const trace::transfer_event& row) { return std::pair(row.direction, row.device); }
auto name_of_row(const trace::memset_event& row) { return std::pair(row.kind, row.device); }
auto name_of_row(const trace::sync_event& row) { return row.kind; }
auto name_of_row(const trace::host_sample_event& row) { return std::tuple(row.process, row.thread, row.stack); }

template <class Row>
event_details make_result(const Row& row) {
  event_details details;
  details.event = row.id;
  details.span.begin = bounded(row.time);
  details.span.end = std::max(details.span.begin, bounded(trace::detail::get_end(row)));
  return details;
}

/// Searches time windows, each farther from the event and longer than the one before. A window has all rows that start
/// in it, so the nearest row of the first window with a match is the nearest of all.
template <class Row>
result<event_details> nearest(const Row& event, bool forward, const sources& source) {
  constexpr time_ns first_window = 1'000'000;
  constexpr time_ns growth = 4;
  const time_range range = index::recorded_range(source.trace);
  const auto place = [](const Row& row) { return std::tuple(row.time, raw(row.id)); };
  const auto wanted = name_of_row(event);
  time_ns near = event.time;
  for (time_ns window = first_window;; window = window > INT64_MAX / growth ? INT64_MAX : window * growth) {
    if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    const time_ns far = forward ? saturating_sum(event.time, window) : saturating_sum(event.time, -window);
    const time_ns low = std::min(near, far);
    const time_ns high = std::max(near, far);
    std::optional<Row> best;
    const auto read = source.trace.for_each<Row>(
        [&](const Row& row) {
          if (row.time < low || row.time > high || name_of_row(row) != wanted) return;
          if (forward ? place(row) <= place(event) : place(row) >= place(event)) return;
          if (!best || (forward ? place(row) < place(*best) : place(row) > place(*best))) best = row;
        },
        low, high);
    if (best) return make_result(*best);
    if (!read) return tl::unexpected<error>(read.error());
    if (forward ? high >= range.end : low <= range.begin) break;
    near = far;
  }
  return fail(error_code::not_found, forward ? "no later event has this name" : "no earlier event has this name",
              source.trace.path());
}

}  // namespace

result<event_details> find_same_name(trace::event_id event, same_name which, const sources& source) {
  std::optional<result<event_details>> found;
  const auto try_each = [&]<class... Rows>() {
    const auto try_one = [&]<class Row>() {
      const auto row = find_row<Row>(event, source);
      if (row) found = nearest(*row, which == same_name::next, source);
      return row.has_value();
    };
    static_cast<void>((try_one.template operator()<Rows>() || ...));
  };
  try_each.operator()<trace::kernel_event, trace::transfer_event, trace::api_call_event, trace::host_range_event,
                      trace::memset_event, trace::sync_event, trace::file_io_event, trace::marker_event,
                      trace::host_sample_event>();
  if (!found) return fail(error_code::not_found, "events of this kind have no name", source.trace.path());
  return std::move(*found);
}

}  // namespace sluice::query
