#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/threads/worker_thread.hpp"
#include "core/generate/generate.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/sql/sql_task.hpp"
#include "core/query/sql/sql_track.hpp"

/// A web page opened from disk has no threads. This test program runs all its tests without threads.
namespace sluice::query {
namespace {

using steady = std::chrono::steady_clock;

/// Fixture that computes the expected results once, while there are still threads.
class without_threads : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  static void SetUpTestSuite() {
    for (const std::uint64_t events : {std::uint64_t{20'000}, std::uint64_t{600'000}}) {
      const std::string path =
          std::filesystem::temp_directory_path() / ("sluice-without-threads-" + std::to_string(::getpid()) + ".sluice");
      ASSERT_TRUE(generate::generate({.events = events}, path));
      made& one = of(events);
      one.file = trace::file::open(path).value();
      std::filesystem::remove(path);
      engine asked(one.file);
      one.report = asked.ask_now(report_query{}).value();
      one.tracks = asked.ask_now(tracks_query{}).value();
      one.found = asked.ask_now(search_query{"gemm"}).value();
    }
    do_without_threads();
  }
  static void TearDownTestSuite() {
    of(20'000) = {};
    of(600'000) = {};
  }

  struct made {
    std::shared_ptr<trace::file> file;
    std::shared_ptr<const metrics::report> report;
    std::shared_ptr<const track_list> tracks;
    std::shared_ptr<const search_results> found;
  };
  static made& of(std::uint64_t events) {
    static made small, large;
    return events == 20'000 ? small : large;
  }

  /// Repeats the query frame by frame, like a window, until its result is there.
  template <class Query>
  static std::shared_ptr<const typename Query::result_type> make_result(engine& asked, const Query& query) {
    slot<Query> one;
    for (int frame = 0; frame < 100'000; ++frame) {
      const auto now = one.ask(asked, query);
      if (now.failure || now.complete) return now.value;
      asked.work_here(steady::now() + std::chrono::milliseconds(10));
    }
    return nullptr;
  }
};

TEST_P(without_threads, work_between_frames_gives_the_same_results) {
  const made& wanted = of(GetParam());
  engine asked(wanted.file);
  const auto report = make_result(asked, report_query{});
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->events, wanted.report->events);
  EXPECT_EQ(report->peaks.size(), wanted.report->peaks.size());
  const auto tracks = make_result(asked, tracks_query{});
  ASSERT_NE(tracks, nullptr);
  EXPECT_EQ(tracks->tracks.size(), wanted.tracks->tracks.size());
  const auto found = make_result(asked, search_query{"gemm"});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->total, wanted.found->total);
  EXPECT_GT(found->total, 0U);
}

TEST_P(without_threads, work_ends_when_its_time_is_over) {
  engine asked(of(GetParam()).file);
  slot<search_query> one;
  static_cast<void>(one.ask(asked, {"no event is called so"}));
  asked.work_here(steady::now());
  EXPECT_TRUE(asked.busy()) << "one task ran, not all";
}

TEST_P(without_threads, a_query_is_answered_where_it_is_asked) {
  const auto trace = of(GetParam()).file->latest();
  const sql_task task(trace, "select count(*) from kernels");
  EXPECT_TRUE(task.done());
  EXPECT_FALSE(task.found()->failure);
  EXPECT_EQ(task.found()->rows, 1U);
  const sql_track_task track(trace, "select time, end, name from kernels limit 10");
  EXPECT_TRUE(track.done());
  ASSERT_NE(track.track(), nullptr) << track.failure()->to_string();
  EXPECT_EQ(track.track()->rows(), 10U);
}

INSTANTIATE_TEST_SUITE_P(recordings, without_threads, ::testing::Values(20'000, 600'000));

}  // namespace
}  // namespace sluice::query
