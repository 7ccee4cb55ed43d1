// Rows of query results as intervals on a track.
#include "core/query/sql/sql_track.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "tests/core/query/sql/sql_fixture.hpp"

namespace sluice::query {
namespace {

using testing::ms;

class sql_track_test : public sql_test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    first_ = made_.add_kernel(100, 250, "gemm");
    second_ = made_.add_kernel(300, 1000, "copy kernel");
    made_.add_alloc(10, 7, 4096);
    open();
  }
  static void finish(const sql_track_task& task) {
    while (!task.done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::shared_ptr<const sql_track> get_track(const std::string& text) {
    const sql_track_task task(trace_, text);
    finish(task);
    EXPECT_FALSE(task.failure()) << task.failure()->to_string();
    return task.track();
  }
  std::string get_failure(const std::string& text, sql_track_options options = {}) {
    const sql_track_task task(trace_, text, std::move(options));
    finish(task);
    EXPECT_EQ(task.track(), nullptr);
    return task.failure() ? task.failure()->to_string() : std::string();
  }
  static std::vector<timeline::drawn_slice> drawn(const sql_track& track, time_range range = {-1000, 10'000},
                                                  std::uint32_t width = 11'000) {
    std::vector<timeline::drawn_slice> slices;
    track.draw(range, width, slices);
    return slices;
  }

  trace::event_id first_{}, second_{};
};

TEST_F(sql_track_test, has_the_rows_with_their_names_and_events) {
  const auto track = get_track("SELECT id, time, end, name FROM kernels");
  ASSERT_NE(track, nullptr);
  EXPECT_EQ(track->rows(), 2U);
  EXPECT_FALSE(track->ids_are_blocks());
  const auto slices = drawn(*track);
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0].item.begin, 100);
  EXPECT_EQ(slices[0].item.end, 250);
  EXPECT_EQ(track->name(slices[0].item.name), "gemm");
  EXPECT_EQ(slices[0].item.event, first_);
  EXPECT_EQ(slices[1].item.event, second_);
}

TEST_F(sql_track_test, takes_a_begin_and_a_duration) {
  const auto track = get_track("SELECT 5 AS Time, 20 AS duration UNION ALL SELECT 7.6, 2.2");
  const auto slices = drawn(*track);
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0].item.begin, 5);
  EXPECT_EQ(slices[0].item.end, 25);
  EXPECT_EQ(slices[1].item.begin, 7);
  EXPECT_EQ(slices[1].lane, 1) << "it overlaps the first";
}

TEST_F(sql_track_test, leaves_out_rows_without_a_number_for_their_begin) {
  const auto track = get_track("SELECT NULL AS begin, 5 AS end UNION ALL SELECT 'soon', 5 UNION ALL SELECT 3, 5");
  EXPECT_EQ(track->rows(), 1U);
  EXPECT_EQ(track->left_out(), 2U);
}

TEST_F(sql_track_test, gives_rows_without_an_end_the_rest_of_the_recording_and_backward_ones_no_length) {
  const auto track = get_track("SELECT 0 AS begin, NULL AS end UNION ALL SELECT 20, 10 UNION ALL SELECT -500, 'x'");
  const auto slices = drawn(*track);
  ASSERT_EQ(slices.size(), 3U);
  const trace::time_ns end = index::recorded_range(*trace_).end;
  std::uint64_t open = 0;
  for (const auto& each : slices) {
    EXPECT_EQ(each.item.end, each.item.begin == 20 ? 20 : end);
    open += each.item.begin != 20 ? 1 : 0;
  }
  EXPECT_EQ(open, 2U);
}

TEST_F(sql_track_test, bounds_times_that_no_recording_has) {
  const auto track = get_track(
      "SELECT 9223372036854775807 AS begin, 9223372036854775807 AS duration UNION ALL SELECT -9223372036854775808, -1 "
      "UNION ALL SELECT 1e300, 1e300");
  EXPECT_EQ(track->rows(), 3U);
  for (const auto& each : drawn(*track, {-latest_time, latest_time}, 100)) EXPECT_LE(each.item.begin, each.item.end);
}

TEST_F(sql_track_test, marks_ids_of_blocks) {
  const auto track = get_track("SELECT id, born, died, line FROM blocks");
  EXPECT_TRUE(track->ids_are_blocks());
  const auto slices = drawn(*track);
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(trace::raw(slices[0].item.event), 7U);
}

TEST_F(sql_track_test, cuts_long_names_between_characters) {
  const auto track = get_track("SELECT 1 AS time, replace(printf('%300c', 'x'), ' ', '\xC3\xA9') AS name");
  const auto slices = drawn(*track);
  ASSERT_EQ(slices.size(), 1U);
  const std::string name(track->name(slices[0].item.name));
  EXPECT_LE(name.size(), sql_track::longest_name);
  EXPECT_GE(name.size(), sql_track::longest_name - 1);
  EXPECT_EQ(name.substr(name.size() - 2), "\xC3\xA9");
}

TEST_F(sql_track_test, keeps_no_more_rows_than_its_limit) {
  const auto track = get_track(
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 2000005) SELECT x AS time, 1 AS duration "
      "FROM c");
  EXPECT_TRUE(track->cut());
  EXPECT_EQ(track->rows(), sql_track::row_limit);
  EXPECT_LE(drawn(*track, {0, 2'100'000}, 1000).size(), 4000U) << "about one per pixel";
}

TEST_F(sql_track_test, draws_the_first_lanes_of_rows_that_overlap) {
  const auto track = get_track(
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100) SELECT x AS time, 1000 AS duration "
      "FROM c");
  EXPECT_EQ(track->rows(), 100U);
  EXPECT_EQ(track->lanes(), 100U);
  const auto slices = drawn(*track);
  ASSERT_EQ(slices.size(), sql_track::drawn_lanes);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    EXPECT_EQ(slices[i].item.begin, static_cast<trace::time_ns>(i + 1));
    EXPECT_EQ(slices[i].lane, i);
  }
}

TEST_F(sql_track_test, says_why_there_is_none) {
  EXPECT_NE(get_failure("SELECT name FROM kernels").find("the rows have no time"), std::string::npos);
  EXPECT_NE(get_failure("SELECT").find("incomplete"), std::string::npos);
}

TEST_F(sql_track_test, stops_a_query_that_takes_too_long) {
  const auto begin = std::chrono::steady_clock::now();
  sql_track_options options;
  options.seconds = 0.2;
  EXPECT_NE(
      get_failure("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS time FROM c WHERE x < 0",
                  std::move(options)),
      "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(sql_track_test, ends_at_once_when_it_is_no_longer_wanted) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const sql_track_task task(
        trace_, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS time FROM c WHERE x < 0");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace sluice::query
