// SQL over a trace: the tables' content, and that queries are read-only and end.
#include "core/query/sql/sql.hpp"
#include "core/index/growing_index.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "core/index/tensor_facts.hpp"
#include "core/metrics/statistics/range_statistics.hpp"
#include "core/query/sql/sql_text.hpp"
#include "core/summary/sections/section_writer.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "tests/core/metrics/training_recording.hpp"
#include "tests/core/query/sql/sql_fixture.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/stacks.hpp"
#include "tests/core/recordings/torch_program.hpp"
#include "tests/core/recordings/whole_sections.hpp"

namespace sluice::query {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Fixture with copies, blocks and a kernel of one process.
class sql : public sql_test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    auto call = made_.event<trace::api_call_event>(90);
    call.end = 140;
    call.name = made_.text("cuMemcpyHtoDAsync_v2");
    call.stack = stack("train.py", "load", 12);
    const trace::event_id asked{made_.writer().add(call)};
    auto copy = made_.event<trace::transfer_event>(100);
    copy.end = 150;
    copy.bytes = 5000;
    copy.direction = trace::direction::h2d;
    copy.source_kind = trace::memory_kind::pinned;
    copy.destination_kind = trace::memory_kind::device;
    copy.device = trace::device_id{1};
    copy.stream = trace::stream_id{1};
    copy.call = asked;
    made_.writer().add(copy);
    made_.add_copy(200, trace::unknown_time, 7);
    made_.add_alloc(10, 1, 4096);
    made_.add_alloc(20, 2, 8192);
    made_.add_free(60, 1);
    auto kernel = made_.event<trace::kernel_event>(300);
    kernel.end = 400;
    kernel.name = made_.text("_ZN3foo3barEv");
    kernel.device = trace::device_id{1};
    kernel.stream = trace::stream_id{1};
    kernel.grid_x = kernel.grid_y = kernel.grid_z = 2;
    kernel.block_x = 32;
    kernel.block_y = kernel.block_z = 1;
    made_.writer().add(kernel);
    open();
  }

  trace::stack_id stack(std::string_view file, std::string_view function, std::uint64_t line) {
    trace::frame_row frame;
    frame.id = trace::frame_id{1};
    frame.kind = trace::frame_kind::python;
    frame.file = made_.text(file);
    frame.function = made_.text(function);
    frame.line = line;
    made_.writer().add(frame);
    trace::stack_row row;
    row.id = trace::stack_id{1};
    row.frame = frame.id;
    made_.writer().add(row);
    return row.id;
  }
};

TEST_F(sql, rows_show_texts_words_and_nulls) {
  EXPECT_THAT(ask("SELECT time, end, duration, direction, source_kind, bytes, bandwidth FROM transfer ORDER BY time"),
              ElementsAre("100|150|50|h2d|pinned|5000|100000000000", "200|||h2d|pinned|7|"));
  EXPECT_THAT(ask("SELECT name FROM device"), ElementsAre("NVIDIA H200"));
  EXPECT_THAT(ask("SELECT command, rank FROM process"), ElementsAre("/usr/bin/python train.py|"));
}

TEST_F(sql, views_join_names_and_stacks) {
  EXPECT_THAT(ask("SELECT bytes, call_name, device_name, stream_name, line, stack_text FROM transfers ORDER BY time"),
              ElementsAre("5000|cuMemcpyHtoDAsync_v2|NVIDIA H200|Stream 7|load at train.py:12|load at train.py:12",
                          "7||NVIDIA H200|Stream 7||"));
  EXPECT_THAT(ask("SELECT name, blocks, threads, duration FROM kernels"), ElementsAre("foo::bar()|8|256|100"));
  EXPECT_THAT(ask("SELECT id, born, died, lifetime, bytes FROM blocks ORDER BY id"),
              ElementsAre("1|10|60|50|4096", "2|20|||8192"));
}

TEST_F(sql, a_view_has_all_events_with_the_same_columns) {
  EXPECT_THAT(ask("SELECT kind, time, end, name, device, bytes, block FROM events ORDER BY time"),
              ElementsAre("alloc|10||cuMemAlloc_v2|1|4096|1", "alloc|20||cuMemAlloc_v2|1|8192|2", "free|60|||||1",
                          "api_call|90|140|cuMemcpyHtoDAsync_v2||0|", "transfer|100|150|h2d|1|5000|",
                          "transfer|200||h2d|1|7|", "kernel|300|400|foo::bar()|1||"));
  EXPECT_THAT(ask("SELECT kind, line FROM events WHERE line IS NOT NULL"), ElementsAre("api_call|load at train.py:12"));
}

/// Fixture with samples of a thread.
class sql_host_samples : public sql_test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    testing::stack_maker stack(made_);
    auto row = made_.event<trace::host_sample_event>(100);
    row.length = 20;
    row.state = trace::host_state::running;
    row.stack = stack({testing::python("load", "/home/me/data.py", 7)});
    row.python_distance = 3;
    made_.writer().add(row);
    row = made_.event<trace::host_sample_event>(120);
    row.length = 30;
    row.state = trace::host_state::blocked;
    row.system_call = 202;
    made_.writer().add(row);
    row.time = 150;
    row.state = trace::host_state::in_kernel;
    row.system_call = 4000;
    made_.writer().add(row);
    open();
  }
};

TEST_F(sql_host_samples, are_rows_with_words_and_nulls) {
  EXPECT_THAT(
      ask("SELECT time, end, length, state, stack IS NULL, system_call, system_call_name, python_distance"
          " FROM host_sample ORDER BY time"),
      ElementsAre("100|120|20|running|0|||3", "120|150|30|blocked|1|202|futex|", "150|180|30|in_kernel|1|4000||"));
}

TEST_F(sql_host_samples, have_a_view_with_names_and_stacks) {
  EXPECT_THAT(ask("SELECT time, end, duration, state, system_call, thread_name, line FROM host_samples ORDER BY time"),
              ElementsAre("100|120|20|running||main|load at /home/me/data.py:7", "120|150|30|blocked|futex|main|",
                          "150|180|30|in_kernel|4000|main|"));
  EXPECT_THAT(ask("SELECT time FROM host_samples WHERE end > 170"), ElementsAre("150"));
}

/// Fixture with blocks from one line in two modules, and a retried allocation.
class sql_who_asked : public sql_test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    testing::stack_maker stack(made_);
    const auto hold = [&](std::uint64_t block, std::uint64_t bytes, std::vector<testing::made_frame> frames) {
      auto row = made_.event<trace::alloc_event>(static_cast<trace::time_ns>(100 * block));
      row.block = trace::block_id{block};
      row.bytes = bytes;
      row.kind = trace::memory_kind::device;
      row.device = trace::device_id{1};
      frames.push_back(testing::python("<module>", "/home/me/train.py", 9));
      frames.insert(frames.begin(), testing::native("malloc", "/x/site-packages/torch/lib/libc10_cuda.so"));
      row.stack = stack(frames);
      made_.writer().add(row);
    };
    hold(1, 60, {testing::python("Linear.forward", "/x/site-packages/torch/nn/modules/linear.py", 5)});
    hold(2, 40, {testing::python("GPT2MLP.forward", "/x/site-packages/transformers/gpt2.py", 5)});
    auto failed = made_.event<trace::alloc_failed_event>(150);
    failed.bytes = 40;
    failed.kind = trace::memory_kind::device;
    failed.device = trace::device_id{1};
    failed.name = made_.text("cuMemAlloc");
    made_.writer().add(failed);
    open();
  }
};

TEST_F(sql_who_asked, stacks_have_a_column_for_each_way_to_say_it) {
  EXPECT_THAT(
      ask("SELECT s.line, s.caller, s.module, s.package, s.owner FROM block b JOIN call_stack s ON s.id = b.stack "
          "ORDER BY b.id"),
      ElementsAre("<module> at /home/me/train.py:9|<module> at /home/me/train.py:9|"
                  "Linear.forward at /x/site-packages/torch/nn/modules/linear.py|the program|PyTorch",
                  "<module> at /home/me/train.py:9|<module> at /home/me/train.py:9|"
                  "GPT2MLP.forward at /x/site-packages/transformers/gpt2.py|transformers|PyTorch"));
}

TEST_F(sql_who_asked, the_peak_is_grouped_by_what_splits_it_most_evenly) {
  EXPECT_THAT(ask("SELECT layer, grouped_by, name, bytes, blocks FROM asked_by"),
              ElementsAre("driver|module|Linear.forward at /x/site-packages/torch/nn/modules/linear.py|60|1",
                          "driver|module|GPT2MLP.forward at /x/site-packages/transformers/gpt2.py|40|1"));
}

TEST_F(sql_who_asked, retries_are_a_table) {
  EXPECT_THAT(ask("SELECT time, until, block, layer, call, bytes FROM allocation_retry"),
              ElementsAre("150|200|2|driver|cuMemAlloc|40"));
}

/// Fixture with an allocation that failed for lack of memory.
class sql_failure : public sql_test {
 protected:
  void SetUp() override {
    testing::write_history(made_);
    open();
  }
};

TEST_F(sql_failure, has_what_there_was_and_what_would_have_let_it_fit) {
  EXPECT_THAT(ask("SELECT layer, call, bytes, error, place, refused_by FROM failed_allocation"),
              ElementsAre("framework|PyTorch|94371840|2|me/train.py:40 (forward)|device"));
  EXPECT_THAT(
      ask("SELECT needed, limit_least, device_free, used, reserved, largest_hole, missing FROM failed_allocation"),
      ElementsAre("94371840|356515840||314572800|314572800|0|94371840"));
  EXPECT_THAT(ask("SELECT changes FROM failed_allocation"), ElementsAre(HasSubstr("Free 1 block (100 MiB)")));
}

/// Fixture with two ranks, one of which has twice the memory of the other.
class sql_ranks : public sql_test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    for (std::uint64_t rank = 0; rank < 2; ++rank) {
      trace::process_row process;
      process.id = trace::process_id{10 + rank};
      process.pid = 10 + rank;
      process.rank = static_cast<std::int64_t>(rank);
      made_.writer().add(process);
      auto row = made_.event<trace::alloc_event>(5);
      row.process = process.id;
      row.block = trace::block_id{1 + rank};
      row.bytes = 100 * (1 + rank);
      row.kind = trace::memory_kind::device;
      row.device = trace::device_id{1};
      made_.writer().add(row);
    }
    open();
  }
};

TEST_F(sql_ranks, are_a_table) {
  EXPECT_THAT(ask("SELECT process, rank, layer, peak, peak_time, reserved, steps, collectives, waiting FROM rank_use"),
              ElementsAre("10|0|driver|100|5|0|0|0|0", "11|1|driver|200|5|0|0|0|0"));
}

TEST_F(sql, metrics_are_those_of_the_report) {
  index::growing_index index;
  while (!index.absorb(*trace_, 1000)) {
  }
  const auto measure = metrics::measure(index, trace_->tables(), index::recorded_range(*trace_));
  ASSERT_EQ(measure.memory.size(), 1U);
  EXPECT_THAT(
      ask("SELECT maximum, maximum_time, allocations FROM memory_use"),
      ElementsAre(std::to_string(measure.memory[0].maximum) + "|" + std::to_string(measure.memory[0].maximum_time) +
                  "|" + std::to_string(measure.memory[0].allocations)));
  ASSERT_EQ(measure.transfers.size(), 1U);
  EXPECT_THAT(
      ask("SELECT bytes, fastest_bandwidth FROM transfer_use"),
      ElementsAre(fmt_number(measure.transfers[0].bytes) + "|" + fmt_number(measure.transfers[0].fastest_bandwidth)));
  EXPECT_THAT(ask("SELECT max(bandwidth) FROM transfer"),
              ElementsAre(fmt_number(measure.transfers[0].fastest_bandwidth)));
}

TEST_F(sql, metrics_of_a_range_take_its_ends_as_arguments) {
  EXPECT_THAT(ask("SELECT maximum FROM memory_use"), ElementsAre("12288"));
  EXPECT_THAT(ask("SELECT maximum FROM memory_use(0, 15)"), ElementsAre("4096"));
  EXPECT_THAT(ask("SELECT w.column1, m.maximum FROM (VALUES (15), (30)) AS w JOIN memory_use(0, w.column1) AS m"),
              ElementsAre("15|4096", "30|12288"));
  EXPECT_THAT(ask("SELECT count(*) FROM memory_use(30, 20)"), ElementsAre("0"));  // An empty range.
}

TEST_F(sql, columns_that_are_ids_say_what_they_name) {
  auto rows = sql_->prepare("SELECT id, time, call, source_block, bytes FROM transfer");
  ASSERT_TRUE(rows);
  std::vector<id_kind> kinds;
  for (const sql_column& each : rows->columns()) kinds.push_back(each.id);
  EXPECT_THAT(kinds, ElementsAre(id_kind::event, id_kind::none, id_kind::event, id_kind::block, id_kind::none));
  rows = sql_->prepare("SELECT id, alloc, 1 + id FROM blocks");
  ASSERT_TRUE(rows);
  kinds.clear();
  for (const sql_column& each : rows->columns()) kinds.push_back(each.id);
  EXPECT_THAT(kinds, ElementsAre(id_kind::block, id_kind::event, id_kind::none));
}

TEST_F(sql, only_reads) {
  for (const char* text : {"DELETE FROM kernel",
                           "INSERT INTO kernel(id) VALUES (1)",
                           "UPDATE kernel SET id = 1",
                           "CREATE TABLE mine(x)",
                           "CREATE TEMP TABLE mine(x)",
                           "DROP TABLE kernel",
                           "DROP VIEW kernels",
                           "ATTACH '/tmp/x' AS x",
                           "ATTACH ':memory:' AS x",
                           "DETACH main",
                           "VACUUM INTO '/tmp/x'",
                           "VACUUM",
                           "PRAGMA journal_mode",
                           "PRAGMA temp_store_directory = '/tmp'",
                           "PRAGMA writable_schema = 1",
                           "BEGIN",
                           "COMMIT",
                           "SAVEPOINT x",
                           "REINDEX",
                           "ANALYZE",
                           "SELECT load_extension('/tmp/x')",
                           "CREATE VIRTUAL TABLE x USING fts5(y)",
                           "CREATE TRIGGER t AFTER INSERT ON kernel BEGIN SELECT 1; END",
                           "SELECT fts3_tokenizer('simple')",
                           "ALTER TABLE kernel RENAME TO k"}) {
    const auto rows = sql_->prepare(text);
    EXPECT_FALSE(rows) << text;
  }
  EXPECT_THAT(ask("SELECT count(*) FROM kernel"), ElementsAre("1"));
}

TEST_F(sql, mistakes_are_one_line_with_their_place) {
  EXPECT_THAT(problem("SELEC 1"), HasSubstr("query: at byte 0: near \"SELEC\": syntax error"));
  EXPECT_THAT(problem("SELECT 1 + nowhere FROM kernel"), HasSubstr("at byte 11: no such column: nowhere"));
  EXPECT_THAT(problem("SELECT * FROM cow"), HasSubstr("no such table: cow"));
  EXPECT_THAT(problem(""), HasSubstr("the query is empty"));
  EXPECT_THAT(problem(" ; -- nothing"), HasSubstr("the query is empty"));
  EXPECT_THAT(problem("SELECT 1; SELECT 2"), HasSubstr("more than one statement"));
  EXPECT_THAT(problem(std::string("SELECT 1\0FROM", 13)), HasSubstr("zero byte"));
  EXPECT_THAT(problem("SELECT * FROM transfer WHERE direction = \"h2d\""), HasSubstr("no such column"));
  EXPECT_THAT(problem("SELECT"), HasSubstr("incomplete input"));
  for (const char* text : {"SELEC 1", "SELECT '\n\n' FROM \"a\nb\""})
    EXPECT_EQ(problem(text).find('\n'), std::string::npos) << text;
  EXPECT_THAT(ask("SELECT 1; -- that is all\n"), ElementsAre("1"));
  EXPECT_THAT(ask("SELECT sum(value) FROM json_each('[1, 2]')"), ElementsAre("3"));
}

TEST_F(sql, hostile_queries_fail_or_end) {
  std::string deep = "SELECT " + std::string(20'000, '(') + "1" + std::string(20'000, ')');
  EXPECT_FALSE(problem(deep).empty());
  std::string minus = "SELECT ";
  for (int i = 0; i < 20'000; ++i) minus += "- ";
  EXPECT_FALSE(problem(minus + "1").empty());
  std::string many = "SELECT 1";
  for (int i = 0; i < 3000; ++i) many += " UNION ALL SELECT 1";
  EXPECT_FALSE(problem(many).empty());
  std::string in = "SELECT count(*) FROM transfer WHERE id IN (0";
  for (int i = 1; i < 200'000; ++i) in += "," + std::to_string(i);
  EXPECT_THAT(ask(in + ")"), ElementsAre("2"));
  EXPECT_FALSE(problem(in + std::string(8 << 20, ' ') + ")").empty());
  EXPECT_THAT(problem("SELECT length(zeroblob(1000000000))"), HasSubstr("too long"));
  EXPECT_THAT(
      problem("SELECT group_concat(a.x) FROM (WITH RECURSIVE c(x) AS (SELECT hex(randomblob(500000)) UNION ALL SELECT "
              "x FROM c LIMIT 1000) SELECT x FROM c) AS a"),
      HasSubstr("too long"));
}

TEST_F(sql, an_endless_query_can_be_interrupted) {
  auto rows = sql_->prepare("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c");
  ASSERT_TRUE(rows);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    sql_->interrupt();
  });
  const auto step = rows->step();
  other.join();
  ASSERT_FALSE(step);
  EXPECT_EQ(step.error().code, error_code::cancelled);
}

TEST_F(sql, scratch_and_memory_are_bounded) {
  sql_options few;
  few.scratch_bytes = 16 << 20;
  sql_ = sql_database::open(trace_, few).value();
  EXPECT_THAT(problem("WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT x + 1 FROM c) SELECT count(*) FROM c"),
              HasSubstr("more scratch space"));
  EXPECT_THAT(ask("SELECT count(*) FROM transfer"), ElementsAre("2"));  // The database still works.
  few.scratch_bytes = std::size_t{1} << 30;
  few.memory_bytes = 1 << 20;
  sql_ = sql_database::open(trace_, few).value();
  EXPECT_THAT(
      problem(
          "WITH RECURSIVE c(x) AS (SELECT randomblob(1000000) UNION ALL SELECT randomblob(1000000) FROM c LIMIT 500) "
          "SELECT group_concat(x) FROM c"),
      HasSubstr("more memory"));
}

TEST_F(sql, text_for_people_and_for_programs) {
  const auto text = [&](sql_format as, const std::string& query) {
    auto rows = sql_->prepare(query);
    EXPECT_TRUE(rows) << rows.error().to_string();
    sql_writer writer(as, rows->columns());
    std::string content;
    while (rows->step().value()) writer.row(*rows, content);
    writer.end(content);
    return content;
  };
  const std::string two = "SELECT 'a,b' AS name, 10 AS n, NULL AS none UNION ALL SELECT 'x', 9, 1.5";
  EXPECT_EQ(text(sql_format::table, two), "name   n  none\na,b   10\nx      9   1.5\n");
  EXPECT_EQ(text(sql_format::csv, two), "name,n,none\n\"a,b\",10,\nx,9,1.5\n");
  EXPECT_EQ(text(sql_format::json, two),
            "[\n{\"name\": \"a,b\", \"n\": 10, \"none\": null},\n{\"name\": \"x\", \"n\": 9, \"none\": 1.5}\n]\n");
  EXPECT_EQ(text(sql_format::json, "SELECT 1 AS a, 2 AS a"), "[\n{\"a\": 1, \"a:2\": 2}\n]\n");
  EXPECT_EQ(text(sql_format::json, "SELECT 9e999 AS a, char(7, 34, 92) AS b"),
            "[\n{\"a\": null, \"b\": \"\\u0007\\\"\\\\\"}\n]\n");
  EXPECT_EQ(text(sql_format::json, "SELECT CAST(x'41ff42' AS TEXT) AS a"), "[\n{\"a\": \"A\ufffdB\"}\n]\n");
  EXPECT_EQ(text(sql_format::table, "SELECT 'a' || char(10, 27) || 'b' AS c"), "c\na\\n\\x1bb\n");
  EXPECT_EQ(text(sql_format::json, "SELECT 1 AS a WHERE 0"), "[]\n");
  EXPECT_EQ(text(sql_format::csv, "SELECT 1 AS a WHERE 0"), "a\n");
  EXPECT_EQ(text(sql_format::table, "SELECT 1 AS a WHERE 0"), "a\n");
}

TEST_F(sql_test, metrics_of_the_whole_are_those_that_the_file_has) {
  testing::training(made_).tell();
  ASSERT_TRUE(made_.writer().flush());
  const testing::indexed loaded(made_.open());
  summary::stored_metrics stored_metrics = summary::make_stored_metrics(loaded.index, *loaded.snapshot);
  const std::vector<std::string> metrics{"transfer_use", "device_use", "thread_use", "idle_cause",
                                         "device_idle",  "finding",    "step"};
  auto plain = sql_database::open(loaded.snapshot).value();
  std::vector<std::vector<std::string>> wanted;
  for (const std::string& table : metrics) wanted.push_back(ask_of(*plain, "SELECT * FROM " + table));
  EXPECT_FALSE(wanted.front().empty() || wanted.back().empty());

  stored_metrics.metrics.whole.memory[0].frees = 4711;  // No row of the recording gives this number.
  const trace::saved_row kept = summary::saved_stored_metrics(stored_metrics).value();
  made_.writer().add_summary(std::span(&kept, 1));
  const std::vector<time_ns> begins{0};
  summary::section_writer(made_.writer(), begins).add_steps(*loaded.index.tensors(*loaded.snapshot)->steps);
  open();
  const std::vector<std::string> ours{"4711"};
  EXPECT_EQ(ask("SELECT frees FROM memory_use LIMIT 1"), ours);
  for (std::size_t i = 0; i < metrics.size(); ++i) EXPECT_EQ(ask("SELECT * FROM " + metrics[i]), wanted[i]);
  EXPECT_NE(ask("SELECT frees FROM memory_use WHERE range_begin = 0 LIMIT 1"), ours) << "of a range";
}

TEST_F(sql_test, causes_of_idle_time_add_up_to_it) {
  made_.standard_tables();
  for (time_ns i = 0; i < 5; ++i) {
    made_.add_kernel(i * 1'000'000, i * 1'000'000 + 10'000);
    made_.add_call(i * 1'000'000 + 5'000, i * 1'000'000 + 50'000, "cuStreamSynchronize");
  }
  open();
  EXPECT_EQ(ask("SELECT idle FROM device_idle"), std::vector<std::string>{std::to_string(4 * 990'000)});
  EXPECT_EQ(ask("SELECT sum(total) FROM idle_cause"), std::vector<std::string>{std::to_string(4 * 990'000)});
  EXPECT_EQ(ask("SELECT total FROM idle_cause WHERE cause = 'synchronization'"),
            std::vector<std::string>{std::to_string(4 * 45'000)});
}

TEST_F(sql, the_schema_is_what_the_database_has) {
  std::set<std::string> described;
  for (const sql_table_about& table : sql_schema()) {
    EXPECT_FALSE(table.about.empty()) << table.name;
    described.insert(table.name);
    std::vector<std::string> names;
    for (const sql_column_about& column : table.columns) {
      EXPECT_FALSE(column.about.empty()) << table.name << "." << column.name << " has no description";
      names.push_back(column.name);
    }
    EXPECT_EQ(ask("SELECT name FROM pragma_table_info('" + table.name + "')"), names) << table.name;
  }
  const auto whole = ask("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')");
  EXPECT_EQ(std::set<std::string>(whole.begin(), whole.end()), described);
}

TEST(sql_document, is_what_the_program_prints) {
  const std::string path = std::string(SLUICE_SOURCE_DIR) + "/app/cli/query_schema.md";
  std::ifstream in(path);
  const std::string document{std::istreambuf_iterator<char>(in), {}};
  const std::size_t begin = document.find("## Views");
  ASSERT_NE(begin, std::string::npos);
  if (getenv("SLUICE_WRITE_GOLDEN") != nullptr) std::ofstream(path) << document.substr(0, begin) + sql_schema_text();
  EXPECT_EQ(document.substr(begin), sql_schema_text()) << "SLUICE_WRITE_GOLDEN=1 rewrites it";
}

}  // namespace
}  // namespace sluice::query
