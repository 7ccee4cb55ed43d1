#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>

#include "core/trace/model/schema.hpp"

/// Visits the times, the addresses, or all members of a row. Code that changes times, ids or addresses uses these
/// functions, so that it also changes members that are added to the model later.
namespace sluice::trace {

/// Calls `visit` with a reference to each member of the row, including its own id and time.
template <class Row, class Visit>
void for_each_member(Row& row, Visit&& visit) {
  schema<Row>::apply([&](const auto&... column) { (visit(row.*column.member), ...); });
}

/// Calls `visit` with each time in an event that is known: `time`, `end`, `enqueued` and others.
template <class Row, class Visit>
requires is_event_row<Row>
void for_each_time(Row& row, Visit&& visit) {
  const auto known = [&](time_ns& time) {
    if (time != unknown_time) visit(time);
  };
  known(row.time);
  if constexpr (requires { row.end; }) known(row.end);
  if constexpr (requires { row.call_begin; }) known(row.call_begin);
  if constexpr (requires { row.device_time; }) known(row.device_time);
  if constexpr (requires { row.completed; }) known(row.completed);
  if constexpr (requires { row.enqueued; }) known(row.enqueued);
  if constexpr (requires { row.born; }) known(row.born);
  if constexpr (requires { row.complete_until; }) known(row.complete_until);
}

/// Calls `visit` with each nonzero memory address in the row.
template <class Row, class Visit>
requires is_event_row<Row>
void for_each_address(Row& row, Visit&& visit) {
  const auto set = [&](std::uint64_t& address) {
    if (address != 0) visit(address);
  };
  if constexpr (requires { row.address; }) set(row.address);
  if constexpr (requires { row.source_address; }) set(row.source_address);
  if constexpr (requires { row.destination_address; }) set(row.destination_address);
}

}  // namespace sluice::trace
