#include "core/export/table_rows.hpp"

#include <algorithm>

namespace sluice::exports {
namespace {

/// True if each subject is an id in the row, or another subject of its kind is. `read(place)` returns a cell.
template <class Read>
bool names_subjects(const options& wanted, std::span<const query::column> columns, const Read& read) {
  const auto names = [&](const subject& one) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].id != one.kind) continue;
      const query::cell value = read(i);
      if (value.type == query::cell::kind::integer && static_cast<std::uint64_t>(value.integer) == one.id) return true;
    }
    return false;
  };
  return std::all_of(wanted.only.begin(), wanted.only.end(), [&](const subject& one) {
    return std::any_of(wanted.only.begin(), wanted.only.end(),
                       [&](const subject& other) { return other.kind == one.kind && names(other); });
  });
}

/// Selects rows like `job::takes`, but by the columns of their table.
class row_filter {
 public:
  row_filter(const job& export_job, const query::table& table)
      : what_(export_job),
        table_(table),
        time_(table.columns.data() + table.find("time")),
        end_(table.find("end") < table.columns.size() ? table.columns.data() + table.find("end") : nullptr) {}

  [[nodiscard]] bool takes(const void* row) const {
    const options& wanted = what_.wanted();
    if (wanted.range) {
      const std::int64_t time = time_->read(row, what_.tables()).integer;
      std::int64_t end = time;
      if (end_ != nullptr)
        if (const query::cell last = end_->read(row, what_.tables()); last.type == query::cell::kind::integer)
          end = std::max(time, last.integer);
      if (time >= what_.range().end || end < what_.range().begin) return false;
    }
    return names_subjects(wanted, table_.columns,
                          [&](std::size_t place) { return table_.columns[place].read(row, what_.tables()); });
  }

 private:
  const job& what_;
  const query::table& table_;
  const query::column* time_;
  const query::column* end_;
};

}  // namespace

bool takes_row(const job& export_job, const query::metric_table& table, const query::metric_rows& rows,
               std::size_t row) {
  if (table.name != "block" || export_job.whole()) return true;
  std::string scratch;
  const auto read = [&](std::size_t place) { return rows.at(row, place, scratch); };
  if (export_job.wanted().range) {
    const query::cell died = read(query::find_place(table.columns, "died"));
    if (read(query::find_place(table.columns, "born")).integer >= export_job.range().end) return false;
    if (died.type == query::cell::kind::integer && died.integer <= export_job.range().begin) return false;
  }
  return names_subjects(export_job.wanted(), table.columns, read);
}

std::unique_ptr<query::sql_context> make_context(const job& export_job) {
  auto context = std::make_unique<query::sql_context>();
  context->trace = std::shared_ptr<const trace::snapshot>(std::shared_ptr<void>(), &export_job.trace());
  context->frames = std::make_unique<symbols::frame_cache>(symbols::options_for(export_job.trace()));
  context->cancelled = &export_job.cancelled();
  return context;
}

result<void> for_each_row(job& export_job, const query::table& table,
                          const std::function<result<void>(const void* row)>& visit) {
  return for_each_chunk(export_job, table, [&](std::span<const void* const> rows) -> result<void> {
    for (const void* row : rows) {
      if (!table.events && export_job.cancelled())
        return fail(error_code::cancelled, "the export was cancelled", export_job.trace().path());
      if (auto done = visit(row); !done) return done;
    }
    return {};
  });
}

result<void> for_each_chunk(job& export_job, const query::table& table,
                            const std::function<result<void>(std::span<const void* const> rows)>& visit) {
  std::vector<const void*> wanted;
  if (!table.events) {
    const auto rows = table.read(export_job.trace(), 0);
    if (!rows) return tl::unexpected(rows.error());
    for (std::size_t i = 0; i < rows->count; ++i) wanted.push_back((*rows)[i]);
    export_job.count_rows(rows->count);
    return visit(wanted);
  }
  const row_filter filter(export_job, table);
  const auto chunks = export_job.trace().chunks();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].type != table.type) continue;
    const bool reaches = !export_job.wanted().range || (chunks[i].min_time < export_job.range().end &&
                                                        chunks[i].max_time >= export_job.range().begin);
    if (reaches) {
      const auto rows = table.read_once(export_job.trace(), i);
      if (!rows) return tl::unexpected(rows.error());
      wanted.clear();
      for (std::size_t row = 0; row < rows->count; ++row)
        if (filter.takes((*rows)[row])) wanted.push_back((*rows)[row]);
      export_job.count_rows(wanted.size());
      if (auto done = visit(wanted); !done) return done;
    }
    if (auto on = export_job.chunk_done(chunks[i]); !on) return on;
  }
  return {};
}

std::vector<const query::table*> wanted_tables(const options& wanted) {
  std::vector<const query::table*> tables;
  for (const query::table& each : query::tables())
    if (wanted.tables.empty() ||
        std::find(wanted.tables.begin(), wanted.tables.end(), each.name) != wanted.tables.end())
      tables.push_back(&each);
  return tables;
}

}  // namespace sluice::exports
