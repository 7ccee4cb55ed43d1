// Reads frames of threads that do not exist, from memory that looks like an interpreter's, or like nothing at all.
#include "instrumentation/capture/python_samples/sampled_stack.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace sluice::capture {
namespace {

std::uint64_t address_of(const void* object) { return reinterpret_cast<std::uint64_t>(object); }

/// A thread's state, and frames in an array, in the layout of a version.
class made_up_thread : public testing::TestWithParam<python_layout> {
 protected:
  static constexpr std::size_t frame_words = 32, frames = 64;

  void SetUp() override {
    ASSERT_TRUE(reader_->prepare(layout_));
    write(state_, layout_.thread.frame, address_of(indirect() ? cframe_ : memory_));
    set_top(address_of(frame(0)));
  }
  [[nodiscard]] bool indirect() const {
    return layout_.family == python_family::cframes || layout_.family == python_family::cframe_shims;
  }
  void set_top(std::uint64_t to) {
    if (indirect()) {
      write(cframe_, layout_.thread.frame_of_cframe, to);
    } else {
      write(state_, layout_.thread.frame, to);
    }
  }
  std::uint64_t* frame(std::size_t i) { return memory_ + i * frame_words; }
  void set_previous(std::size_t i, std::uint64_t to) { write(frame(i), layout_.frame.previous, to); }
  static void write(void* object, std::size_t offset, std::uint64_t value) {
    std::memcpy(static_cast<char*>(object) + offset, &value, sizeof value);
  }
  sampled_stack::outcome look() { return stack_->look(*reader_, address_of(state_), false); }

  const python_layout layout_ = GetParam();
  std::uint64_t state_[64] = {}, cframe_[8] = {};
  std::uint64_t memory_[frames * frame_words] = {};
  // Their memory is zero at first, as the sampler's.
  std::unique_ptr<stack_reader> reader_{new stack_reader()};
  std::unique_ptr<sampled_stack> stack_{new sampled_stack()};
};

INSTANTIATE_TEST_SUITE_P(each, made_up_thread, testing::ValuesIn(python_layouts), [](const auto& which) {
  return std::to_string(which.param.minor) + (which.param.without_gil ? "_without_gil" : "");
});

TEST_P(made_up_thread, has_the_frames_of_the_chain) {
  set_previous(0, address_of(frame(1)));
  set_previous(1, address_of(frame(2)));
  ASSERT_EQ(look(), sampled_stack::outcome::changed);
  ASSERT_EQ(stack_->count(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ((*stack_)[i].at, address_of(frame(i)));
}

/// A frame that has ended gives its place to other data. -1 is frequent there, and no frame fits behind such an address.
TEST_P(made_up_thread, has_no_frame_at_the_end_of_the_address_space) {
  for (std::uint64_t before_end = 1; before_end < 256; ++before_end) {
    set_previous(0, address_of(frame(1)));
    set_previous(1, 0);
    ASSERT_NE(look(), sampled_stack::outcome::torn);
    set_previous(1, ~std::uint64_t{0} - before_end + 1);
    EXPECT_EQ(look(), sampled_stack::outcome::torn) << before_end;
    set_previous(1, 0);
    set_top(~std::uint64_t{0} - before_end + 1);
    EXPECT_EQ(look(), sampled_stack::outcome::torn) << before_end;
    set_top(address_of(frame(0)));
  }
}

TEST_P(made_up_thread, may_consist_of_random_words_that_change_meanwhile) {
  std::atomic<bool> done{false};
  std::thread writer([&] {
    std::mt19937_64 random{1};
    const auto any = [&]() -> std::uint64_t {
      switch (random() % 8) {
        case 0:
          return random();
        case 1:
          return random() % 128 - 64;
        case 2:
          return address_of(memory_) + random() % sizeof memory_;
        default:
          return address_of(frame(random() % frames));
      }
    };
    while (!done.load()) {
      std::atomic_ref(memory_[random() % (frames * frame_words)]).store(any(), std::memory_order_relaxed);
      if (random() % 64 == 0) set_top(any());
      if (random() % 64 == 0) set_previous(random() % frames, any());
    }
  });
  constexpr int looks = 200;
  for (int i = 0; i < looks; ++i) {
    if (stack_->look(*reader_, address_of(state_), i % 4 == 0) == sampled_stack::outcome::none) continue;
    EXPECT_LE(stack_->count(), max_sampled_frames);
  }
  done.store(true);
  writer.join();
}

}  // namespace
}  // namespace sluice::capture
