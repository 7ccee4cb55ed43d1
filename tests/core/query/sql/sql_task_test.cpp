// Queries that run in their own thread.
#include "core/query/sql/sql_task.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "core/export/result.hpp"
#include "tests/core/query/sql/sql_fixture.hpp"

namespace sluice::query {
namespace {

constexpr const char* thousand =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 1000) SELECT x, 'row ' || x AS words FROM c";
constexpr const char* endless =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x < 0";

class sql_task_test : public sql_test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    made_.add_alloc(10, 7, 4096);
    open();
  }
  static std::shared_ptr<const sql_result> finished(const sql_task& task) {
    while (!task.done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return task.found();
  }
};

TEST_F(sql_task_test, keeps_rows_in_blocks) {
  const sql_task task(trace_, thousand);
  const auto whole = finished(task);
  ASSERT_FALSE(whole->failure);
  ASSERT_EQ(whole->rows, 1000U);
  EXPECT_FALSE(whole->cut);
  ASSERT_EQ(whole->columns.size(), 2U);
  for (const std::uint64_t row : {0U, 255U, 256U, 999U}) {
    EXPECT_EQ(whole->text(row, 0), std::to_string(row + 1));
    EXPECT_EQ(whole->text(row, 1), "row " + std::to_string(row + 1));
    EXPECT_TRUE(whole->is_number(row, 0));
    EXPECT_FALSE(whole->is_number(row, 1));
  }
}

TEST_F(sql_task_test, knows_ids) {
  const sql_task task(trace_, "SELECT id, bytes, device FROM blocks");
  const auto whole = finished(task);
  ASSERT_FALSE(whole->failure) << whole->failure->to_string();
  ASSERT_EQ(whole->rows, 1U);
  EXPECT_EQ(whole->columns[0].id, id_kind::block);
  EXPECT_EQ(whole->id(0, 0), 7U);
}

TEST_F(sql_task_test, keeps_no_more_than_it_may) {
  sql_task_options few;
  few.rows = 300;
  const sql_task task(trace_, thousand, few);
  const auto some = finished(task);
  EXPECT_EQ(some->rows, 300U);
  EXPECT_TRUE(some->cut);
  EXPECT_EQ(some->text(299, 0), "300");
}

TEST_F(sql_task_test, says_what_went_wrong) {
  const sql_task task(trace_, "SELEC 1");
  const auto result = finished(task);
  ASSERT_TRUE(result->failure);
  EXPECT_EQ(result->failure->code, error_code::invalid_argument);
}

TEST_F(sql_task_test, ends_when_it_is_cancelled_or_forgotten) {
  std::atomic<int> woken{0};
  sql_task_options options;
  options.wake = [&] { ++woken; };
  sql_task task(trace_, endless, options);
  EXPECT_FALSE(task.done());
  task.cancel();
  const auto result = finished(task);
  ASSERT_TRUE(result->failure);
  EXPECT_EQ(result->failure->code, error_code::cancelled);
  EXPECT_GT(woken, 0);
  const sql_task forgotten(trace_, endless);
}

TEST_F(sql_task_test, all_rows_go_into_a_file) {
  const std::string place = made_.path() + ".csv";
  std::atomic<bool> stop{false};
  const auto written = exports::write_result(trace_, thousand, place, stop);
  ASSERT_TRUE(written) << written.error().to_string();
  EXPECT_EQ(*written, 1000U);
  std::ifstream in(place);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "x,words");
  std::getline(in, line);
  EXPECT_EQ(line, "1,row 1");
  in.close();
  std::filesystem::remove(place);
  stop = true;
  EXPECT_FALSE(exports::write_result(trace_, endless, place, stop));
  EXPECT_FALSE(std::filesystem::exists(place));
}

}  // namespace
}  // namespace sluice::query
