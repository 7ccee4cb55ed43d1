// Writes a data set of Parquet files, TABLE/run=NAME/rank=N/part-0.parquet. data_set.cpp lists the tables, and
// write_parquet.py writes the files. Each table takes one pass over its source rows. Memory does not grow with the
// recording.
#include <fmt/format.h>

#include <filesystem>

#include "core/export/formats.hpp"
#include "core/export/parquet/cells.hpp"
#include "core/export/parquet/partitions.hpp"
#include "core/export/table_rows.hpp"
#include "core/query/sql/metric_tables.hpp"

namespace sluice::exports {
namespace {

using query::text_role;

std::string find_run(job& export_job) {
  const std::string& name = export_job.wanted().name;
  return std::string(export_job.text(
      name.empty() ? std::filesystem::path(export_job.trace().path()).stem().string() : name, text_role::plain));
}

class data_set {
 public:
  data_set(job& export_job, query::sql_context& context, const index::chunk_index& chunks, parquet_process& to)
      : what_(export_job),
        context_(context),
        texts_(export_job),
        names_(export_job.tables(), *context.frames, texts_),
        calls_(export_job.trace(), chunks),
        ranks_(export_job.tables()),
        files_(to, texts_, find_run(export_job), ranks_) {}

  result<void> write() {
    for (const data_table& table : data_tables()) {
      if (auto begun = files_.begin(table); !begun) return begun;
      if (auto written = write(table); !written) return written;
      if (auto ended = files_.end(); !ended) return ended;
    }
    return {};
  }

 private:
  result<void> write(const data_table& table) {
    const query::view_about* view = query::find_view(table.name);
    if (view == nullptr) return write_metrics(table, *query::find_metric_table(table.name), false);
    for (const std::string_view source : query::find_tables(*view)) {
      const query::table* rows = query::find_table(source);
      auto written =
          rows == nullptr ? write_metrics(table, *query::find_metric_table(source), true) : write_events(table, *rows);
      if (!written) return written;
    }
    return {};
  }

  result<void> write_events(const data_table& table, const query::table& source) {
    row_cells cells(table, source.name, true, texts_, names_, calls_);
    const auto reader_of = [&](const void* row) {
      return [&source, row, this](std::size_t place) { return source.columns[place].read(row, what_.tables()); };
    };
    std::vector<calls::wanted_call> wanted;
    return for_each_chunk(what_, source, [&](std::span<const void* const> rows) -> result<void> {
      if (cells.needs_calls()) {
        wanted.clear();
        for (const void* row : rows) wanted.push_back(cells.get_call(reader_of(row)));
        if (auto found = calls_.find(wanted); !found) return found;
      }
      for (const void* row : rows)
        if (auto done = add_row(cells, reader_of(row)); !done) return done;
      return {};
    });
  }

  /// `named`: the rows have names of their own in the data set, as those of a view.
  result<void> write_metrics(const data_table& table, const query::metric_table& source, bool named) {
    row_cells cells(table, source.name, named, texts_, names_, calls_);
    std::string scratch;
    const auto range = source.ranged ? what_.wanted().range : std::nullopt;
    return source.for_each(context_, range, [&](const query::metric_rows& rows) -> result<void> {
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (!takes_row(what_, source, rows, row)) continue;
        what_.count_rows(1);
        const auto reader = [&](std::size_t place) { return rows.at(row, place, scratch); };
        if (auto done = add_row(cells, reader); !done) return done;
      }
      return {};
    });
  }

  template <class Read>
  result<void> add_row(row_cells& cells, const Read& read) {
    row_batch& to = files_.of(cells.find_rank(read, ranks_));
    cells.add(read, to);
    return files_.row_done(to);
  }

  job& what_;
  query::sql_context& context_;
  string_table texts_;
  id_texts names_;
  calls calls_;
  rank_table ranks_;
  partitions files_;
};

}  // namespace

output_shape shape_of_parquet(const options& /*wanted*/) { return output_shape::data_set; }

result<void> write_parquet(job& export_job, output& to) {
  if (!export_job.wanted().tables.empty())
    return fail(error_code::invalid_argument, "a data set always has all tables", "--table", "omit --table");
  const rank_table ranks(export_job.tables());
  for (const std::int64_t rank : ranks.all()) {
    const std::string partition = fmt::format("run={}/rank={}", partition_value(find_run(export_job)), rank);
    if (to.is_taken("events/" + partition))
      return fail(error_code::invalid_argument, fmt::format("the data set already has {}", partition), "-o",
                  "use --force to replace it, or --run to choose another run");
  }
  auto process = parquet_process::start(to.path());
  if (!process) return tl::unexpected(process.error());
  const auto context = make_context(export_job);
  const auto sections = context->sections();
  if (!sections) return tl::unexpected(sections.error());
  const auto chunks = (*sections)->chunks();
  if (!chunks) return tl::unexpected(chunks.error());
  if (auto written = data_set(export_job, *context, **chunks, *process).write(); !written) return written;
  if (auto ended = process->end(); !ended) return tl::unexpected(ended.error());
  return {};
}

}  // namespace sluice::exports
