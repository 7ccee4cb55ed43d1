// Writes CSV (RFC 4180), with a line of column names, then one line per row. Null is an empty cell. Empty texts do not
// occur.
#include <fmt/format.h>

#include "core/base/csv_text.hpp"
#include "core/export/formats.hpp"
#include "core/export/table_rows.hpp"

namespace sluice::exports {
namespace {

void append_cell(std::string& line, const query::column& column, const query::cell& value, job& export_job) {
  switch (value.type) {
    case query::cell::kind::null:
      return;
    case query::cell::kind::integer:
      // Unlike SQL, CSV can store unsigned 64-bit numbers.
      if (column.type == query::column_type::size) {
        fmt::format_to(std::back_inserter(line), "{}", static_cast<std::uint64_t>(value.integer));
      } else {
        fmt::format_to(std::back_inserter(line), "{}", value.integer);
      }
      return;
    case query::cell::kind::real:
      fmt::format_to(std::back_inserter(line), "{}", value.real);
      return;
    case query::cell::kind::text:
      append_csv(line, export_job.text(value.text, column.role));
      return;
  }
}

result<void> write_table(job& export_job, const query::table& table, output& to) {
  std::string line;
  for (const query::column& each : table.columns) line.append(line.empty() ? "" : ",").append(each.name);
  if (auto written = to.write(line + "\n"); !written) return written;
  return for_each_row(export_job, table, [&](const void* row) {
    line.clear();
    for (const query::column& each : table.columns) {
      if (&each != table.columns.data()) line += ',';
      append_cell(line, each, each.read(row, export_job.tables()), export_job);
    }
    line += '\n';
    return to.write(line);
  });
}

/// True if the table has rows. Empty tables get no file.
bool has_rows(const job& export_job, const query::table& table) {
  if (!table.events) {
    const auto rows = table.read(export_job.trace(), 0);
    return rows && rows->count > 0;
  }
  for (const trace::chunk_info& chunk : export_job.trace().chunks())
    if (chunk.type == table.type) return true;
  return false;
}

}  // namespace

output_shape shape_of_csv(const options& wanted) {
  return wanted.tables.size() == 1 ? output_shape::stream : output_shape::folder;
}

result<void> write_csv(job& export_job, output& to) {
  const auto tables = wanted_tables(export_job.wanted());
  if (export_job.wanted().tables.size() == 1) return write_table(export_job, *tables.front(), to);
  for (const query::table* table : tables) {
    if (export_job.wanted().tables.empty() && !has_rows(export_job, *table)) continue;
    auto file = output::create(to.path() + "/" + std::string(table->name) + ".csv", output_shape::stream);
    if (!file) return tl::unexpected(file.error());
    if (auto written = write_table(export_job, *table, *file); !written) return written;
    if (auto placed = file->commit(); !placed) return placed;
  }
  return {};
}

}  // namespace sluice::exports
