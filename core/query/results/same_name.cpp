#include "core/query/results/same_name.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/base/saturating.hpp"
#include "core/query/results/rows_about.hpp"

namespace sluice::query {
namespace {

/// The property by which events of one kind count as the same.
auto name_of_row(const trace::kernel_event& row) { return row.name; }
auto name_of_row(const trace::api_call_event& row) { return row.name; }
auto name_of_row(const trace::host_range_event& row) { return row.name; }
auto name_of_row(const trace::marker_event& row) { return row.name; }
auto name_of_row(const trace::file_io_event& row) { return row.file; }
auto name_of_row(const trace::transfer_event& row) { return std::pair(row.direction, row.device); }
auto name_of_row(const trace::memset_event& row) { return std::pair(row.kind, row.device); }
auto name_of_row(const trace::sync_event& row) { return row.kind; }

template <class Row>
event_details result_of(const Row& row) {
  event_details made;
  made.event = row.id;
  made.span.begin = bounded(row.time);
  made.span.end = std::max(made.span.begin, bounded(trace::detail::end_of(row)));
  return made;
}

/// Searches time windows that grow away from the event. A complete window has all rows that start in it, so its nearest
/// row is the nearest of all.
template <class Row>
result<event_details> nearest(const Row& event, bool forward, const sources& from) {
  constexpr time_ns first_window = 1'000'000;
  constexpr time_ns growth = 4;
  const time_range all = index::time_range_of(from.trace);
  const auto place = [](const Row& row) { return std::tuple(row.time, raw(row.id)); };
  const auto wanted = name_of_row(event);
  time_ns near = event.time;
  for (time_ns window = first_window;; window = window > INT64_MAX / growth ? INT64_MAX : window * growth) {
    if (from.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    const time_ns far = forward ? saturating_sum(event.time, window) : saturating_sum(event.time, -window);
    const time_ns low = std::min(near, far);
    const time_ns high = std::max(near, far);
    std::optional<Row> best;
    const auto read = from.trace.for_each<Row>(
        [&](const Row& row) {
          if (row.time < low || row.time > high || name_of_row(row) != wanted) return;
          if (forward ? place(row) <= place(event) : place(row) >= place(event)) return;
          if (!best || (forward ? place(row) < place(*best) : place(row) > place(*best))) best = row;
        },
        low, high);
    if (best) return result_of(*best);
    if (!read) return tl::unexpected<error>(read.error());
    if (forward ? high >= all.end : low <= all.begin) break;
    near = far;
  }
  return fail(error_code::not_found, forward ? "no later event has this name" : "no earlier event has this name",
              from.trace.path());
}

}  // namespace

result<event_details> find_same_name(trace::event_id event, same_name which, const sources& from) {
  std::optional<result<event_details>> found;
  const auto try_each = [&]<class... Rows>() {
    const auto try_one = [&]<class Row>() {
      const auto row = find_row<Row>(event, from);
      if (row) found = nearest(*row, which == same_name::next, from);
      return row.has_value();
    };
    static_cast<void>((try_one.template operator()<Rows>() || ...));
  };
  try_each.operator()<trace::kernel_event, trace::transfer_event, trace::api_call_event, trace::host_range_event,
                      trace::memset_event, trace::sync_event, trace::file_io_event, trace::marker_event>();
  if (!found) return fail(error_code::not_found, "events of this kind have no name", from.trace.path());
  return std::move(*found);
}

}  // namespace sluice::query
