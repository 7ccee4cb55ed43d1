#include "core/summary/passes/reordered_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "core/generate/generate.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/summary/passes/reorder_thread.hpp"
#include "tests/core/base/named_files.hpp"
#include "tests/core/recordings/copied_rows.hpp"
#include "tests/core/recordings/each_seed.hpp"
#include "tests/core/recordings/random_recording.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/row_in_words.hpp"
#include "tests/core/recordings/whole_sections.hpp"
#include "tests/core/summary/same_stored_metrics.hpp"

/// A recording that is sorted while it is written.
namespace sluice::summary {
namespace {

namespace fs = std::filesystem;
using testing::recording;

bool to_the_end() { return true; }

using sorted_rows = std::map<trace::row_type, std::vector<std::string>>;

/// The rows of each kind, sorted.
sorted_rows get_sorted_rows(const trace::snapshot& recording) {
  sorted_rows whole;
#define SLUICE_ROWS(row, kind)                \
  EXPECT_TRUE(recording.for_each<trace::row>( \
      [&](const trace::row& each) { whole[trace::row_type::kind].push_back(testing::in_words(each)); }));
  SLUICE_FOR_EACH_ROW(SLUICE_ROWS)
#undef SLUICE_ROWS
  for (auto& [type, rows] : whole) std::sort(rows.begin(), rows.end());
  return whole;
}

/// The start of the newest chunk of events.
time_ns newest(const trace::snapshot& recording) {
  time_ns latest = -latest_time;
  for (const trace::chunk_info& chunk : recording.chunks())
    if (trace::is_event(chunk.type)) latest = std::max(latest, chunk.min_time);
  return latest;
}

/// Copies the rows of `of` to a recording that is flushed at intervals; calls `at_flush` with the rows so far.
template <class Call>
void tell_again(const trace::snapshot& snapshot, recording& into, std::size_t chunks_a_flush, const Call& at_flush) {
  into.flush();
  const auto file = into.open();
  for (std::size_t i = 0; i < snapshot.chunks().size(); ++i) {
    testing::copy_chunk(snapshot, i, into.writer());
    if ((i + 1) % chunks_a_flush != 0) continue;
    into.flush();
    ASSERT_TRUE(file->refresh());
    at_flush(file->latest());
  }
}

TEST(any_recording, put_in_order_while_it_is_written_says_the_same_as_at_its_end) {
  testing::for_each_seed(1, 60, [](std::uint64_t seed) {
    const bool hostile = seed % 4 == 0;
    query::random_recording reported(seed, hostile);
    reported.recorded.close();
    const auto whole = reported.recorded.open()->latest();
    std::mt19937_64 random(seed);
    const finalize_options options{.min_events = 1, .section_events = 20};

    recording growing(8), at_end(8);
    auto copy = reordered_copy::beside(growing.writer(), options.section_events).value();
    // The recording's rows are in random order, so many arrive after their section was moved.
    tell_again(*whole, growing, 1 + random() % 8, [&](const auto& so_far) {
      if (random() % 4 == 0) return;
      ASSERT_TRUE(copy->grow(so_far, static_cast<time_ns>(random() % 4'000), to_the_end));
      if (random() % 4 != 0) copy->sum_up_so_far(to_the_end);
    });
    auto with_copy = options;
    with_copy.begun = &copy;
    ASSERT_TRUE(finalize(growing.writer(), with_copy));
    EXPECT_EQ(copy, nullptr);
    testing::copy_rows(*whole, at_end.writer());
    ASSERT_TRUE(finalize(at_end.writer(), options));

    const auto found = growing.open()->latest(), expected = at_end.open()->latest();
    EXPECT_TRUE(found->complete());
    EXPECT_EQ(get_sorted_rows(*found), get_sorted_rows(*expected));
    if (hostile) return;  // If rows contradict each other, it is unspecified which row counts.
    ASSERT_NE(find_stored_metrics(*found), nullptr);
    expect_same_stored_metrics(*find_stored_metrics(*found), *find_stored_metrics(*expected));
  });
}

class a_generated_recording : public ::testing::TestWithParam<std::uint32_t> {};

/// Several processes, with all kinds of rows, in tens of sections.
TEST_P(a_generated_recording, has_the_same_rows_and_metrics_if_it_is_put_in_order_while_it_is_written) {
  recording source, growing(1'000), at_end(1'000);
  source.close();
  generate::generate_options options;
  options.events = 60'000;
  options.processes = GetParam();
  ASSERT_TRUE(generate::generate(options, source.path()));
  const auto whole = source.open()->latest();
  const finalize_options method{.min_events = 1, .section_events = 1'000};

  auto copy = reordered_copy::beside(growing.writer(), method.section_events).value();
  std::size_t early = 0;
  tell_again(*whole, growing, 10, [&](const auto& so_far) {
    // Far enough before the newest event that no row arrives late.
    ASSERT_TRUE(copy->grow(so_far, newest(*so_far) - whole->end() / 8, to_the_end));
    copy->sum_up_so_far(to_the_end);
    early = copy->sections().size();
  });
  auto with_copy = method;
  with_copy.begun = &copy;
  ASSERT_TRUE(finalize(growing.writer(), with_copy));
  tell_again(*whole, at_end, 10, [](const auto&) {});
  ASSERT_TRUE(finalize(at_end.writer(), method));

  const auto found = growing.open()->latest(), expected = at_end.open()->latest();
  EXPECT_GT(early, 20U);
  EXPECT_EQ(get_sorted_rows(*found), get_sorted_rows(*expected));
  expect_same_stored_metrics(*find_stored_metrics(*found), *find_stored_metrics(*expected));
}

INSTANTIATE_TEST_SUITE_P(of, a_generated_recording, ::testing::Values(1, 3));

/// Fixture with 3,000 kernels; all except the last ones are sorted when the recording ends.
class a_copy_that_was_begun : public ::testing::Test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    tell(0, 1'500);
    mark_ = made_.writer().mark().value();
    tell(1'500, 3'000);
    copy_ = reordered_copy::beside(made_.writer(), how_.section_events).value();
    ASSERT_TRUE(copy_->grow(made_.open()->latest(), 250'000, to_the_end));
    ASSERT_GT(copy_->sections().size(), 10U);
    how_.begun = &copy_;
  }
  void tell(int begin, int until) {
    for (int i = begin; i < until; ++i) {
      made_.add_kernel(i * 100, i * 100 + 50);
      if (i % 10 == 9) made_.flush();
    }
  }
  static std::set<std::uint64_t> kernels_in(const trace::snapshot& recording) {
    std::set<std::uint64_t> values;
    EXPECT_TRUE(recording.for_each<trace::kernel_event>([&](const auto& row) { values.insert(raw(row.id)); }));
    return values;
  }

  recording made_{50};
  finalize_options how_{.min_events = 1, .section_events = 100};
  std::uint64_t mark_ = 0;
  std::unique_ptr<reordered_copy> copy_;
};

TEST_F(a_copy_that_was_begun, goes_on_where_it_was_interrupted) {
  int asked = 0;
  tell(3'000, 6'000);
  const auto now = made_.open()->latest();
  const auto interrupted = copy_->grow(now, 550'000, [&] { return ++asked < 20; });
  ASSERT_FALSE(interrupted);
  EXPECT_EQ(interrupted.error().code, error_code::cancelled);
  ASSERT_TRUE(finalize(made_.writer(), how_));
  EXPECT_EQ(kernels_in(*made_.open()->latest()).size(), 6'000U);
}

TEST_F(a_copy_that_was_begun, takes_what_is_as_early_as_nothing_before) {
  made_.add_kernel(-1'000'000, -999'000);
  ASSERT_TRUE(finalize(made_.writer(), how_));
  const auto after = made_.open()->latest();
  EXPECT_EQ(kernels_in(*after).size(), 3'001U);
  EXPECT_EQ(find_stored_metrics(*after)->metrics.whole.kernels.front().count, 3'001U);
}

TEST_F(a_copy_that_was_begun, is_not_used_if_the_recording_was_cut_since) {
  ASSERT_TRUE(made_.writer().drop_before(mark_));
  ASSERT_TRUE(finalize(made_.writer(), how_));
  const auto after = made_.open()->latest();
  EXPECT_TRUE(after->complete());
  EXPECT_EQ(kernels_in(*after).size(), 1'500U);
  EXPECT_NE(find_stored_metrics(*after), nullptr);
  EXPECT_EQ(testing::files_named_after(made_.path()), 1U);
}

TEST_F(a_copy_that_was_begun, is_not_used_if_the_recording_was_moved_since) {
  const std::string elsewhere = made_.path() + ".moved";
  ASSERT_TRUE(made_.writer().move_to(elsewhere));
  fs::remove(made_.path());
  ASSERT_TRUE(finalize(made_.writer(), how_));
  EXPECT_FALSE(fs::exists(made_.path()));
  const auto after = trace::file::open(elsewhere).value()->latest();
  EXPECT_EQ(kernels_in(*after).size(), 3'000U);
  EXPECT_NE(find_stored_metrics(*after), nullptr);
  fs::remove(elsewhere);
}

TEST_F(a_copy_that_was_begun, gets_the_permissions_that_the_recording_has_at_its_end) {
  const auto wanted = fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read;
  fs::permissions(made_.path(), wanted);
  ASSERT_TRUE(finalize(made_.writer(), how_));
  EXPECT_EQ(fs::status(made_.path()).permissions(), wanted);
}

TEST_F(a_copy_that_was_begun, leaves_nothing_if_the_end_is_cancelled) {
  const std::atomic<bool> cancel{true};
  how_.cancel = &cancel;
  ASSERT_TRUE(finalize(made_.writer(), how_));
  EXPECT_EQ(testing::files_named_after(made_.path()), 1U);
  EXPECT_EQ(kernels_in(*made_.open()->latest()).size(), 3'000U);
}

/// Fixture with a reorder thread and a writer that flushes every 100 kernels.
class a_reorder_thread : public ::testing::Test {
 protected:
  void SetUp() override { made_.standard_tables(); }
  /// Writes 5,000 kernels slowly, so that the thread has time to move some of them.
  void write(reorder_thread& beside) {
    for (int i = 0; i < 50; ++i) {
      for (int j = 0; j < 100; ++j, ++count_) made_.add_kernel(count_ * 100, count_ * 100 + 50);
      made_.flush();
      beside.poll(made_.writer());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  static reorder_thread::options soon() {
    reorder_thread::options method;
    method.min_events = 1'000;
    method.events_a_round = method.max_events_a_round = 500;
    method.min_room = 0;
    method.waits_for_late_rows = 1'000;
    method.section_events = 100;
    return method;
  }

  recording made_{50};
  int count_ = 0;
};

TEST_F(a_reorder_thread, has_done_most_when_the_recording_ends) {
  std::unique_ptr<reordered_copy> copy;
  {
    reorder_thread beside(soon());
    for (int tries = 0; tries < 100 && !copy; ++tries) {
      write(beside);
      if (tries < 3) continue;
      copy = beside.take();
      ASSERT_NE(copy, nullptr);
      EXPECT_GT(copy->sections().size(), 20U);
    }
  }
  EXPECT_EQ(testing::files_named_after(made_.path()), 1U) << "the copy is unnamed";
  ASSERT_TRUE(finalize(made_.writer(), {.min_events = 1, .section_events = 100, .begun = &copy}));
  const auto after = made_.open()->latest();
  EXPECT_EQ(find_stored_metrics(*after)->metrics.whole.kernels.front().count, static_cast<std::uint64_t>(count_));
}

TEST_F(a_reorder_thread, begins_nothing_for_few_events) {
  auto options = soon();
  options.min_events = 1'000'000;
  reorder_thread beside(options);
  write(beside);
  EXPECT_EQ(beside.take(), nullptr);
}

TEST_F(a_reorder_thread, leaves_the_disk_to_the_recording_if_there_is_little_room) {
  auto options = soon();
  options.min_room = UINT64_MAX;
  reorder_thread beside(options);
  write(beside);
  EXPECT_EQ(beside.take(), nullptr);
}

TEST_F(a_reorder_thread, has_nothing_once_it_was_reported_to_give_up) {
  reorder_thread beside(soon());
  write(beside);
  beside.give_up();
  write(beside);
  EXPECT_EQ(beside.take(), nullptr);
}

}  // namespace
}  // namespace sluice::summary
