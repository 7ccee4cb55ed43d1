// What /proc says about threads.
#include "instrumentation/writer/sampling/proc_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>

namespace sluice::writer {
namespace {

using testing::Contains;

TEST(proc_files, a_wait_has_its_system_call_and_where_it_is) {
  const auto wait = parse_wait("202 0x7f00 0x80 0x2 0x0 0x0 0xffffffff 0x7ffe00001000 0x7f0000002000\n");
  ASSERT_TRUE(wait.has_value());
  EXPECT_EQ(*wait, (thread_wait{false, 202, 0x7ffe00001000, 0x7f0000002000}));
  EXPECT_EQ(parse_wait("-1 0x7ffe00001000 0x7f0000002000\n"), (thread_wait{false, -1, 0x7ffe00001000, 0x7f0000002000}));
  EXPECT_EQ(parse_wait("running\n"), (thread_wait{true, -1, 0, 0}));
}

TEST(proc_files, other_texts_are_no_wait) {
  for (const char* text : {"", "\n", "x", "7", "-1", "-1 0x1", "99999999999999999999 0x1 0x2", "0x1"})
    EXPECT_EQ(parse_wait(text), std::nullopt) << text;
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = "202 0x7f00 0x80 0x2 0x0 0x0 0xffffffff 0x7ffe00001000 0x7f0000002000\n";
    for (std::uint64_t n = random() % 5; n > 0; --n) text[random() % text.size()] = static_cast<char>(random());
    const auto wait = parse_wait(text);
    EXPECT_TRUE(!wait || wait->system_call >= -1);
  }
}

TEST(proc_files, the_state_comes_after_the_name) {
  EXPECT_EQ(parse_state("12 (a) R 1 2"), 'R');
  EXPECT_EQ(parse_state("12 (a) S) D 1 2"), 'D') << "a name with a parenthesis";
  EXPECT_EQ(parse_state(""), '?');
  EXPECT_EQ(parse_state("12 (a)"), '?');
}

TEST(proc_files, the_own_id_is_the_last) {
  EXPECT_EQ(parse_own_id("Name:\tx\nNSpid:\t123\t4\t7\nNSpgid:\t1\n"), 7);
  EXPECT_EQ(parse_own_id("Name:\tx\nNSpid:\t123\n"), 123);
  EXPECT_EQ(parse_own_id("Name:\tx\n"), std::nullopt);
  EXPECT_EQ(find_own_id(getpid(), getpid()), getpid());
}

TEST(proc_files, the_own_id_in_a_namespace_of_its_own_is_1) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWPID) != 0) _exit(77);
    const pid_t inner = fork();
    if (inner < 0) _exit(77);
    if (inner == 0) {
      for (;;) pause();
    }
    const bool same = find_own_id(inner, inner) == 1;
    kill(inner, SIGKILL);
    waitpid(inner, nullptr, 0);
    _exit(same ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(proc_files, lists_threads_and_children) {
  std::atomic<pid_t> tid{0};
  std::atomic<bool> stop{false};
  std::thread other([&] {
    tid = static_cast<pid_t>(syscall(SYS_gettid));
    while (!stop) usleep(1000);
  });
  while (tid == 0) usleep(100);
  const auto threads = list_threads(getpid(), 1000);
  EXPECT_THAT(threads, Contains(getpid()));
  EXPECT_THAT(threads, Contains(tid.load()));
  EXPECT_EQ(list_threads(getpid(), 1).size(), 1U);
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  EXPECT_THAT(list_children(getpid(), threads), Contains(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(list_threads(child, 1000).empty());
  stop = true;
  other.join();
}

TEST(proc_files, copies_up_to_the_first_page_that_cannot_be_read) {
  constexpr std::size_t page = 4096;
  auto* const memory =
      static_cast<char*>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(memory + 2 * page, page, PROT_NONE), 0);
  std::memset(memory, 'x', 2 * page);
  std::vector<std::byte> bytes;
  copy_memory(getpid(), reinterpret_cast<std::uint64_t>(memory + 100), 4 * page, bytes);
  EXPECT_EQ(bytes.size(), 2 * page - 100);
  EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{'x'}; }));
  copy_memory(getpid(), 16, 4 * page, bytes);
  EXPECT_TRUE(bytes.empty());
  munmap(memory, 3 * page);
}

}  // namespace
}  // namespace sluice::writer
