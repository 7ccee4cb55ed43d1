#include "core/export/parquet/cells.hpp"

#include <fmt/format.h>

#include "core/query/sql/sql_text.hpp"

namespace sluice::exports {
namespace {

using query::cell;
using query::text_role;
using query::view_value;

void add_number(std::optional<string_table::number> text, row_batch& to) {
  if (text)
    to.add_text(*text);
  else
    to.add_null();
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

id_texts::number id_texts::string(trace::string_id id, text_role role) {
  if (id == trace::string_id::none) return std::nullopt;
  return texts_.of_lasting(tables_.text(id), role);
}

// --- rows -----------------------------------------------------------------------------------------------------------

row_cells::row_cells(const data_table& table, std::string_view source, bool lasting, string_table& texts,
                     id_texts& names, const calls& found)
    : columns_(query::find_columns(source)),
      texts_(texts),
      names_(names),
      found_(found),
      lasting_(lasting),
      source_(texts.of(source, text_role::code)),
      process_(query::find_place(columns_, "process")),
      device_(query::find_place(columns_, "device")),
      call_(query::find_place(columns_, "call")),
      enqueued_(query::find_place(columns_, "enqueued")) {
  for (std::size_t i = 0; i < table.shown.size(); ++i) {
    const query::view_column& shown = table.shown[i];
    reader output{shown.value, table.columns[i].type, query::find_inputs(shown, columns_), {}, {}};
    const bool of_call = shown.value == view_value::call_name || shown.value == view_value::call_stack;
    needs_calls_ |= of_call && !output.inputs.empty();
    if (!output.inputs.empty()) output.role = columns_[output.inputs.front()].role;
    if (shown.value == view_value::stack || shown.value == view_value::call_stack)
      output.by = *symbols::attribution_named(shown.column_shown());
    readers_.push_back(std::move(output));
  }
}

cell row_cells::combine(view_value how, const cell& a, const cell& b) {
  if (how != view_value::difference && how != view_value::product) return a.type == cell::kind::null ? b : a;
  if (a.type != cell::kind::integer || b.type != cell::kind::integer) return {};
  std::int64_t value = 0;
  const bool too_large = how == view_value::difference ? __builtin_sub_overflow(a.integer, b.integer, &value)
                                                       : __builtin_mul_overflow(a.integer, b.integer, &value);
  return too_large ? cell{} : cell{cell::kind::integer, value, 0, {}};
}

void row_cells::add(const reader& as, const cell& value, row_batch& to) {
  const std::uint64_t id = value.type == cell::kind::integer ? static_cast<std::uint64_t>(value.integer) : 0;
  const calls::found_call* call = nullptr;
  switch (as.value) {
    case view_value::table_name:
      return to.add_text(source_);
    case view_value::device_name:
      return add_number(names_.device(id), to);
    case view_value::stream_name:
      return add_number(names_.stream(id), to);
    case view_value::thread_name:
      return add_number(names_.thread(id), to);
    case view_value::stack:
      return add_number(names_.stack(id, as.by), to);
    case view_value::call_stack:
      call = found_[id];
      return add_number(call == nullptr ? std::nullopt : names_.stack(raw(call->stack), as.by), to);
    case view_value::call_name:
      call = found_[id];
      return add_number(call == nullptr ? std::nullopt : names_.string(call->name, text_role::code), to);
    default:
      return add_same(as, value, to);
  }
}

void row_cells::add_same(const reader& as, const cell& value, row_batch& to) {
  if (value.type == cell::kind::null) return to.add_null();
  if (as.type == parquet_type::text && value.type != cell::kind::text)
    return to.add_text(texts_.of(query::to_text(value), as.role));
  if (value.type == cell::kind::text)
    return to.add_text(lasting_ ? texts_.of_lasting(value.text, as.role) : texts_.of(value.text, as.role));
  if (as.type != parquet_type::real) return to.add(value.integer);
  to.add(value.type == cell::kind::real ? value.real : static_cast<double>(value.integer));
}

}  // namespace sluice::exports
