// probe: a child process must not harm its parent, and must not exceed its limits or outlive its parent.
#include "app/processes/probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sluice::processes {
namespace {

using testing::HasSubstr;
constexpr std::chrono::seconds long_enough(60);

std::string never() {
  for (;;) pause();
}

/// Runs `query` in a child process and returns the error.
std::string trouble_with(const std::function<std::string()>& query, output_limits limits = {.timeout = long_enough},
                         std::optional<std::size_t> memory_bytes = std::nullopt) {
  const auto output = probe(query, limits, memory_bytes);
  if (output) return "it answered: " + *output;
  EXPECT_EQ(output.error().code, error_code::unavailable);
  return output.error().to_string();
}

TEST(probe, returns_the_childs_result) {
  EXPECT_EQ(probe([] { return std::string("two\nlines"); }, {.timeout = long_enough}).value_or(""), "two\nlines");
  EXPECT_EQ(probe([] { return std::string(); }, {.timeout = long_enough}).value_or("none"), "");
}

TEST(probe, survives_a_crash) {
  EXPECT_THAT(trouble_with([]() -> std::string {
                raise(SIGSEGV);
                return "";
              }),
              HasSubstr("crashed (Segmentation fault"));
  EXPECT_THAT(trouble_with([]() -> std::string {
                raise(SIGKILL);
                return "";
              }),
              HasSubstr("was killed"));
}

TEST(probe, survives_what_ends_the_process) {
  EXPECT_THAT(trouble_with([]() -> std::string { _exit(7); }), HasSubstr("status 7"));
}

// If an exception left the child's part of the code, the child would continue as a second parent.
TEST(probe, an_exception_stays_in_the_child) {
  const pid_t self = getpid();
  EXPECT_THAT(trouble_with([]() -> std::string { throw std::runtime_error("surprise"); }), HasSubstr("exception"));
  EXPECT_EQ(getpid(), self);
}

TEST(probe, does_not_wait_for_ever) {
  EXPECT_THAT(trouble_with(never, {.timeout = std::chrono::milliseconds(100)}), HasSubstr("no result within 1 s"));
}

TEST(probe, takes_no_result_without_end) {
  const output_limits limits{.timeout = long_enough, .bytes = 1000};
  EXPECT_THAT(trouble_with([] { return std::string(100'000'000, 'x'); }, limits), HasSubstr("longer than 1000 B"));
  EXPECT_EQ(probe([] { return std::string(1000, 'x'); }, limits).value_or("").size(), 1000U);
}

TEST(probe, bounds_the_childs_memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's own memory counts towards the limit";
#endif
  constexpr output_limits limits{.timeout = long_enough};
  constexpr std::size_t memory_bytes = std::size_t{256} << 20;
  const auto takes_memory = [] {
    std::vector<char> taken(std::size_t{1} << 30);
    return std::to_string(taken.size());
  };
  EXPECT_THAT(trouble_with(takes_memory, limits, memory_bytes), HasSubstr("needs more than 256 MiB of memory"));
  // The same for an exception on a thread of the child, where nothing could catch it.
  EXPECT_THAT(trouble_with(
                  [&]() -> std::string {
                    std::thread(takes_memory).join();
                    return {};
                  },
                  limits, memory_bytes),
              HasSubstr("needs more than 256 MiB of memory"));
  EXPECT_EQ(probe([] { return std::string("small"); }, limits, memory_bytes).value_or(""), "small");
}

TEST(probe, the_kernel_ends_the_child_first) {
  const auto score = [] {
    std::ifstream in("/proc/self/oom_score_adj");
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string before = score();
  EXPECT_EQ(probe(score, {.timeout = long_enough}).value_or(""), "1000\n");
  EXPECT_EQ(score(), before);
}

class pipe_watcher final : public output_watcher {
 public:
  pipe_watcher() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~pipe_watcher() override {
    for (const int end : ends_) close(end);
  }
  void say(char word) const { EXPECT_EQ(write(ends_[1], &word, 1), 1); }
  [[nodiscard]] int descriptor() const override { return ends_[0]; }
  [[nodiscard]] bool gives_up() override {
    char word = 0;
    EXPECT_EQ(read(ends_[0], &word, 1), 1);
    heard += word;
    return word == 'x';
  }
  std::string heard;

 private:
  std::array<int, 2> ends_{};
};

TEST(probe, can_be_given_up) {
  pipe_watcher watcher;
  for (const char word : {'a', 'b', 'x', 'c'}) watcher.say(word);
  const auto output = probe(never, {.timeout = long_enough}, std::nullopt, &watcher);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, error_code::cancelled);
  EXPECT_EQ(watcher.heard, "abx");
}

// The parent is killed, so it cannot end its child.
TEST(probe, the_child_does_not_outlive_its_parent) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    close(ends[0]);
    static_cast<void>(probe(
        [&] {
          static_cast<void>(!write(ends[1], "s", 1));
          return never();
        },
        {.timeout = long_enough}));
    _exit(1);
  }
  close(ends[1]);
  char word = 0;
  EXPECT_EQ(read(ends[0], &word, 1), 1);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(read(ends[0], &word, 1), 0) << "the last process that could write has ended";
  close(ends[0]);
}

}  // namespace
}  // namespace sluice::processes
