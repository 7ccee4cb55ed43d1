// Walks copies of the stacks of a child process, and compares them with what libgcc's unwinder finds in the child.
#include "instrumentation/unwind/copied_stack.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstring>
#include <map>
#include <new>
#include <random>
#include <vector>

#include "instrumentation/unwind/process_code.hpp"
#include "tests/instrumentation/capture/native/shapes.hpp"

namespace sluice::unwind {
namespace {

constexpr std::size_t max_frames = 128;

/// What the child says about itself, in memory that both processes share.
struct shared_state {
  std::atomic<int> step{0};  ///< Odd: the child waits to be looked at.
  user_registers registers;
  std::size_t count = 0;
  std::uint64_t frames[max_frames] = {};
};
shared_state* shared = nullptr;

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void*) {
  const std::uint64_t pc = _Unwind_GetIP(context);
  if (pc == 0 || shared->count == max_frames) return _URC_END_OF_STACK;
  shared->frames[shared->count++] = pc;
  return _URC_NO_REASON;
}

/// Runs in the child: says where it is and waits until the parent has looked.
[[gnu::noinline]] void show(void*) {
  shared->count = 0;
  _Unwind_Backtrace(add_frame, nullptr);
  const int step = shared->step.load();
#if defined(__x86_64__)
  asm volatile(
      "lea 0(%%rip), %0\n\t"
      "mov %%rsp, %1\n\t"
      "mov %%rbp, %2"
      : "=a"(shared->registers.ip), "=d"(shared->registers.sp), "=c"(shared->registers.bp));
#endif
  shared->step.store(step + 1);
  while (shared->step.load() == step + 1) {
  }
}

class copied_stack_test : public testing::Test {
 protected:
  void SetUp() override {
    void* const memory = mmap(nullptr, sizeof(shared_state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared = new (memory) shared_state;
  }
  void TearDown() override { munmap(shared, sizeof *shared); }

  /// Copies at most `most` bytes of the child's stack.
  static std::vector<std::byte> copy_stack(pid_t child, std::size_t most) {
    std::vector<std::byte> bytes(most);
    const iovec here{bytes.data(), bytes.size()};
    std::vector<iovec> pages;
    constexpr std::uint64_t page = 4096;
    for (std::uint64_t at = shared->registers.sp; at < shared->registers.sp + most;) {
      const std::uint64_t next = std::min((at / page + 1) * page, shared->registers.sp + most);
      pages.push_back({reinterpret_cast<void*>(at), next - at});
      at = next;
    }
    const ssize_t got = process_vm_readv(child, &here, 1, pages.data(), std::min<std::size_t>(pages.size(), 1024), 0);
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
  }

  std::vector<std::uint64_t> walk(pid_t child, std::size_t most = std::size_t{1} << 19) {
    const auto bytes = copy_stack(child, most);
    std::vector<std::uint64_t> frames(max_frames);
    process_code code(child, images_);
    frames.resize(walk_copied_stack(shared->registers, {shared->registers.sp, bytes}, code, frames));
    return frames;
  }

  static std::vector<std::uint64_t> theirs() { return {shared->frames, shared->frames + shared->count}; }

  /// Starts a child that calls `run`, and calls `look` at each of its steps.
  template <class Run, class Look>
  void with_child(Run run, Look look) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      run();
      shared->step.store(-1);
      _exit(0);
    }
    for (;;) {
      const int step = shared->step.load();
      if (step < 0 || (waitpid(child, nullptr, WNOHANG) == child && (step % 2) == 0)) break;
      if (step % 2 == 0) continue;
      look(child);
      shared->step.store(step + 1);
    }
    waitpid(child, nullptr, 0);
  }

  void expect_equal_through(const test::shape* shapes) {
    for (const test::shape* s = shapes; s->name != nullptr; ++s) {
      SCOPED_TRACE(s->name);
      shared->step.store(0);
      std::size_t looks = 0;
      with_child([&] { s->run(show, nullptr); },
                 [&](pid_t child) {
                   ++looks;
                   auto ours = walk(child);
                   auto expected = theirs();
                   ASSERT_GE(ours.size(), 3U);
                   ASSERT_GE(expected.size(), 3U);
                   ours[0] = expected[0] = 0;  // Two different places in `show`.
                   EXPECT_EQ(ours, expected);
                 });
      EXPECT_GT(looks, 0U);
    }
  }

  image_cache images_;
};

TEST_F(copied_stack_test, through_optimised_code_without_frame_pointers) { expect_equal_through(test::shapes_plain()); }
TEST_F(copied_stack_test, through_optimised_code_with_frame_pointers) { expect_equal_through(test::shapes_framed()); }
TEST_F(copied_stack_test, through_unoptimised_code) { expect_equal_through(test::shapes_unoptimised()); }

TEST_F(copied_stack_test, ends_where_the_copy_ends) {
  with_child([] { test::shapes_plain()[0].run(show, nullptr); },
             [&](pid_t child) {
               const auto whole = walk(child);
               std::size_t before = 0;
               for (const std::size_t bytes : {8U, 64U, 128U, 256U, 1024U}) {
                 const auto part = walk(child, bytes);
                 ASSERT_LE(part.size(), whole.size());
                 EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin())) << bytes;
                 EXPECT_GE(part.size(), before);
                 before = part.size();
               }
               EXPECT_LT(walk(child, 64).size(), whole.size());
             });
}

void handle_signal(int) { show(nullptr); }

TEST_F(copied_stack_test, through_a_signal_handler) {
  with_child(
      [] {
        signal(SIGUSR1, handle_signal);
        raise(SIGUSR1);
      },
      [&](pid_t child) {
        auto ours = walk(child);
        auto expected = theirs();
        ASSERT_GT(ours.size(), 5U);
        ASSERT_EQ(ours.size(), expected.size());
        ours[0] = expected[0] = 0;
        // The interrupted instruction is one byte further here, like a return address.
        for (std::size_t i = 1; i < ours.size(); ++i) EXPECT_LE(ours[i] - expected[i], 1U) << i;
      });
}

/// Gives arbitrary rules: the walk must end, and must stay inside the copy (a sanitizer notices if it does not).
class hostile_code : public code_reader {
 public:
  explicit hostile_code(std::uint64_t seed) : random_(seed) {}
  unwind_rule find_rule(std::uint64_t) override {
    unwind_rule rule;
    rule.kind = static_cast<unwind_rule::how>(random_() % 7);
    rule.offset = static_cast<std::int32_t>(random_() % 4 == 0 ? random_() : random_() % 16);
    rule.saved_rbp = static_cast<std::int32_t>(random_() % 4 == 0 ? random_() : random_() % 8) - 1;
    return rule;
  }
  bool follows_call(std::uint64_t) override { return random_() % 2 == 0; }

 private:
  std::mt19937_64 random_;
};

TEST(hostile_copied_stack, any_stack_and_any_rules_end) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t base = 0x7fff'0000'0000 + random() % 64;
    std::vector<std::byte> bytes(random() % 512);
    for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
      const std::uint64_t word = random() % 2 == 0 ? base + random() % 600 : 0x40'0000 + random() % 0x1000;
      std::memcpy(bytes.data() + i, &word, sizeof word);
    }
    hostile_code code(random());
    std::uint64_t out[64];
    const user_registers registers{0x40'0000, base + random() % 16 * 8, base + random() % 600};
    EXPECT_LE(walk_copied_stack(registers, {base, bytes}, code, out), 64U);
  }
}

}  // namespace
}  // namespace sluice::unwind
