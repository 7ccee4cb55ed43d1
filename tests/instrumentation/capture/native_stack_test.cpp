// Compares our walks with libgcc's, frame by frame, through code of every shape.
#include "instrumentation/capture/stacks/native_stack.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "tests/instrumentation/capture/native/compare.hpp"
#include "tests/instrumentation/capture/native/shapes.hpp"

namespace sluice::test {
namespace {

void expect_equal_through(const shape* shapes) {
  for (const shape* s = shapes; s->name != nullptr; ++s) {
    // The second walk finds its rules in the cache.
    for (const char* time : {"first", "second"}) {
      two_walks walks;
      s->run(two_walks::visit, &walks);
      EXPECT_EQ(walks.difference(), "") << s->name << ", " << time << " time";
    }
  }
}

TEST_F(native_stack_test, through_optimised_code_without_frame_pointers) { expect_equal_through(shapes_plain()); }
TEST_F(native_stack_test, through_optimised_code_with_frame_pointers) { expect_equal_through(shapes_framed()); }
TEST_F(native_stack_test, through_unoptimised_code) { expect_equal_through(shapes_unoptimised()); }

TEST_F(native_stack_test, through_a_shared_library) {
  void* const library = dlopen(SLUICE_SHAPES_DIR "/libsluice_shapes_library_1.so", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  expect_equal_through(reinterpret_cast<const shape* (*)()>(dlsym(library, "shapes_library"))());
  dlclose(library);
}

TEST_F(native_stack_test, in_a_thread) {
  std::thread([] { expect_equal_through(shapes_plain()); }).join();
}

TEST_F(native_stack_test, several_threads_learn_at_the_same_time) {
  std::atomic<int> wrong{0};
  std::atomic<bool> stop{false};
  std::thread fork_wiped_state([&] {
    while (!stop) {
      capture::watch_native_modules();
      usleep(100);
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        for (const shape* s = shapes_plain(); s->name != nullptr; ++s) {
          two_walks walks;
          s->run(two_walks::visit, &walks);
          if (!walks.difference().empty()) ++wrong;
        }
      }
    });
  }
  for (auto& t : threads) t.join();
  stop = true;
  fork_wiped_state.join();
  EXPECT_EQ(wrong, 0);
}

/// Frames of two sizes, each called from several places. `path` selects them, two bits per frame.
[[gnu::noinline]] int wander(std::uint64_t path, int depth, two_walks& walks);
[[gnu::noinline]] int wander_with_room(std::uint64_t path, int depth, two_walks& walks) {
  char room[100];
  asm volatile("" : : "r"(room) : "memory");
  const int below = path % 2 == 0 ? wander(path / 2, depth, walks) + 1 : wander(path / 2, depth, walks) + 2;
  asm volatile("" : : "r"(room) : "memory");
  return below;
}
int wander(std::uint64_t path, int depth, two_walks& walks) {
  if (depth == 0) {
    walks.take();
    return 0;
  }
  switch (path % 4) {
    case 0:
      return wander(path / 4, depth - 1, walks) + 1;
    case 1:
      return wander(path / 4, depth - 1, walks) + 3;
    case 2:
      return wander_with_room(path / 4, depth - 1, walks) + 5;
    default:
      return wander_with_room(path / 4, depth - 1, walks) + 7;
  }
}

// Cached frames of one walk must not be used for the next walk beyond the point where the stacks differ.
TEST_F(native_stack_test, each_of_many_paths_has_its_own_stack) {
  std::mt19937_64 random(20);  // NOLINT(cert-msc32-c,cert-msc51-cpp): a fixed seed.
  std::uint64_t path = 0;
  for (int i = 0; i < 3000; ++i) {
    // Usually one step away from the last path, at any depth.
    path = random() % 8 == 0 ? random() : path ^ (std::uint64_t{1} << random() % 60);
    const int depth = random() % 16 == 0 ? 150 : static_cast<int>(1 + random() % 20);
    two_walks walks;
    wander(path, depth, walks);
    ASSERT_EQ(walks.difference(), "") << "walk " << i;
  }
}

// --------------------------------------------------------------------------------------------------------- limits

struct frames {
  std::vector<std::uint64_t> found;
  std::size_t max;
  unsigned skip;
  static void take(void* with) {
    auto* const f = static_cast<frames*>(with);
    f->found.resize(f->max + 1, 77);
    f->found.resize(capture::native_frames(f->found.data(), f->max, f->skip) + 1);
  }
};

TEST_F(native_stack_test, gives_at_most_what_is_asked_for_and_leaves_out_what_is_to_be_skipped) {
  frames whole{{}, 100, 0};
  shapes_plain()[0].run(frames::take, &whole);
  ASSERT_GT(whole.found.size(), 12U);
  for (const unsigned skip : {1U, 5U}) {
    frames part{{}, 4, skip};
    shapes_plain()[0].run(frames::take, &part);
    ASSERT_EQ(part.found.size(), 5U);
    EXPECT_EQ(part.found[4], 77U) << "nothing is written past the end";
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(part.found[i], whole.found[i + skip]) << i;
  }
  frames none{{}, 0, 0};
  shapes_plain()[0].run(frames::take, &none);
  EXPECT_EQ(none.found.size(), 1U);
  frames beyond{{}, 10, 1000};
  shapes_plain()[0].run(frames::take, &beyond);
  EXPECT_EQ(beyond.found.size(), 1U);
}

TEST_F(native_stack_test, leaves_errno_alone) {
  errno = 4711;
  std::thread([] {
    errno = 815;
    two_walks walks;
    walks.our_count = capture::native_frames(walks.ours.data(), max_frames, 0);
    EXPECT_EQ(errno, 815);
  }).join();
  std::uint64_t out[8];
  (void)capture::native_frames(out, 8, 0);
  EXPECT_EQ(errno, 4711);
}

TEST_F(native_stack_test, a_forks_child_walks_too) {
  const pid_t child = fork();
  if (child == 0) {
    two_walks walks;
    shapes_plain()[0].run(two_walks::visit, &walks);
    _exit(walks.difference().empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

[[gnu::noinline]] int recurse(int depth, two_walks& walks) {
  char room[2000];
  asm volatile("" : : "r"(room) : "memory");
  if (depth == 0) {
    walks.take();
    return 0;
  }
  const int below = recurse(depth - 1, walks);
  asm volatile("" : : "r"(room) : "memory");
  return below + 1;
}

TEST_F(native_stack_test, deep_recursion_ends_at_the_limit) {
  two_walks walks;
  recurse(3000, walks);
  EXPECT_EQ(walks.our_count, max_frames);
  EXPECT_EQ(walks.difference(), "");
}

// ------------------------------------------------------------------------------------------------- code without tables

// Pushes a frame pointer without unwind information and calls its first argument with its second.
asm(R"(
.pushsection .text
.type sluice_test_framed_without_tables, @function
sluice_test_framed_without_tables:
  push %rbp
  mov %rsp, %rbp
  sub $32, %rsp
  mov %rdi, %rax
  mov %rsi, %rdi
  call *%rax
  leave
  ret
.size sluice_test_framed_without_tables, .-sluice_test_framed_without_tables
.type sluice_test_lost, @function
sluice_test_lost:
  push %rbp
  push %rbx
  sub $24, %rsp
  mov %rdi, %rax
  mov %rsi, %rdi
  mov $0x1234567, %rbp
  call *%rax
  add $24, %rsp
  pop %rbx
  pop %rbp
  ret
.size sluice_test_lost, .-sluice_test_lost
.popsection
)");
extern "C" void sluice_test_framed_without_tables(visit call, void* with);
extern "C" void sluice_test_lost(visit call, void* with);

[[gnu::noinline]] frames walk_through(void (*code)(visit, void*)) {
  frames walk{{}, 100, 0};
  code(frames::take, &walk);
  walk.found.pop_back();
  return walk;
}

bool has_symbol(std::uint64_t pc, const std::string& name) {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(pc - 1), &info) != 0 && info.dli_sname != nullptr &&
         std::string(info.dli_sname).find(name) != std::string::npos;
}

TEST_F(native_stack_test, code_without_tables_is_passed_by_its_frame_pointer) {
  const frames walk = walk_through(sluice_test_framed_without_tables);
  ASSERT_GE(walk.found.size(), 5U);
  EXPECT_TRUE(has_symbol(walk.found.back(), "_start"));
}

TEST_F(native_stack_test, code_without_tables_or_frame_pointer_ends_the_walk) {
  EXPECT_EQ(walk_through(sluice_test_lost).found.size(), 2U);
}

TEST_F(native_stack_test, code_generated_at_run_time_is_passed_by_its_frame_pointer) {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  std::memcpy(page, reinterpret_cast<const void*>(sluice_test_framed_without_tables), 32);
  ASSERT_EQ(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
  const frames walk = walk_through(reinterpret_cast<void (*)(visit, void*)>(page));
  ASSERT_GE(walk.found.size(), 5U);
  EXPECT_EQ(walk.found[1] & ~std::uint64_t{4095}, reinterpret_cast<std::uint64_t>(page));
  EXPECT_TRUE(has_symbol(walk.found.back(), "_start"));
  munmap(page, 4096);
}

// -------------------------------------------------------------------------------------------------- a smashed stack

/// Walks while the return address and the saved frame pointer of the calling function are wrong.
struct vandal {
  std::uint64_t return_address, frame_pointer;
  frames walk{{}, 100, 0};
  [[gnu::noinline]] void run() {
    auto* const frame = static_cast<volatile std::uint64_t*>(__builtin_frame_address(0));
    const std::uint64_t saved[2] = {frame[0], frame[1]};
    frame[0] = frame_pointer;
    frame[1] = return_address;
    frames::take(&walk);
    frame[0] = saved[0];
    frame[1] = saved[1];
  }
};

TEST_F(native_stack_test, a_smashed_stack_ends_the_walk) {
  std::vector<std::uint64_t> heap(1000, 0x4141'4141'4141'4141);
  const std::uint64_t here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const std::uint64_t code = reinterpret_cast<std::uint64_t>(&expect_equal_through) + 7;
  const std::uint64_t values[] = {0,
                                  1,
                                  4096,
                                  0x4141'4141'4141'4141,
                                  ~std::uint64_t{0},
                                  here,
                                  here & ~std::uint64_t{4095},
                                  here + 1,
                                  here - 100'000,
                                  here + (std::uint64_t{1} << 24),
                                  code,
                                  reinterpret_cast<std::uint64_t>(heap.data()),
                                  (std::uint64_t{1} << 47) - 8,
                                  std::uint64_t{1} << 46};
  for (const std::uint64_t pc : values) {
    for (const std::uint64_t bp : values) {
      vandal v{pc, bp};
      v.run();
      EXPECT_LE(v.walk.found.size(), 101U);
      EXPECT_GE(v.walk.found.size(), 3U) << "frames below the damage are reported";
    }
  }
  std::thread([&] {
    for (const std::uint64_t pc : values) {
      for (const std::uint64_t bp : values) vandal{pc, bp}.run();
    }
  }).join();
}

}  // namespace
}  // namespace sluice::test
