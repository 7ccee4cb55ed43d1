// SQL over random traces: late events, extreme times, repeated ids. Pushed-down conditions must not change results.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "tests/core/query/sql/sql_fixture.hpp"
#include "tests/core/trace/random_rows.hpp"

namespace sluice::query {
namespace {

class sql_random : public sql_test, public ::testing::WithParamInterface<unsigned> {
 protected:
  std::mt19937_64 random_{GetParam()};

  /// Adds chunks of 64 rows whose times mostly increase, sometimes jump back, and are sometimes extreme.
  template <class Row>
  void add_rows(std::size_t count) {
    trace::time_ns time = 0;
    for (std::size_t i = 0; i < count; ++i) {
      Row row = trace::testing::random_row<Row>(random_);
      if constexpr (trace::is_event_row<Row>) {
        time += static_cast<trace::time_ns>(random_() % 100);
        if (random_() % 50 == 0) time -= static_cast<trace::time_ns>(random_() % 5000);
        if (random_() % 100 != 0) row.time = time;
        if constexpr (requires { row.end; }) {
          if (random_() % 100 != 0)
            row.end =
                random_() % 10 == 0 ? trace::unknown_time : row.time + static_cast<trace::time_ns>(random_() % 500);
        }
        row.id = trace::event_id{random_() % 4 == 0 ? 1 + random_() % 50 : 1000 + i};
      }
      made_.writer().add(row);
    }
  }

  void SetUp() override {
#define SLUICE_ADD(row, kind)                                   \
  if constexpr (!std::is_same_v<trace::row, trace::string_row>) \
    add_rows<trace::row>(trace::is_event_row<trace::row> ? 300 : 20);
    SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
    for (std::uint64_t i = 1; i < 1000; ++i)
      made_.writer().add(trace::string_row{trace::string_id{i}, "text " + std::to_string(i)});
    open();
  }

  /// Every row of a table, read without SQL.
  std::vector<std::vector<std::string>> get_rows(const table& subject) const {
    std::vector<std::vector<std::string>> lists;
    const auto take = [&](std::size_t chunk) {
      const auto rows = subject.read(*trace_, chunk);
      ASSERT_TRUE(rows);
      for (std::size_t i = 0; i < rows->count; ++i) {
        std::vector<std::string> cells;
        for (const column& each : subject.columns) cells.push_back(to_text(each.read((*rows)[i], trace_->tables())));
        lists.push_back(std::move(cells));
      }
    };
    if (!subject.events) take(0);
    for (std::size_t i = 0; subject.events && i < trace_->chunks().size(); ++i)
      if (trace_->chunks()[i].type == subject.type) take(i);
    return lists;
  }

  std::vector<std::string> sorted(const std::string& text) {
    auto whole = ask(text);
    std::sort(whole.begin(), whole.end());
    return whole;
  }
};

TEST_P(sql_random, a_table_says_what_its_rows_say) {
  for (const table& each : tables()) {
    std::vector<std::string> expected;
    for (const auto& cells : get_rows(each)) {
      std::string line;
      for (std::size_t i = 0; i < cells.size(); ++i) line.append(i == 0 ? "" : "|").append(cells[i]);
      expected.push_back(line);
    }
    EXPECT_FALSE(expected.empty()) << each.name;
    EXPECT_EQ(ask("SELECT * FROM " + std::string(each.name)), expected) << each.name;
  }
}

/// A value in any form that a user might write: an existing one, a neighbor, a fraction, a text, an extreme.
std::string literal(std::mt19937_64& random, const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  const std::string& there = rows[random() % rows.size()][column];
  switch (random() % 10) {
    case 0:
      return "9223372036854775807";
    case 1:
      return "-9223372036854775808";
    case 2:
      return there.empty() ? "NULL" : there + ".5";
    case 3:
      return "'" + there + "'";
    case 4:
      return "'abc'";
    case 5:
      return "1e300";
    default:
      return there.empty() ? "0" : there;
  }
}

TEST_P(sql_random, what_is_pushed_down_leaves_the_result_as_it_is) {
  static constexpr std::array operators = {"=", "<", "<=", ">", ">=", "IN", "IS", "<>"};
  for (const table& each : tables()) {
    const auto rows = get_rows(each);
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < each.columns.size(); ++i)
      if (each.columns[i].type != column_type::text && each.columns[i].type != column_type::word &&
          each.columns[i].type != column_type::real)
        numbers.push_back(i);
    for (int round = 0; round < 12; ++round) {
      std::string pushed;
      std::string plain;
      const std::size_t conditions = 1 + random_() % 3;
      for (std::size_t i = 0; i < conditions; ++i) {
        const std::size_t column = numbers[random_() % numbers.size()];
        const std::string name = "\"" + std::string(each.columns[column].name) + "\"";
        const std::string op = operators[random_() % operators.size()];
        std::string value = literal(random_, rows, column);
        if (op == "IN") {
          for (std::size_t more = random_() % 5; more > 0; --more) value += ", " + literal(random_, rows, column);
          value = "(" + value + ")";
        }
        const char* join = i == 0 ? " WHERE " : random_() % 4 == 0 ? " OR " : " AND ";
        pushed += join + name + " " + op + " " + value;
        // A cast to the column's own type keeps its affinity, but prevents the condition from being pushed down.
        plain += join + ("CAST(" + name + " AS INTEGER) " + op + " " + value);
      }
      const std::string source = "SELECT rowid, * FROM " + std::string(each.name);
      EXPECT_EQ(sorted(source + pushed), sorted(source + plain)) << pushed;
    }
  }
}

TEST_P(sql_random, ranges_of_time_are_those_of_a_loop) {
  for (const char* name : {"transfer", "kernel", "alloc", "counter"}) {
    const table& subject = *find_table(name);
    const auto rows = get_rows(subject);
    const std::size_t time = subject.find("time");
    for (int round = 0; round < 20; ++round) {
      const std::int64_t begin = static_cast<std::int64_t>(random_() % 20'000) - 2000;
      const std::int64_t to = begin + static_cast<std::int64_t>(random_() % 3000);
      const auto expected = std::count_if(rows.begin(), rows.end(), [&](const auto& row) {
        const std::int64_t at = std::stoll(row[time]);
        return at >= begin && at < to;
      });
      EXPECT_EQ(ask("SELECT count(*) FROM " + std::string(name) + " WHERE time >= " + std::to_string(begin) +
                    " AND time < " + std::to_string(to))[0],
                std::to_string(expected));
    }
  }
}

TEST_P(sql_random, joins_on_ids_are_those_of_a_loop) {
  const table& transfers = *find_table("transfer");
  const table& calls = *find_table("api_call");
  const auto left = get_rows(transfers);
  const auto right = get_rows(calls);
  const std::size_t call = transfers.find("correlation");
  const std::size_t id = calls.find("id");
  std::size_t expected = 0;
  for (const auto& a : left)
    for (const auto& b : right) expected += !a[call].empty() && a[call] == b[id] ? 1 : 0;
  ASSERT_GT(expected, 0U);
  const std::string join = "SELECT count(*) FROM transfer AS t JOIN api_call AS c ON c.id = t.correlation";
  EXPECT_EQ(ask(join)[0], std::to_string(expected));
  EXPECT_EQ(ask(join)[0], std::to_string(expected));  // Now with the index that the first query built.
  sql_options none;
  none.lookup_bytes = 0;
  EXPECT_EQ(ask_of(*sql_database::open(trace_, none).value(), join)[0], std::to_string(expected));
  // Left joins keep rows without a match.
  EXPECT_EQ(
      ask("SELECT count(*) FROM transfer AS t LEFT JOIN api_call AS c ON c.id = t.id AND c.time > 1e9 "
          "WHERE c.id IS NULL")[0],
      ask("SELECT count(*) FROM transfer AS t WHERE NOT EXISTS (SELECT 1 FROM api_call AS c WHERE +c.id = +t.id AND "
          "+c.time > 1e9)")[0]);
}

TEST_P(sql_random, outer_joins_are_those_of_the_unpushed_ones) {
  for (const char* join : {"LEFT", "RIGHT", "FULL"}) {
    const std::string source = std::string("SELECT a.rowid, b.rowid FROM alloc AS a ") + join + " JOIN free AS b ON ";
    EXPECT_EQ(sorted(source + "b.block = a.block AND b.time > 5000"),
              sorted(source + "+b.block = +a.block AND +b.time > 5000"))
        << join;
  }
}

/// SQL keywords in random order: each query ends soon, with an error or a result.
TEST_P(sql_random, nonsense_is_an_error_or_an_result) {
  static constexpr std::array words = {"SELECT",
                                       "FROM",
                                       "WHERE",
                                       "*",
                                       "(",
                                       ")",
                                       ",",
                                       "id",
                                       "time",
                                       "transfer",
                                       "kernels",
                                       "alloc",
                                       "blocks",
                                       "JOIN",
                                       "ON",
                                       "=",
                                       "<",
                                       "IN",
                                       "NOT",
                                       "NULL",
                                       "AND",
                                       "OR",
                                       "1",
                                       "-1",
                                       "9e99",
                                       "'x'",
                                       "x'ff'",
                                       "GROUP BY",
                                       "ORDER BY",
                                       "LIMIT",
                                       "count(*)",
                                       "sum(bytes)",
                                       "WITH",
                                       "RECURSIVE",
                                       "AS",
                                       "UNION ALL",
                                       "memory_use",
                                       "memory_use(0, 99)",
                                       "call_stack",
                                       "LEFT",
                                       "IS",
                                       "BETWEEN",
                                       "CASE",
                                       "WHEN",
                                       "THEN",
                                       "END",
                                       "OVER",
                                       "PARTITION BY",
                                       ";",
                                       "--",
                                       "/*",
                                       "EXISTS",
                                       "DISTINCT",
                                       "VALUES",
                                       "EXPLAIN",
                                       "rowid",
                                       "PRAGMA",
                                       "table_info(kernel)",
                                       "INDEXED BY",
                                       "COLLATE",
                                       "LIKE",
                                       "||",
                                       "?",
                                       ":a",
                                       "json_each('[1]')",
                                       "range_begin",
                                       "sqlite_schema"};
  for (int round = 0; round < 1500; ++round) {
    std::string text = random_() % 4 == 0 ? "" : "SELECT * FROM transfer WHERE ";
    for (std::size_t count = 1 + random_() % 12; count > 0; --count)
      text.append(words[random_() % words.size()]).append(" ");
    auto rows = sql_->prepare(text);
    if (!rows) {
      EXPECT_EQ(rows.error().to_string().find('\n'), std::string::npos) << text;
      continue;
    }
    for (int row = 0; row < 50; ++row) {
      const auto more = rows->step();
      if (!more || !*more) break;
      for (std::size_t i = 0; i < rows->columns().size(); ++i) static_cast<void>(to_text(rows->at(i)));
    }
  }
}

TEST_P(sql_random, every_view_and_metric_can_be_read_to_its_end) {
  for (const sql_table_about& each : sql_schema()) {
    auto rows = sql_->prepare("SELECT * FROM " + each.name);
    ASSERT_TRUE(rows) << each.name << rows.error().to_string();
    for (;;) {
      const auto more = rows->step();
      ASSERT_TRUE(more) << each.name << ": " << more.error().to_string();
      if (!*more) break;
      for (std::size_t i = 0; i < rows->columns().size(); ++i) static_cast<void>(to_text(rows->at(i)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, sql_random, ::testing::Values(1U, 2U, 3U));

TEST_F(sql_test, a_damaged_chunk_is_an_error_that_names_its_place) {
  made_.standard_tables();
  for (int i = 0; i < 200; ++i) made_.add_copy(i, i + 1, 10);
  open();
  std::uint64_t offset = 0;
  for (const trace::chunk_info& chunk : trace_->chunks())
    if (chunk.type == trace::row_type::transfer) offset = chunk.offset;
  std::fstream out(made_.path(), std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(static_cast<std::streamoff>(offset) + 70);
  out.put('\x55');
  out.close();
  const std::string said = problem("SELECT sum(bytes) FROM transfer");
  EXPECT_NE(said.find("at byte " + std::to_string(offset)), std::string::npos) << said;
  EXPECT_TRUE(problem("SELECT sum(bytes) FROM transfer WHERE time < 50").empty());  // That chunk is not read.
}

}  // namespace
}  // namespace sluice::query
