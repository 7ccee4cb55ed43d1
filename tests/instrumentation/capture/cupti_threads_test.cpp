// A watch finds the threads that its own thread starts, and no other thread.
#include "instrumentation/capture/process/cupti_threads.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "instrumentation/ring/recorder_threads.hpp"
#include "instrumentation/ring/records.hpp"

namespace sluice::capture {
namespace {

/// A thread that does nothing until it is told to end.
class idle_thread {
 public:
  idle_thread() {
    while (tid_ == 0) std::this_thread::yield();
  }
  ~idle_thread() {
    ends_ = true;
    thread_.join();
  }
  [[nodiscard]] std::uint64_t tid() const { return tid_; }
  [[nodiscard]] bool is_found() const { return ring::is_recorder_thread(tid_); }

 private:
  std::atomic<std::uint64_t> tid_{0};
  std::atomic<bool> ends_{false};
  std::thread thread_{[this] {
    tid_ = static_cast<std::uint64_t>(syscall(SYS_gettid));
    while (!ends_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }};
};

using idle_threads = std::vector<std::unique_ptr<idle_thread>>;

/// Starts `count` threads inside a watch on the calling thread, while another thread keeps starting threads.
void start_both(int count, idle_threads& watched, idle_threads& others) {
  std::atomic<bool> done{false};
  std::atomic<int> started{0};
  std::thread starter([&] {
    while (!done && others.size() < 200) {
      others.push_back(std::make_unique<idle_thread>());
      ++started;
    }
  });
  while (started < 2) std::this_thread::yield();
  {
    const cupti_thread_watch watch;
    const int before = started;
    for (int i = 0; i < count; ++i) watched.push_back(std::make_unique<idle_thread>());
    while (started < before + 3) std::this_thread::yield();
  }
  done = true;
  starter.join();
}

class cupti_threads : public testing::Test {
 protected:
  void SetUp() override { ring::forget_recorder_threads(); }
};

TEST_F(cupti_threads, started_by_the_watching_thread_are_found) {
  const idle_thread before;
  std::unique_ptr<idle_thread> inside;
  {
    const cupti_thread_watch watch;
    inside = std::make_unique<idle_thread>();
    EXPECT_FALSE(inside->is_found()) << "found at the end of the watch";
  }
  const idle_thread after;
  EXPECT_TRUE(inside->is_found());
  EXPECT_FALSE(before.is_found());
  EXPECT_FALSE(after.is_found());
  EXPECT_FALSE(ring::is_recorder_thread());
}

TEST_F(cupti_threads, are_told_from_threads_that_other_threads_start_meanwhile) {
  idle_threads watched, others;
  start_both(4, watched, others);
  for (const auto& each : watched) EXPECT_TRUE(each->is_found());
  EXPECT_GE(others.size(), 3U);
  for (const auto& each : others) EXPECT_FALSE(each->is_found());
}

TEST_F(cupti_threads, are_found_on_a_thread_that_blocks_all_signals) {
  sigset_t whole, mask;
  sigfillset(&whole);
  pthread_sigmask(SIG_SETMASK, &whole, &mask);
  idle_threads watched, others;
  start_both(2, watched, others);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  for (const auto& each : watched) EXPECT_TRUE(each->is_found());
  for (const auto& each : others) EXPECT_FALSE(each->is_found());
}

TEST_F(cupti_threads, of_nested_watches_are_found) {
  std::unique_ptr<idle_thread> outside, inside;
  {
    const cupti_thread_watch outer;
    outside = std::make_unique<idle_thread>();
    const cupti_thread_watch inner;
    inside = std::make_unique<idle_thread>();
  }
  EXPECT_TRUE(outside->is_found());
  EXPECT_TRUE(inside->is_found());
}

TEST_F(cupti_threads, leave_the_signal_mask_as_it_was) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  { const cupti_thread_watch watch; }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
}

TEST_F(cupti_threads, that_have_ended_leave_the_list) {
  std::uint64_t tid = 0;
  {
    std::unique_ptr<idle_thread> inside;
    const cupti_thread_watch watch;
    inside = std::make_unique<idle_thread>();
    tid = inside->tid();
    EXPECT_TRUE(ring::add_recorder_thread(tid));
    ring::refresh_recorder_threads();
    EXPECT_TRUE(ring::is_recorder_thread(tid)) << "it is still there";
  }
  // The system may need a moment until an ended thread is gone.
  for (int tries = 0; tries < 1000 && ring::is_recorder_thread(tid); ++tries) {
    ring::refresh_recorder_threads();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(ring::is_recorder_thread(tid));
}

TEST_F(cupti_threads, that_return_a_buffer_are_known_by_that) {
  note_delivering_thread();
  EXPECT_FALSE(ring::is_recorder_thread()) << "the main thread is the program's";
  bool belongs = false;
  std::thread([&] {
    note_delivering_thread();
    belongs = ring::is_recorder_thread();
  }).join();
  EXPECT_TRUE(belongs);
}

TEST_F(cupti_threads, are_limited_in_number) {
  for (std::uint64_t tid = 1; tid <= ring::max_recorder_threads; ++tid) EXPECT_TRUE(ring::add_recorder_thread(tid));
  EXPECT_TRUE(ring::add_recorder_thread(1)) << "known already";
  EXPECT_FALSE(ring::add_recorder_thread(ring::max_recorder_threads + 1));
}

}  // namespace
}  // namespace sluice::capture
