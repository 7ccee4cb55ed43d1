// SQL that runs where the recording is: its rows equal those of the same query here, and it can fail and be stopped.
#include "core/remote/remote_sql.hpp"

#include <gtest/gtest.h>

#include "core/query/remote/sql_rows.hpp"
#include "tests/core/recordings/eventful_recording.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/remote/slow_line.hpp"
#include "tests/core/remote/watched.hpp"

namespace sluice::remote {
namespace {

using query::sql_result;
using query::sql_task;

/// Waits for the result, and returns it.
std::shared_ptr<const sql_result> wait_for_rows(const sql_task& task) {
  const auto done = [&] { return task.done(); };
  EXPECT_TRUE(becomes(done) || becomes(done));
  return task.found();
}

class remote_sql : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::tell_a_lot(made_);
    made_.close();
    const std::string socket = made_.path() + ".socket";
    line_ = std::make_unique<slow_line>(socket, made_.open(), std::chrono::milliseconds(1));
    by_ = connection::to_socket(socket, "host").value();
    host_ = get_sql_host(by_);
  }
  [[nodiscard]] std::unique_ptr<sql_task> ask(const std::string& text) {
    return std::make_unique<sql_task>(
        text, [this](const std::string& wanted, auto then) { return host_->ask(wanted, std::move(then)); });
  }

  testing::recording made_;
  std::unique_ptr<slow_line> line_;
  std::shared_ptr<connection> by_;
  std::shared_ptr<query::sql_host> host_;
};

TEST_F(remote_sql, runs_there) {
  const std::string text =
      "SELECT id, block, bytes, layer, 1.5 AS half, NULL AS none, -9223372036854775807 AS least FROM alloc, (SELECT 1 "
      "UNION SELECT 2) ORDER BY id";
  const sql_task here(made_.open()->latest(), text);
  const auto expected = wait_for_rows(here);
  const auto came = wait_for_rows(*ask(text));
  ASSERT_FALSE(came->failure) << came->failure->to_string();
  ASSERT_GT(came->rows, sql_result::block_rows) << "more than one block";
  EXPECT_EQ(query::encode_rows(*came).size(), query::encode_rows(*expected).size());
  ASSERT_EQ(came->rows, expected->rows);
  for (std::size_t column = 0; column < expected->columns.size(); ++column) {
    EXPECT_EQ(came->columns[column].id, expected->columns[column].id);
    for (std::uint64_t row = 0; row < came->rows; ++row)
      ASSERT_EQ(came->text(row, column), expected->text(row, column)) << row;
  }
}

TEST_F(remote_sql, that_is_wrong_is_said_to_be) {
  const auto came = wait_for_rows(*ask("SELECT nonsense FROM alloc"));
  ASSERT_TRUE(came->failure);
  EXPECT_NE(came->failure->message.find("nonsense"), std::string::npos) << came->failure->to_string();
}

TEST_F(remote_sql, that_is_too_long_is_not_sent) {
  EXPECT_EQ(wait_for_rows(*ask(std::string(100'000, ' ')))->failure->message, "the query is too long");
  EXPECT_TRUE(host_->alive());
}

TEST_F(remote_sql, sends_the_first_rows_of_many) {
  const auto came = wait_for_rows(
      *ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n"));
  ASSERT_FALSE(came->failure);
  EXPECT_TRUE(came->cut);
  EXPECT_EQ(came->rows, query::max_sent_rows);
  EXPECT_EQ(came->text(came->rows - 1, 0), "10000");
}

TEST_F(remote_sql, is_stopped_without_waiting_and_leaves_room_for_others) {
  for (int i = 0; i < 20; ++i) {
    const auto endless = ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
    endless->cancel();
    EXPECT_TRUE(endless->done());
    EXPECT_EQ(endless->found()->failure->code, error_code::cancelled);
  }
  EXPECT_FALSE(wait_for_rows(*ask("SELECT 1"))->failure);
}

TEST_F(remote_sql, runs_only_a_few_at_a_time) {
  std::vector<std::unique_ptr<sql_task>> endless;
  for (int i = 0; i < 17; ++i)
    endless.push_back(ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"));
  EXPECT_EQ(wait_for_rows(*endless.back())->failure->message, "too many queries are running");
}

TEST_F(remote_sql, says_that_the_connection_has_ended) {
  const auto endless = ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
  host_->end();
  EXPECT_TRUE(wait_for_rows(*endless)->failure);
  EXPECT_TRUE(becomes([&] { return !host_->alive(); }));
}

}  // namespace
}  // namespace sluice::remote
