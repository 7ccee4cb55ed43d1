#include "core/replay/batch.hpp"

#include <gtest/gtest.h>

#include "core/index/tensor_facts.hpp"
#include "core/replay/replay.hpp"
#include "tests/core/recordings/replayed_program.hpp"

namespace sluice::replay {
namespace {

using index::category;

/// The requests of a recorded training.
struct recorded_training {
  explicit recorded_training(std::uint64_t batch, int steps = 5) {
    testing::replayed_program program(file);
    testing::train(program, batch, steps);
    file.close();
    const testing::indexed loaded(file.open());
    requests = collect_requests(loaded.index.memory(), loaded.snapshot->tables()).at(0);
    block_categories known;
    known.add(loaded.index.memory(), loaded.index.tensors(*loaded.snapshot)->categories, all_time);
    categories = known.of(requests);
    point = {static_cast<double>(batch), highest_bytes(requests, categories)};
  }
  [[nodiscard]] std::uint64_t peak() const { return replay_policy(requests, {}).peak_reserved; }

  testing::recording file;
  allocator_requests requests;
  std::vector<category> categories;
  batch_point point;
};

double get_bytes(const by_category& whole, category wanted) { return whole[static_cast<std::size_t>(wanted)]; }

TEST(batch, highest_bytes_are_those_of_a_step) {
  const recorded_training training(16);
  EXPECT_EQ(get_bytes(training.point.bytes, category::weight), 24.0 * mib);
  EXPECT_EQ(get_bytes(training.point.bytes, category::gradient), 24.0 * mib);
  EXPECT_EQ(get_bytes(training.point.bytes, category::activation), 8 * 4.0 * mib);
  EXPECT_EQ(get_bytes(training.point.bytes, category::input), 2.0 * mib);
  EXPECT_EQ(get_bytes(training.point.bytes, category::none), 0);
}

TEST(batch, two_recordings_show_the_law_of_each_category) {
  const recorded_training one(16);
  const recorded_training two(32);
  const batch_point points[] = {one.point, two.point};
  const batch_law law = fit_law(points);
  EXPECT_TRUE(law.fitted);
  EXPECT_DOUBLE_EQ(get_bytes(law.per_batch, category::weight), 0);
  EXPECT_DOUBLE_EQ(get_bytes(law.constant, category::activation), 8 * 2.0 * mib);
  EXPECT_DOUBLE_EQ(get_bytes(law.per_batch, category::activation), 1.0 * mib);
  EXPECT_DOUBLE_EQ(law.bytes(category::input, 64), 8.0 * mib);
}

TEST(batch, one_recording_has_an_assumed_law) {
  const recorded_training one(16);
  const batch_law law = fit_law(std::span(&one.point, 1));
  EXPECT_FALSE(law.fitted);
  EXPECT_DOUBLE_EQ(law.bytes(category::gradient, 32), 24.0 * mib);
  EXPECT_DOUBLE_EQ(law.bytes(category::activation, 32), 2 * 8 * 4.0 * mib)
      << "proportional: the constant part is not detected";
}

TEST(batch, bytes_that_shrink_count_as_constant) {
  batch_point points[2];
  points[0].batch = 1;
  points[0].bytes.fill(300);
  points[1].batch = 2;
  points[1].bytes.fill(100);
  const batch_law law = fit_law(points);
  EXPECT_DOUBLE_EQ(law.bytes(category::activation, 7), 200);
}

TEST(batch, foretells_what_the_training_reserves_with_another_size) {
  const recorded_training one(16);
  const recorded_training two(32);
  const recorded_training four(64);
  const batch_point points[] = {one.point, two.point};
  EXPECT_EQ(replay_policy(with_batch(one.requests, one.categories, fit_law(points), 16, 64), {}).peak_reserved,
            four.peak());
  const batch_recording other{32, &two.requests};
  const auto by_block = with_batch_by_block(one.requests, 16, std::span(&other, 1), 64);
  ASSERT_TRUE(by_block.has_value());
  EXPECT_EQ(replay_policy(*by_block, {}), replay_policy(four.requests, {}));
  EXPECT_NE(four.peak(), one.peak());
}

TEST(batch, has_a_law_for_each_block_only_if_the_programs_allocate_alike) {
  const recorded_training one(16);
  const recorded_training longer(32, 6);
  const recorded_training same(16);
  batch_recording other{32, &longer.requests};
  EXPECT_FALSE(with_batch_by_block(one.requests, 16, std::span(&other, 1), 64)) << "one step more";
  other = {16, &same.requests};
  EXPECT_FALSE(with_batch_by_block(one.requests, 16, std::span(&other, 1), 64)) << "the same batch size";
  const recorded_training larger(32);
  other = {8, &larger.requests};
  EXPECT_FALSE(with_batch_by_block(one.requests, 16, std::span(&other, 1), 64)) << "blocks shrink as the batch grows";
}

}  // namespace
}  // namespace sluice::replay
