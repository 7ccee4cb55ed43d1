// Finds copies that moved the same bytes: programs of fake_copies (fake/fake_copies.cpp) recorded through the real
// capture library, ring, writer and file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <xxhash.h>

#include <algorithm>

#include "tests/instrumentation/capture/recording.hpp"

namespace sluice::test {
namespace {

using namespace trace;
using testing::Each;
using testing::ElementsAre;

/// Parameter: true if calls are intercepted at the driver's entry points (preloaded), false if CUPTI reports them.
class contents_test : public testing::TestWithParam<bool> {
 protected:
  static recording record_copies(const std::string& which, const std::string& percent = "100") {
    recording run = record({.arguments = {which},
                            .variables = {{"SLUICE_FIND_DUPLICATES", percent}},
                            .graphs = "whole",
                            .mode = "memory",
                            .program = "fake_copies",
                            .preload = GetParam()});
    EXPECT_EQ(run.status, 0);
    EXPECT_EQ(run.summary.lost_events, 0U);
    // Sort copies in the order of the calls that requested them.
    std::sort(run.transfers.begin(), run.transfers.end(), [](const transfer_event& a, const transfer_event& b) {
      return std::pair(a.enqueued, a.id) < std::pair(b.enqueued, b.id);
    });
    return run;
  }
};
INSTANTIATE_TEST_SUITE_P(by, contents_test, testing::Bool(),
                         [](const auto& by) { return by.param ? "entry_points" : "cupti"; });

std::uint64_t hash_of_zeros(std::size_t bytes) {
  const std::vector<char> zeros(bytes);
  return XXH3_64bits(zeros.data(), zeros.size());
}

std::vector<content_check> list_checks(const recording& run) {
  std::vector<content_check> found;
  for (const transfer_event& t : run.transfers) found.push_back(t.content);
  return found;
}

TEST_P(contents_test, are_equal_where_the_bytes_are) {
  const recording run = record_copies("repeats");
  ASSERT_EQ(run.transfers.size(), 8U);
  const auto hash = [&](std::size_t i) { return run.transfers[i].content_hash; };
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(run.transfers[i].content, content_check::exact);
    EXPECT_EQ(run.transfers[i].content_bytes, 1000U);
  }
  EXPECT_EQ(hash(0), hash(1));
  EXPECT_EQ(hash(0), hash(2)) << "different source and destination";
  EXPECT_NE(hash(0), hash(3)) << "one byte was changed";
  for (std::size_t i = 4; i < 8; ++i) {
    EXPECT_EQ(run.transfers[i].content, content_check::sampled);
    EXPECT_EQ(run.transfers[i].content_bytes, 16384U);
  }
  EXPECT_EQ(hash(4), hash(5));
  EXPECT_NE(hash(4), hash(6));
  EXPECT_EQ(hash(4), hash(7));
  EXPECT_TRUE(run.says("--find-duplicates"));
}

TEST_P(contents_test, are_read_from_what_the_host_holds) {
  const recording run = record_copies("kinds");
  using enum content_check;
  EXPECT_THAT(list_checks(run), ElementsAre(exact, exact, exact, exact,
                                            // From managed memory: CUPTI reports it as device memory.
                                            GetParam() ? unreadable : none,
                                            none,   // From the device.
                                            exact,  // To the host.
                                            exact));
  for (const transfer_event& t : run.transfers) {
    if (t.content != exact || t.direction == direction::d2h) continue;
    EXPECT_EQ(t.content_hash, run.transfers[0].content_hash) << t.bytes;
  }
}

TEST_P(contents_test, of_copies_to_the_host_are_read_when_they_have_ended) {
  const recording run = record_copies("results");
  // Copies back to the host: pageable memory by a blocking call, two that need not block, rows, page-locked memory, and
  // each kind of wait.
  ASSERT_EQ(run.transfers.size(), 1U + 4 + 1 + 5 + 1);
  EXPECT_THAT(list_checks(run), Each(content_check::exact));
  for (const transfer_event& t : run.transfers) {
    EXPECT_EQ(t.content_hash, run.transfers[0].content_hash) << t.time;
    EXPECT_EQ(t.content_bytes, 2000U);
  }
  EXPECT_EQ(std::count_if(run.transfers.begin(), run.transfers.end(),
                          [](const transfer_event& t) { return t.direction == direction::d2h; }),
            10);
}

TEST_P(contents_test, of_copies_whose_end_is_not_seen_are_not_looked_at) {
  const recording run = record_copies("unseen");
  using enum content_check;
  std::vector<content_check> back;
  for (const transfer_event& t : run.transfers) {
    if (t.direction == direction::d2h && t.destination_kind != memory_kind::managed) back.push_back(t.content);
  }
  EXPECT_THAT(back, ElementsAre(none,         // Used as a source before the wait.
                                none, exact,  // Overwritten by a copy that was observed.
                                none,         // The event was recorded before the copy.
                                none,         // The event has been recorded on another stream since.
                                unreadable,   // Unmapped.
                                none));       // Never waited for.
}

TEST_P(contents_test, of_copies_to_the_host_are_joined_with_their_own_copies) {
  const recording run = record_copies("result_threads");
  ASSERT_EQ(run.transfers.size(), 801U);
  EXPECT_THAT(list_checks(run), Each(content_check::exact));
  for (const transfer_event& t : run.transfers) EXPECT_EQ(t.content_hash, run.transfers[0].content_hash);
}

TEST_P(contents_test, that_are_all_zero_are_read_further) {
  const recording run = record_copies("zeros");
  ASSERT_EQ(run.transfers.size(), 6U);
  const auto& copies = run.transfers;
  EXPECT_EQ(copies[0].content_hash, hash_of_zeros(1000));
  EXPECT_EQ(copies[1].content_hash, hash_of_zeros(16384));
  EXPECT_EQ(copies[1].content_bytes, 3U << 20) << "all bytes";
  EXPECT_EQ(copies[2].content_hash, hash_of_zeros(16384));
  EXPECT_EQ(copies[2].content_bytes, 4U << 20);
  EXPECT_NE(copies[3].content_hash, copies[2].content_hash) << "its samples are all zero";
  EXPECT_EQ(copies[3].content_hash, copies[4].content_hash);
  EXPECT_NE(copies[3].content_hash, copies[5].content_hash);
}

TEST_P(contents_test, of_graphs_are_not_looked_at) {
  const recording run = record_copies("capture");
  ASSERT_FALSE(run.transfers.empty());
  EXPECT_EQ(run.transfers.back().content, content_check::exact);
  EXPECT_EQ(std::count_if(run.transfers.begin(), run.transfers.end(),
                          [](const transfer_event& t) { return t.content != content_check::none; }),
            1);
}

TEST_P(contents_test, that_cannot_be_read_do_no_harm) {
  const recording run = record_copies("hostile");
  using enum content_check;
  EXPECT_THAT(list_checks(run), ElementsAre(unreadable, unreadable, unreadable, exact, none));
}

TEST_P(contents_test, of_many_threads_are_joined_with_their_own_copies) {
  const recording run = record_copies("threads");
  ASSERT_EQ(run.transfers.size(), 800U);
  EXPECT_THAT(list_checks(run), Each(content_check::exact));
  for (const transfer_event& t : run.transfers) EXPECT_EQ(t.content_hash, run.transfers[0].content_hash);
}

TEST_P(contents_test, are_looked_at_only_if_asked) {
  for (const std::string percent : {"0", "", "yes", "101", "-1", "1.5", "99999999999999999999"}) {
    const recording run = record_copies("repeats", percent);
    EXPECT_THAT(list_checks(run), Each(content_check::none)) << percent;
    EXPECT_FALSE(run.says("--find-duplicates")) << percent;
  }
}

}  // namespace
}  // namespace sluice::test
