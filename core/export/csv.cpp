// CSV (RFC 4180): a line of column names, then one line per row. Null is an empty cell; empty texts do not occur.
#include <fmt/format.h>

#include "core/base/csv_text.hpp"
#include "core/export/formats.hpp"
#include "core/export/table_rows.hpp"

namespace sluice::exports {
namespace {

void append_cell(std::string& line, const query::column& of, const query::cell& value, job& what) {
  switch (value.is) {
    case query::cell::kind::null:
      return;
    case query::cell::kind::integer:
      // Unlike SQL, CSV can store unsigned 64-bit numbers.
      if (of.type == query::column_type::size) {
        fmt::format_to(std::back_inserter(line), "{}", static_cast<std::uint64_t>(value.integer));
      } else {
        fmt::format_to(std::back_inserter(line), "{}", value.integer);
      }
      return;
    case query::cell::kind::real:
      fmt::format_to(std::back_inserter(line), "{}", value.real);
      return;
    case query::cell::kind::text:
      append_csv(line, what.text(value.text, of.role));
      return;
  }
}

result<void> write_table(job& what, const query::table& table, output& to) {
  std::string line;
  for (const query::column& each : table.columns) line.append(line.empty() ? "" : ",").append(each.name);
  if (auto written = to.write(line + "\n"); !written) return written;
  return for_each_row(what, table, [&](const void* row) {
    line.clear();
    for (const query::column& each : table.columns) {
      if (&each != table.columns.data()) line += ',';
      append_cell(line, each, each.read(row, what.tables()), what);
    }
    line += '\n';
    return to.write(line);
  });
}

/// True if the table has rows: empty tables get no file.
bool has_rows(const job& what, const query::table& table) {
  if (!table.events) {
    const auto rows = table.read(what.trace(), 0);
    return rows && rows->count > 0;
  }
  for (const trace::chunk_info& chunk : what.trace().chunks())
    if (chunk.type == table.type) return true;
  return false;
}

}  // namespace

output_shape shape_of_csv(const options& wanted) {
  return wanted.tables.size() == 1 ? output_shape::stream : output_shape::folder;
}

result<void> write_csv(job& what, output& to) {
  const auto tables = wanted_tables(what.wanted());
  if (what.wanted().tables.size() == 1) return write_table(what, *tables.front(), to);
  for (const query::table* table : tables) {
    if (what.wanted().tables.empty() && !has_rows(what, *table)) continue;
    auto file = output::create(to.path() + "/" + std::string(table->name) + ".csv", output_shape::stream);
    if (!file) return tl::unexpected(file.error());
    if (auto written = write_table(what, *table, *file); !written) return written;
    if (auto placed = file->commit(); !placed) return placed;
  }
  return {};
}

}  // namespace sluice::exports
