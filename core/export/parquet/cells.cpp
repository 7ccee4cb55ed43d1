#include "core/export/parquet/cells.hpp"

#include <fmt/format.h>

namespace sluice::exports {
namespace {

using query::cell;
using query::text_role;

void add_number(std::optional<string_table::number> text, row_batch& to) {
  if (text)
    to.add_text(*text);
  else
    to.add_null();
}

/// Returns the table's first column among the names in `any`, which '|' separates, or null if the table has none of
/// them.
const query::column* find_any(const query::table& in, std::string_view any) {
  while (!any.empty()) {
    const std::size_t end = std::min(any.find('|'), any.size());
    const std::size_t found = in.find(any.substr(0, end));
    if (found < in.columns.size()) return &in.columns[found];
    any.remove_prefix(std::min(end + 1, any.size()));
  }
  return nullptr;
}

}  // namespace

// --- texts of ids ---------------------------------------------------------------------------------------------------

id_texts::id_texts(const trace::tables& tables, symbols::frame_cache& frames, string_table& texts)
    : tables_(tables), frames_(frames), texts_(texts), who_(frames, tables, symbols::frame_cache::lookup::at_once) {}

template <class Make>
id_texts::number id_texts::look_up(known& among, std::uint64_t id, Make&& make) {
  if (id == 0) return std::nullopt;
  const auto [found, fresh] = among.try_emplace(id);
  if (fresh)
    if (const std::string text = make(); !text.empty()) found->second = texts_.of(text, text_role::message);
  return found->second;
}

id_texts::number id_texts::device(std::uint64_t id) {
  return look_up(devices_, id, [&] {
    const trace::device_row* row = tables_.devices.find(trace::device_id{id});
    return row == nullptr ? std::string() : std::string(tables_.text(row->name));
  });
}

id_texts::number id_texts::stream(std::uint64_t id) {
  return look_up(streams_, id, [&] {
    const trace::stream_row* row = tables_.streams.find(trace::stream_id{id});
    if (row == nullptr) return std::string();
    const std::string_view name = tables_.text(row->name);
    return name.empty() ? fmt::format("Stream {}", row->handle) : std::string(name);
  });
}

id_texts::number id_texts::thread(std::uint64_t id) {
  return look_up(threads_, id, [&] {
    const trace::thread_row* row = tables_.threads.find(trace::thread_id{id});
    if (row == nullptr) return std::string();
    const std::string_view name = tables_.text(row->name);
    return name.empty() ? fmt::format("thread {}", row->tid) : std::string(name);
  });
}

id_texts::number id_texts::stack(std::uint64_t id, symbols::attribution by) {
  return look_up(stacks_[static_cast<std::size_t>(by)], id, [&] {
    const symbols::line_id line = who_.of(trace::stack_id{id}, by);
    return line == who_.unknown(by) ? std::string() : symbols::to_text(frames_.line(line));
  });
}

// --- rows -----------------------------------------------------------------------------------------------------------

row_cells::row_cells(std::span<const data_column> columns, const query::table& table, const trace::tables& tables,
                     string_table& texts, id_texts& names, const calls& found)
    : tables_(tables),
      texts_(texts),
      names_(names),
      found_(found),
      table_(texts.of(table.name, text_role::code)),
      process_(find_any(table, "process")),
      call_(find_any(table, "call")),
      enqueued_(find_any(table, "enqueued")) {
  for (const data_column& each : columns) {
    reader output{each.source, each.type, find_any(table, each.from), {}};
    const bool of_call = each.source == column_source::call_name || each.source == column_source::call_stack;
    needs_calls_ |= of_call && output.from != nullptr;
    if (each.source == column_source::stack || each.source == column_source::call_stack)
      output.by = *symbols::attribution_named(each.name);
    readers_.push_back(output);
  }
}

std::uint64_t row_cells::id_in(const query::column* column, const void* row) const {
  if (column == nullptr) return 0;
  const cell value = column->read(row, tables_);
  return value.type == cell::kind::integer ? static_cast<std::uint64_t>(value.integer) : 0;
}

calls::wanted_call row_cells::get_call(const void* row) const {
  const cell entered = enqueued_ == nullptr ? cell{} : enqueued_->read(row, tables_);
  return {id_in(call_, row), entered.type == cell::kind::integer ? entered.integer : trace::unknown_time};
}

void row_cells::add(const void* row, row_batch& to) {
  for (const reader& each : readers_) add(each, row, to);
  to.end_row();
}

void row_cells::add(const reader& as, const void* row, row_batch& to) {
  if (as.source == column_source::table) return to.add_text(table_);
  if (as.from == nullptr) return to.add_null();
  if (as.source == column_source::same) return add_same(as, row, to);
  const std::uint64_t id = id_in(as.from, row);
  const calls::found_call* call = nullptr;
  switch (as.source) {
    case column_source::device_name:
      return add_number(names_.device(id), to);
    case column_source::stream_name:
      return add_number(names_.stream(id), to);
    case column_source::thread_name:
      return add_number(names_.thread(id), to);
    case column_source::stack:
      return add_number(names_.stack(id, as.by), to);
    case column_source::call_stack:
      call = found_[id];
      return add_number(call == nullptr ? std::nullopt : names_.stack(raw(call->stack), as.by), to);
    case column_source::call_name:
      call = found_[id];
      if (call == nullptr || call->name == trace::string_id::none) return to.add_null();
      return to.add_text(texts_.of_lasting(tables_.text(call->name), text_role::code));
    case column_source::same:
    case column_source::table:
    case column_source::block:
      break;
  }
  to.add_null();
}

void row_cells::add_same(const reader& as, const void* row, row_batch& to) {
  const cell value = as.from->read(row, tables_);
  switch (value.type) {
    case cell::kind::null:
      return to.add_null();
    case cell::kind::integer:
      if (as.type == parquet_type::real) return to.add(static_cast<double>(value.integer));
      return to.add(value.integer);
    case cell::kind::real:
      return to.add(value.real);
    case cell::kind::text:
      return to.add_text(texts_.of_lasting(value.text, as.from->role));
  }
}

}  // namespace sluice::exports
