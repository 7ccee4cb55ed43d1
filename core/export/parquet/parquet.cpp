// Writes a data set of Parquet files, TABLE/run=NAME/rank=N/part-0.parquet. data_set.cpp defines the tables, and
// write_parquet.py writes the files. Each table takes one pass over its source rows. Memory does not grow with the
// recording.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/export/formats.hpp"
#include "core/export/parquet/cells.hpp"
#include "core/export/parquet/partitions.hpp"
#include "core/export/parquet/recording_parts.hpp"
#include "core/export/table_rows.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/listed_block.hpp"
#include "core/metrics/unfreed.hpp"
#include "core/query/sql/metric_tables.hpp"
#include "core/trace/model/words.hpp"

namespace sluice::exports {
namespace {

using query::text_role;
using trace::row_type;

/// The types of rows that only support others, such as checkpoints, clocks, and attributes of other rows.
constexpr std::array not_events = {row_type::checkpoint,   row_type::live_block, row_type::clock_anchor,
                                   row_type::watermark,    row_type::attribute,  row_type::link,
                                   row_type::transfer_part};

std::string find_run(job& export_job) {
  const std::string& name = export_job.wanted().name;
  return std::string(export_job.text(
      name.empty() ? std::filesystem::path(export_job.trace().path()).stem().string() : name, text_role::plain));
}

class data_set {
 public:
  data_set(job& export_job, recording_parts& parts, const index::chunk_index& chunks, parquet_process& to)
      : what_(export_job),
        parts_(parts),
        texts_(export_job),
        names_(export_job.tables(), *parts.context().frames, texts_),
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
    switch (table.rows) {
      case data_rows::events:
        for (const query::table& each : query::tables())
          if (each.events && std::find(not_events.begin(), not_events.end(), each.type) == not_events.end())
            if (auto written = write_rows(table, each); !written) return written;
        return {};
      case data_rows::rows:
        return write_rows(table, *query::find_table(table.from));
      case data_rows::blocks:
        return write_blocks();
      case data_rows::metrics:
        return write_metrics(table);
    }
    return {};
  }

  result<void> write_rows(const data_table& table, const query::table& source) {
    row_cells cells(table.columns, source, what_.tables(), texts_, names_, calls_);
    std::vector<calls::wanted_call> wanted;
    return for_each_chunk(what_, source, [&](std::span<const void* const> rows) -> result<void> {
      if (cells.needs_calls()) {
        wanted.clear();
        for (const void* row : rows) wanted.push_back(cells.get_call(row));
        if (auto found = calls_.find(wanted); !found) return found;
      }
      for (const void* row : rows) {
        row_batch& to = files_.of(ranks_.of(cells.find_process(row)));
        cells.add(row, to);
        if (auto done = files_.row_done(to); !done) return done;
      }
      return {};
    });
  }

  result<void> write_blocks() {
    const metrics::cut_end end(what_.trace());
    return parts_.for_each([&](const index::event_store& part, time_range covered) -> result<void> {
      const auto facts = part.tensors(what_.trace());
      const auto blocks = part.memory().blocks();
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        const index::block_record& each = blocks[i];
        if (!each.allocated || !covered.holds(each.born) || !takes(each)) continue;
        const auto category = i < facts->categories.size() ? facts->categories[i] : index::block_category{};
        row_batch& to = files_.of(ranks_.of(raw(each.process)));
        add_block(each, category, part.touches(), metrics::is_unfreed(each, end), to);
        what_.count_rows(1);
        if (auto done = files_.row_done(to); !done) return done;
      }
      return {};
    });
  }

  /// True if the block was live in the range and matches the subjects.
  [[nodiscard]] bool takes(const index::block_record& block) const {
    const options& wanted = what_.wanted();
    if (wanted.range && !block.live_in(what_.range())) return false;
    const auto names = [&](const subject& one) {
      using query::id_kind;
      switch (one.kind) {
        case id_kind::block:
          return one.id == raw(block.id) || one.id == raw(block.parent);
        case id_kind::event:
          return one.id == raw(block.alloc) || one.id == raw(block.free);
        case id_kind::process:
          return one.id == raw(block.process);
        case id_kind::thread:
          return one.id == raw(block.thread);
        case id_kind::device:
          return one.id == raw(block.device);
        case id_kind::stream:
          return one.id == raw(block.stream);
        case id_kind::pool:
          return one.id == raw(block.pool);
        default:
          return false;
      }
    };
    return std::all_of(wanted.only.begin(), wanted.only.end(), [&](const subject& one) {
      return std::any_of(wanted.only.begin(), wanted.only.end(),
                         [&](const subject& other) { return other.kind == one.kind && names(other); });
    });
  }

  /// Adds the cells of a block, in the order of its columns in data_set.cpp.
  void add_block(const index::block_record& block, const index::block_category& category,
                 const index::touch_index& touches, bool unfreed, row_batch& to) {
    metrics::listed_block uses;
    if (!touches.empty()) uses.set_uses(touches.of(block));
    const auto id = [&](std::uint64_t value) { value == 0 ? to.add_null() : to.add(static_cast<std::int64_t>(value)); };
    const auto time = [&](trace::time_ns when) { when == trace::unknown_time ? to.add_null() : to.add(when); };
    const auto number = [&](std::uint64_t subject) { to.add(static_cast<std::int64_t>(subject)); };
    const auto text = [&](std::string_view name) {
      name.empty() ? to.add_null() : to.add_text(texts_.of_lasting(name, text_role::code));
    };
    const auto known = [&](id_texts::number target) { target ? to.add_text(*target) : to.add_null(); };
    id(raw(block.id));
    id(raw(block.alloc));
    time(block.born);
    time(block.died);
    number(block.bytes);
    text(trace::get_word(block.layer));
    text(trace::get_word(block.kind));
    text(category.kind == index::category::none ? std::string_view() : index::category_name(category.kind));
    text(what_.tables().text(block.name));
    id(raw(block.process));
    id(raw(block.device));
    known(names_.device(raw(block.device)));
    id(raw(block.stream));
    number(block.address);
    number(unfreed ? 1 : 0);
    number(block.born_before() ? 1 : 0);
    number(block.imported() ? 1 : 0);
    time(uses.first_use);
    time(uses.last_use);
    touches.empty() ? to.add_null() : number(uses.uses);
    using enum symbols::attribution;
    for (const auto by : {line, caller, module, package, owner}) known(names_.stack(raw(block.stack), by));
    to.end_row();
  }

  result<void> write_metrics(const data_table& table) {
    const auto tables = query::metric_tables();
    const query::metric_table& metric_table = *std::find_if(
        tables.begin(), tables.end(), [&](const query::metric_table& each) { return each.name == table.from; });
    const auto output = metric_table.make(parts_.context(), metric_table.ranged ? what_.wanted().range : std::nullopt);
    if (!output) return tl::unexpected(output.error());
    const auto get_place = [&](std::string_view name) {
      const auto found = std::find_if(metric_table.columns.begin(), metric_table.columns.end(),
                                      [&](const query::metric_column& each) { return each.name == name; });
      return static_cast<std::size_t>(found - metric_table.columns.begin());
    };
    std::string scratch;
    const auto id_in = [&](std::size_t row, std::size_t column) {
      const query::cell value =
          column < metric_table.columns.size() ? (*output)->at(row, column, scratch) : query::cell{};
      return value.type == query::cell::kind::integer ? static_cast<std::uint64_t>(value.integer) : 0;
    };
    const std::size_t process = get_place("process"), device = get_place("device");
    for (std::size_t row = 0; row < (*output)->size(); ++row) {
      const std::int64_t rank = process < metric_table.columns.size()  ? ranks_.of(id_in(row, process))
                                : device < metric_table.columns.size() ? ranks_.of_device(id_in(row, device))
                                                                       : ranks_.of_job();
      row_batch& to = files_.of(rank);
      for (const data_column& each : table.columns) {
        const std::size_t column = get_place(each.from);
        const query::cell value = (*output)->at(row, column, scratch);
        if (value.type == query::cell::kind::null)
          to.add_null();
        else if (value.type == query::cell::kind::text)
          to.add_text(texts_.of(value.text, metric_table.columns[column].role));
        else
          to.add(value.integer);
      }
      to.end_row();
      what_.count_rows(1);
      if (auto done = files_.row_done(to); !done) return done;
    }
    return {};
  }

  job& what_;
  recording_parts& parts_;
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
  auto parts = recording_parts::open(export_job);
  if (!parts) return tl::unexpected(parts.error());
  const auto chunks = parts->chunks();
  if (!chunks) return tl::unexpected(chunks.error());
  if (auto written = data_set(export_job, *parts, **chunks, *process).write(); !written) return written;
  if (auto ended = process->end(); !ended) return tl::unexpected(ended.error());
  return {};
}

}  // namespace sluice::exports
