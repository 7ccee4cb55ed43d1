// An exported SQLite file gives the same query results as the virtual tables.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/export/export.hpp"
#include "core/query/sql/sql.hpp"
#include "core/query/sql/sql_text.hpp"
#include "tests/core/query/sql/sql_fixture.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/trace/random_rows.hpp"

namespace sluice::exports {
namespace {

namespace fs = std::filesystem;

class sqlite_export : public query::sql_test {
 protected:
  void TearDown() override { fs::remove(place_); }

  /// Adds rows of every kind, names that ids refer to, and a copy with a stack.
  void fill() {
    std::mt19937_64 random(5);
#define SLUICE_ADD(row, kind)                                   \
  if constexpr (!std::is_same_v<trace::row, trace::string_row>) \
    for (int i = 0; i < 100; ++i) add(trace::testing::random_row<trace::row>(random), random);
    SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
    for (std::uint64_t i = 1; i < 1000; ++i)
      made_.writer().add(
          trace::string_row{trace::string_id{i}, i % 10 == 0 ? "_ZN3foo3barEi" : "text " + std::to_string(i)});
    open();
  }
  template <class Row>
  void add(Row row, std::mt19937_64& random) {
    if constexpr (trace::is_event_row<Row>) {
      row.time = static_cast<trace::time_ns>(random() % 100'000);
      row.id = trace::event_id::none;  // A new id for each row.
      if constexpr (requires { row.end; }) row.end = row.time + static_cast<trace::time_ns>(random() % 1000);
    } else {
      row.id = static_cast<decltype(row.id)>(++last_);
    }
    made_.writer().add(std::move(row));
  }

  void write(const options& wanted = {}) {
    const auto done = exports::write(*trace_, *find_format("sqlite"), place_, wanted);
    ASSERT_TRUE(done) << done.error().to_string();
  }

  std::vector<std::string> ask_file(const std::string& text) const {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open_v2(place_.c_str(), &db, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    sqlite3_stmt* rows = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db, text.c_str(), -1, &rows, nullptr), SQLITE_OK)
        << text << ": " << sqlite3_errmsg(db);
    std::vector<std::string> strings;
    while (sqlite3_step(rows) == SQLITE_ROW) {
      std::string line;
      for (int i = 0; i < sqlite3_column_count(rows); ++i) {
        query::cell value;
        if (sqlite3_column_type(rows, i) == SQLITE_INTEGER)
          value = {query::cell::kind::integer, sqlite3_column_int64(rows, i), 0, {}};
        if (sqlite3_column_type(rows, i) == SQLITE_FLOAT)
          value = {query::cell::kind::real, 0, sqlite3_column_double(rows, i), {}};
        if (sqlite3_column_type(rows, i) == SQLITE_TEXT)
          value = {query::cell::kind::text, 0, 0, reinterpret_cast<const char*>(sqlite3_column_text(rows, i))};
        line.append(i == 0 ? "" : "|").append(query::to_text(value));
      }
      strings.push_back(line);
    }
    sqlite3_finalize(rows);
    sqlite3_close(db);
    return strings;
  }

  void expect_same(const std::string& text) {
    auto ours = ask(text);
    auto theirs = ask_file(text);
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    EXPECT_EQ(ours, theirs) << text;
  }

  const std::string place_ =
      (fs::temp_directory_path() / ("sluice-sqlite-" + std::to_string(::getpid()) + "-" +
                                    ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".sqlite"))
          .string();
  std::uint64_t last_ = 0;
};

TEST_F(sqlite_export, every_table_and_view_says_the_same) {
  fill();
  write();
  for (const query::sql_table_about& each : query::sql_schema()) {
    expect_same("SELECT * FROM " + each.name);
    expect_same("SELECT count(*) FROM " + each.name);
  }
}

TEST_F(sqlite_export, queries_give_the_same_results) {
  fill();
  write();
  for (const char* text :
       {"SELECT direction, count(*), max(bytes), max(duration) FROM transfer GROUP BY direction",
        "SELECT name, count(*) FROM kernels GROUP BY name", "SELECT * FROM alloc WHERE time BETWEEN 1000 AND 50000",
        "SELECT t.id, c.name FROM transfer AS t JOIN api_call AS c ON c.id = t.call",
        "SELECT k.id FROM kernel AS k LEFT JOIN stream AS s ON s.id = k.stream WHERE s.id IS NULL",
        "SELECT device_name, stream_name, stack_text FROM transfers", "SELECT layer, maximum FROM memory_use"})
    expect_same(text);
}

TEST_F(sqlite_export, a_range_holds_what_overlaps_it) {
  fill();
  options wanted;
  wanted.range = time_range{20'000, 40'000};
  write(wanted);
  EXPECT_EQ(ask_file("SELECT count(*) FROM transfer"),
            ask("SELECT count(*) FROM transfer WHERE time < 40000 AND max(time, coalesce(end, time)) >= 20000"));
  EXPECT_EQ(ask_file("SELECT maximum FROM memory_use ORDER BY 1"),
            ask("SELECT maximum FROM memory_use(20000, 40000) ORDER BY 1"));
}

TEST_F(sqlite_export, redacts_tables_and_metrics) {
  made_.standard_tables();
  trace::frame_row frame;
  frame.id = trace::frame_id{1};
  frame.kind = trace::frame_kind::python;
  frame.function = made_.text("load");
  frame.file = made_.text("/home/ada/secret/train.py");
  frame.line = 3;
  made_.writer().add(frame);
  trace::stack_row stack;
  stack.id = trace::stack_id{1};
  stack.frame = frame.id;
  made_.writer().add(stack);
  auto alloc = made_.event<trace::alloc_event>(5);
  alloc.block = trace::block_id{1};
  alloc.bytes = 100;
  alloc.stack = stack.id;
  made_.writer().add(alloc);
  open();
  options wanted;
  wanted.redact = redaction::all();
  write(wanted);
  EXPECT_EQ(ask_file("SELECT line FROM allocations").size(), 1U);
  EXPECT_NE(ask_file("SELECT line FROM allocations")[0].find("train.py:3"), std::string::npos);
  std::ifstream in(place_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(text.find("/ada"), std::string::npos);
  EXPECT_EQ(text.find("secret"), std::string::npos);
}

TEST_F(sqlite_export, of_a_table_only) {
  fill();
  options wanted;
  wanted.tables = {"kernel"};
  write(wanted);
  EXPECT_EQ(ask_file("SELECT name FROM sqlite_schema WHERE type = 'table'"), std::vector<std::string>{"kernel"});
}

/// Fixture for the export of folded stacks from small recordings.
class folded : public query::sql_test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    frame(1, "main", "train.py", 9);
    frame(2, "load;all", "/home/ada/data.py", 3);
    trace::stack_row outer;
    outer.id = trace::stack_id{1};
    outer.frame = trace::frame_id{1};
    made_.writer().add(outer);
    trace::stack_row inner;
    inner.id = trace::stack_id{2};
    inner.parent = outer.id;
    inner.frame = trace::frame_id{2};
    made_.writer().add(inner);
    alloc(10, 1, 100, 1);
    alloc(20, 2, 1000, 2);
    made_.add_free(30, 2);
    alloc(40, 3, 10, 0);
    sample(0, 30, 2, 1);
    sample(30, 20, 1, 1);
    sample(0, 7, 0, 2);
    open();
  }
  void sample(trace::time_ns begin, trace::time_ns length, std::uint64_t stack, std::uint64_t thread) {
    auto row = made_.event<trace::host_sample_event>(begin);
    row.length = length;
    row.stack = trace::stack_id{stack};
    row.thread = trace::thread_id{thread};
    made_.writer().add(row);
  }
  void frame(std::uint64_t id, const char* function, const char* file, std::uint64_t line) {
    trace::frame_row row;
    row.id = trace::frame_id{id};
    row.kind = trace::frame_kind::python;
    row.function = made_.text(function);
    row.file = made_.text(file);
    row.line = line;
    made_.writer().add(row);
  }
  void alloc(trace::time_ns time, std::uint64_t block, std::uint64_t bytes, std::uint64_t stack) {
    auto row = made_.event<trace::alloc_event>(time);
    row.block = trace::block_id{block};
    row.bytes = bytes;
    row.kind = trace::memory_kind::device;
    row.device = trace::device_id{1};
    row.stack = trace::stack_id{stack};
    made_.writer().add(row);
  }
  std::vector<std::string> lines(const options& wanted) const {
    const std::string place = made_.path() + ".folded";
    const auto done = write(*trace_, *find_format("folded"), place, wanted);
    if (!done) return {done.error().to_string()};
    std::ifstream in(place);
    std::vector<std::string> strings;
    for (std::string line; std::getline(in, line);) strings.push_back(line);
    fs::remove(place);
    std::sort(strings.begin(), strings.end());
    return strings;
  }
};

TEST_F(folded, holds_the_bytes_of_the_peak_by_stack) {
  EXPECT_EQ(lines({}),
            (std::vector<std::string>{"main (train.py:9) 100", "main (train.py:9);load,all (ada/data.py:3) 1000"}));
}

TEST_F(folded, holds_what_was_allocated) {
  options wanted;
  wanted.measure = "allocated";
  EXPECT_EQ(lines(wanted), (std::vector<std::string>{"(no stack recorded) 10", "main (train.py:9) 100",
                                                     "main (train.py:9);load,all (ada/data.py:3) 1000"}));
  wanted.range = time_range{0, 15};
  EXPECT_EQ(lines(wanted), (std::vector<std::string>{"main (train.py:9) 100"}));
}

TEST_F(folded, holds_the_time_of_host_threads) {
  options wanted;
  wanted.measure = "host";
  EXPECT_EQ(lines(wanted), (std::vector<std::string>{"(no stack recorded) 7", "main (train.py:9) 20",
                                                     "main (train.py:9);load,all (ada/data.py:3) 30"}));
  wanted.range = time_range{20, 35};
  EXPECT_EQ(lines(wanted),
            (std::vector<std::string>{"main (train.py:9) 5", "main (train.py:9);load,all (ada/data.py:3) 10"}));
  wanted.range.reset();
  wanted.only = {parse_subject("thread:2").value()};
  EXPECT_EQ(lines(wanted), std::vector<std::string>{"(no stack recorded) 7"});
}

TEST_F(folded, is_redacted) {
  options wanted;
  wanted.redact = redaction::all();
  EXPECT_EQ(lines(wanted),
            (std::vector<std::string>{"main (train.py:9) 100", "main (train.py:9);load,all (dir1/data.py:3) 1000"}));
}

TEST_F(folded, says_what_it_cannot_do) {
  options wanted;
  wanted.measure = "cows";
  EXPECT_NE(lines(wanted)[0].find("choose peak, allocated, transferred or host"), std::string::npos);
  wanted.measure.clear();
  wanted.only = {parse_subject("stream:1").value()};
  EXPECT_NE(lines(wanted)[0].find("device:ID"), std::string::npos);
  wanted.measure = "host";
  EXPECT_NE(lines(wanted)[0].find("device:ID or thread:ID"), std::string::npos);
}

}  // namespace
}  // namespace sluice::exports
