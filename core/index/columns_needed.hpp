#pragma once

#include "core/index/recording_facts.hpp"
#include "core/trace/columns/column_set.hpp"
#include "core/trace/model/summary_rows.hpp"

/// The columns that an index reads from each row type. Most of the time to build an index is spent on decoding columns.
namespace sluice::index {

/// Returns the columns of `Row` that an index with this scope reads. Row types without a specialization need all
/// columns; a default-constructed set has all columns.
template <class Row>
[[nodiscard]] constexpr trace::column_set<Row> columns_needed(section_scope /*scope*/) {
  return {};
}

namespace detail {
template <class Row, class... Members>
[[nodiscard]] constexpr trace::column_set<Row> with_whose_and_when(Members... members) {
  return trace::column_set<Row>::of(&Row::id, &Row::time, &Row::process, &Row::thread, members...);
}
}  // namespace detail

template <>
[[nodiscard]] constexpr trace::column_set<trace::alloc_event> columns_needed(section_scope scope) {
  using row = trace::alloc_event;
  const auto added_up = trace::column_set<row>::of(&row::id, &row::time, &row::block, &row::layer, &row::kind,
                                                   &row::device, &row::pool, &row::bytes, &row::flags);
  if (scope == section_scope::timeline) return added_up;
  return added_up | trace::column_set<row>::of(&row::process, &row::thread, &row::parent, &row::stream, &row::address,
                                               &row::reserved_bytes, &row::stack, &row::name, &row::call_begin,
                                               &row::device_time);
}

template <>
[[nodiscard]] constexpr trace::column_set<trace::free_event> columns_needed(section_scope scope) {
  using row = trace::free_event;
  const auto death = trace::column_set<row>::of(&row::id, &row::time, &row::block);
  if (scope < section_scope::everything) return death;
  return death | trace::column_set<row>::of(&row::process, &row::thread, &row::layer, &row::stream, &row::completed);
}

template <>
[[nodiscard]] constexpr trace::column_set<trace::boundary_block_row> columns_needed(section_scope scope) {
  using row = trace::boundary_block_row;
  if (scope != section_scope::timeline) return {};
  return trace::column_set<row>::of(&row::time, &row::end, &row::block, &row::free, &row::layer, &row::kind,
                                    &row::device, &row::pool, &row::bytes, &row::flags, &row::death_inferred,
                                    &row::category, &row::reason);
}

template <>
[[nodiscard]] constexpr trace::column_set<trace::kernel_event> columns_needed(section_scope scope) {
  using row = trace::kernel_event;
  const auto drawn = detail::with_whose_and_when<row>(&row::end, &row::name, &row::device, &row::stream);
  return scope == section_scope::everything ? drawn | trace::column_set<row>::of(&row::enqueued) : drawn;
}

template <>
[[nodiscard]] constexpr trace::column_set<trace::api_call_event> columns_needed(section_scope scope) {
  using row = trace::api_call_event;
  const auto drawn = detail::with_whose_and_when<row>(&row::end, &row::name, &row::bytes);
  return scope == section_scope::everything ? drawn | trace::column_set<row>::of(&row::status, &row::stack) : drawn;
}

template <>
[[nodiscard]] constexpr trace::column_set<trace::host_sample_event> columns_needed(section_scope /*scope*/) {
  using row = trace::host_sample_event;
  return detail::with_whose_and_when<row>(&row::length, &row::state, &row::stack, &row::system_call,
                                          &row::python_distance);
}

template <>
[[nodiscard]] constexpr trace::column_set<trace::touch_event> columns_needed(section_scope /*scope*/) {
  using row = trace::touch_event;
  return trace::column_set<row>::of(&row::id, &row::time, &row::process, &row::block, &row::name, &row::graph);
}

}  // namespace sluice::index
