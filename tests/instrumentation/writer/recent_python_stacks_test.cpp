// recent_python_stacks finds the same samples as a search of a plain list; the decoder fills it from records.
#include "instrumentation/writer/sampling/recent_python_stacks.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/instrumentation/writer/record_decoder_fixture.hpp"

namespace sluice::writer {
namespace {

python_sample sample_at(time_ns time, std::uint64_t key) {
  python_sample sample;
  sample.time = time;
  sample.stack_key = key;
  sample.count = 1;
  return sample;
}

/// The reference: the samples of all threads in the order in which they were added.
class all_samples {
 public:
  void add(std::uint64_t tid, const python_sample& sample) { samples_.push_back({tid, sample}); }
  [[nodiscard]] std::optional<time_ns> find(std::uint64_t tid, time_ns time, time_ns max_distance) const {
    std::optional<time_ns> nearest;
    for (const auto& [whose, sample] : samples_) {
      if (whose != tid || std::abs(sample.time - time) > max_distance) continue;
      const bool closer = !nearest || std::abs(sample.time - time) < std::abs(*nearest - time) ||
                          (std::abs(sample.time - time) == std::abs(*nearest - time) && sample.time < *nearest);
      if (closer) nearest = sample.time;
    }
    return nearest;
  }

 private:
  std::vector<std::pair<std::uint64_t, python_sample>> samples_;
};

TEST(recent_python_stacks, gives_the_nearest_sample_as_a_search_of_all_does) {
  std::mt19937_64 random(3);
  recent_python_stacks stacks;
  all_samples whole;
  time_ns latest = 0;
  for (int round = 0; round < 1'500; ++round) {
    const std::uint64_t tid = random() % 3;
    latest += static_cast<time_ns>(random() % 1'000);
    // Some come late, as records of a busy process do.
    const time_ns time = random() % 5 == 0 ? latest - static_cast<time_ns>(random() % 20'000) : latest;
    stacks.add(tid, sample_at(time, static_cast<std::uint64_t>(round) + 1));
    whole.add(tid, sample_at(time, 0));
    const time_ns wanted = static_cast<time_ns>(random() % static_cast<std::uint64_t>(latest + 2'000)) - 500;
    const auto max_distance = static_cast<time_ns>(random() % 3'000);
    for (std::uint64_t whose = 0; whose < 4; ++whose) {
      const auto one = stacks.find(whose, wanted, max_distance);
      const auto expected = whole.find(whose, wanted, max_distance);
      ASSERT_EQ(one.has_value(), expected.has_value()) << "round " << round;
      ASSERT_EQ(one ? one->time : 0, expected.value_or(0)) << "round " << round;
    }
  }
}

TEST(recent_python_stacks, forgets_what_is_old) {
  recent_python_stacks stacks;
  stacks.add(1, sample_at(0, 1));
  stacks.add(1, sample_at(recent_python_stacks::max_age, 2));
  EXPECT_EQ(stacks.find(1, 0, 0)->stack_key, 1u);
  stacks.add(1, sample_at(recent_python_stacks::max_age + 1, 3));
  EXPECT_FALSE(stacks.find(1, 0, 0).has_value());
  EXPECT_EQ(stacks.find(1, recent_python_stacks::max_age, 0)->stack_key, 2u);
}

TEST(recent_python_stacks, keeps_a_bounded_number_of_samples_and_of_threads) {
  recent_python_stacks stacks;
  for (std::size_t i = 0; i < recent_python_stacks::max_samples + 1; ++i) {
    stacks.add(1, sample_at(static_cast<time_ns>(i), i + 1));
  }
  EXPECT_FALSE(stacks.find(1, 0, 0).has_value());
  EXPECT_TRUE(stacks.find(1, 1, 0).has_value());
  for (std::uint64_t tid = 2; tid < recent_python_stacks::max_threads + 2; ++tid) {
    stacks.add(tid, sample_at(static_cast<time_ns>(10'000 + tid), tid));
  }
  EXPECT_FALSE(stacks.find(1, 1, 1'000'000).has_value()) << "the thread with the oldest sample";
  EXPECT_TRUE(stacks.find(2, 10'002, 0).has_value());
}

TEST(recent_python_stacks, take_any_times) {
  recent_python_stacks stacks;
  stacks.add(1, sample_at(INT64_MIN, 1));
  stacks.add(1, sample_at(INT64_MAX, 2));
  stacks.add(1, sample_at(0, 3));
  EXPECT_EQ(stacks.find(1, INT64_MAX, INT64_MAX)->stack_key, 2u);
  EXPECT_FALSE(stacks.find(1, INT64_MIN, INT64_MAX).has_value());
  EXPECT_FALSE(stacks.find(1, INT64_MAX, -1).has_value());
}

TEST_F(record_decoder_test, keeps_the_python_frames_that_another_thread_read) {
  thread& sampler = add_thread();
  ring::python_sample_record record{};
  record.tid = 77;
  record.stack = 5;
  record.entries[0] = 2;
  record.entries[3] = 9;
  record.count = 3;
  put(sampler, 1'000, record);
  record.stack = record.count = 0;
  put(sampler, 3'000, record);
  turns(2);
  const auto found = process_->python_stacks.find(77, 1'400, 500);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->time, 1'000);
  EXPECT_EQ(found->stack_key, 5u);
  EXPECT_EQ(found->count, 3u);
  EXPECT_EQ(found->entries, (std::array<std::uint64_t, 4>{2, 0, 0, 9}));
  EXPECT_EQ(process_->python_stacks.find(77, 2'900, 500)->stack_key, 0u) << "no Python code ran";
  EXPECT_FALSE(process_->python_stacks.find(1, 1'000, 500).has_value()) << "the thread that reads has no frames";
}

TEST_F(record_decoder_test, a_number_of_python_frames_that_cannot_be_is_cut) {
  thread& sampler = add_thread();
  ring::python_sample_record record{};
  record.tid = 77;
  record.stack = 5;
  record.count = ~std::uint64_t{0};
  put(sampler, 1'000, record);
  turns(2);
  EXPECT_EQ(process_->python_stacks.find(77, 1'000, 0)->count, ring::maximum_frames);
}

TEST_F(record_decoder_test, survives_python_samples_of_nonsense) {
  thread& sampler = add_thread();
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    ring::python_sample_record record{};
    for (std::uint64_t* word : {&record.tid, &record.stack, &record.entries[1], &record.count}) {
      *word = random() % 3 == 0 ? random() : random() % 64;
    }
    record.header.time = random() % 4 == 0 ? random() : raw_time(static_cast<time_ns>(random() % 1'000'000));
    ASSERT_TRUE(sampler.pair.producer.put(&record.header, ring::record_type::python_sample, sizeof record));
    if (i % 500 == 0) turn();
  }
  EXPECT_TRUE(finish().snapshot().warnings().empty());
}

}  // namespace
}  // namespace sluice::writer
