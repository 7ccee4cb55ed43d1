// Walks on stacks other than the thread's own, from signal handlers, and through libraries that are loaded and
// unloaded.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "instrumentation/capture/stacks/modules.hpp"
#include "tests/instrumentation/capture/native/compare.hpp"
#include "tests/instrumentation/capture/native/shapes.hpp"

namespace sluice::test {
namespace {

// --------------------------------------------------------------------------------------------------------- signals

two_walks in_handler;
void walk_in_handler(int) { in_handler.take(); }

class handler_for {
 public:
  handler_for(int signal, void (*handler)(int), int flags) : signal_(signal) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, &before_);
  }
  ~handler_for() { sigaction(signal_, &before_, nullptr); }
  handler_for(const handler_for&) = delete;
  handler_for& operator=(const handler_for&) = delete;

 private:
  int signal_;
  struct sigaction before_ {};
};

void raise_signal(void*) { raise(SIGUSR1); }
void crash(void* at) { *static_cast<volatile int*>(at) = 1; }

TEST_F(native_stack_test, from_a_signal_handler) {
  const handler_for handler(SIGUSR1, walk_in_handler, 0);
  for (const shape* s = shapes_plain(); s->name != nullptr; ++s) {
    in_handler = {};
    s->run(raise_signal, nullptr);
    EXPECT_EQ(in_handler.difference(), "") << s->name;
  }
}

/// A separate stack between two inaccessible pages.
class guarded_stack {
 public:
  static constexpr std::size_t bytes = std::size_t{1} << 21, page = 4096;
  guarded_stack()
      : memory_(static_cast<char*>(
            mmap(nullptr, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
    mprotect(begin(), bytes, PROT_READ | PROT_WRITE);
  }
  ~guarded_stack() { munmap(memory_, bytes + 2 * page); }
  guarded_stack(const guarded_stack&) = delete;
  guarded_stack& operator=(const guarded_stack&) = delete;
  [[nodiscard]] char* begin() const { return memory_ + page; }

 private:
  char* memory_;
};

TEST_F(native_stack_test, from_a_signal_handler_on_a_stack_of_its_own) {
  const guarded_stack stack;
  stack_t alternate{}, before{};
  alternate.ss_sp = stack.begin();
  alternate.ss_size = guarded_stack::bytes;
  ASSERT_EQ(sigaltstack(&alternate, &before), 0);
  {
    const handler_for handler(SIGUSR1, walk_in_handler, SA_ONSTACK);
    for (const shape* s = shapes_plain(); s->name != nullptr; ++s) {
      in_handler = {};
      s->run(raise_signal, nullptr);
      EXPECT_EQ(in_handler.difference(), "") << s->name;
    }
  }
  sigaltstack(&before, nullptr);
}

int* volatile forbidden = nullptr;
void walk_and_allow(int) {
  in_handler.take();
  mprotect(forbidden, 4096, PROT_READ | PROT_WRITE);
}

TEST_F(native_stack_test, from_a_handler_of_a_fault) {
  forbidden = static_cast<int*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const handler_for handler(SIGSEGV, walk_and_allow, 0);
  in_handler = {};
  shapes_plain()[0].run(crash, forbidden);
  EXPECT_EQ(in_handler.difference(), "");
  munmap(forbidden, 4096);
}

volatile bool comparing = false;
int interrupted = 0, disagreed = 0;
std::uint64_t outermost = 0;
two_walks first_disagreement;
void compare_in_handler(int) {
  static two_walks walks;
  if (!comparing) return;
  walks.take();
  ++interrupted;
  // If there are no tables (stubs of some linkers), libgcc's walk ends early; ours may continue.
  const std::size_t last = walks.their_count - 1;
  const bool whole = walks.their_count > 0 && walks.theirs[last] == outermost;
  bool agree = walks.our_count >= 4;
  for (std::size_t i = 0; i < walks.our_count && i < walks.their_count; ++i) agree = agree && walks.agree_at(i);
  if (whole ? walks.agree() : agree) return;
  if (disagreed++ == 0) first_disagreement = walks;
}

/// Between `begin` and `end` the processor traps after each instruction, with SIGTRAP.
void begin_single_steps() {
  asm volatile("lea -128(%%rsp), %%rsp; pushf; orq $0x100, (%%rsp); popf; lea 128(%%rsp), %%rsp" : : : "cc", "memory");
}
void end_single_steps() {
  asm volatile("lea -128(%%rsp), %%rsp; pushf; andq $~0x100, (%%rsp); popf; lea 128(%%rsp), %%rsp"
               :
               :
               : "cc", "memory");
}

// Walks after each instruction of prologues, epilogues, linkage table stubs, and libc's assembly code.
TEST_F(native_stack_test, wherever_a_signal_interrupts) {
  const handler_for handler(SIGTRAP, compare_in_handler, 0);
  interrupted = disagreed = 0;
  first_disagreement.take();
  outermost = first_disagreement.theirs[first_disagreement.their_count - 1];
  volatile double number = 1.5;
  char text[64];
  begin_single_steps();
  comparing = true;
  for (const shape* shapes : {shapes_plain(), shapes_framed()}) {
    for (const shape* s = shapes; s->name != nullptr; ++s) {
      // libgcc's unwinder crashes in the middle of a longjmp out of several frames.
      if (std::strcmp(s->name, "noreturn_calls") != 0) s->run([](void*) {}, nullptr);
    }
  }
  snprintf(text, sizeof text, "%f %d", number, interrupted);
  number = strtod(text, nullptr);
  free(strdup(text));
  comparing = false;  // No table describes what the next call does to the stack.
  end_single_steps();
  if (interrupted < 1000) GTEST_SKIP() << "this machine does not single-step instructions";
  EXPECT_EQ(disagreed, 0) << "of " << interrupted << first_disagreement.list();
}

// ------------------------------------------------------------------------------------------------------ coroutines

ucontext_t caller, coroutine;
two_walks in_coroutine;

void coroutine_body() {
  shapes_plain()[0].run(two_walks::visit, &in_coroutine);
  swapcontext(&coroutine, &caller);
}

void walk_on(char* stack, std::size_t bytes) {
  in_coroutine = {};
  getcontext(&coroutine);
  coroutine.uc_stack.ss_sp = stack;
  coroutine.uc_stack.ss_size = bytes;
  coroutine.uc_link = &caller;
  makecontext(&coroutine, coroutine_body, 0);
  swapcontext(&caller, &coroutine);
}

TEST_F(native_stack_test, on_a_coroutines_stack) {
  const guarded_stack stack;
  walk_on(stack.begin(), guarded_stack::bytes);
  EXPECT_EQ(in_coroutine.difference(), "");
  walk_on(stack.begin(), guarded_stack::bytes);
  EXPECT_EQ(in_coroutine.difference(), "");
}

TEST_F(native_stack_test, on_a_coroutines_stack_from_the_heap) {
  const auto stack = std::make_unique<char[]>(guarded_stack::bytes);
  walk_on(stack.get(), guarded_stack::bytes);
  EXPECT_EQ(in_coroutine.difference(), "");
  std::thread([&] {
    walk_on(stack.get(), guarded_stack::bytes);
    EXPECT_EQ(in_coroutine.difference(), "");
  }).join();
}

// Stacks reuse the same addresses, and the previous walk may have read further up than the next one may.
TEST_F(native_stack_test, on_coroutines_stacks_that_shrink) {
  char* const memory = static_cast<char*>(
      mmap(nullptr, std::size_t{1} << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (std::size_t pages = 256; pages > 16; pages -= 16) {
    munmap(memory + pages * 4096, (256 - pages) * 4096);
    walk_on(memory, pages * 4096);
    EXPECT_EQ(in_coroutine.difference(), "");
  }
  munmap(memory, std::size_t{1} << 20);
}

void* thread_body(void*) {
  two_walks walks;
  shapes_plain()[0].run(two_walks::visit, &walks);
  EXPECT_EQ(walks.difference(), "");
  return nullptr;
}

TEST_F(native_stack_test, on_a_threads_stack_that_the_program_made) {
  const guarded_stack stack;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stack.begin(), guarded_stack::bytes), 0);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, thread_body, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// ------------------------------------------------------------------------------------------- libraries come and go

struct loaded {
  explicit loaded(int number)
      : handle(dlopen((SLUICE_SHAPES_DIR "/libsluice_shapes_library_" + std::to_string(number) + ".so").c_str(),
                      RTLD_NOW | RTLD_LOCAL)) {}
  ~loaded() { dlclose(handle); }
  loaded(const loaded&) = delete;
  loaded& operator=(const loaded&) = delete;
  [[nodiscard]] const shape* shapes() const {
    return reinterpret_cast<const shape* (*)()>(dlsym(handle, "shapes_library"))();
  }
  void* handle;
};

TEST_F(native_stack_test, another_library_in_the_place_of_one_that_is_gone) {
  const void* places[2] = {};
  for (int round = 0; round < 6; ++round) {
    const loaded library(1 + round % 2);
    ASSERT_NE(library.handle, nullptr) << dlerror();
    Dl_info where{};
    dladdr(library.shapes(), &where);
    places[round % 2] = where.dli_fbase;
    capture::watch_native_modules();
    for (const shape* s = library.shapes(); s->name != nullptr; ++s) {
      two_walks walks;
      s->run(two_walks::visit, &walks);
      EXPECT_EQ(walks.difference(), "") << s->name << " in library " << 1 + round % 2;
    }
  }
  EXPECT_EQ(places[0], places[1]) << "the loader used different addresses: this test has shown nothing";
}

// Below glibc 2.35 only the loader can be queried, which the recorder does on its own thread.
TEST_F(native_stack_test, where_the_c_library_does_not_tell_of_modules_a_table_does) {
  capture::ask_c_library(false);
  ASSERT_TRUE(capture::start_native_stacks());
  two_walks walks;
  shapes_plain()[0].run(two_walks::visit, &walks);
  EXPECT_EQ(walks.difference(), "");
  {
    const loaded library(1);
    ASSERT_NE(library.handle, nullptr) << dlerror();
    library.shapes()[0].run(two_walks::visit, &walks);
    EXPECT_LT(walks.our_count, walks.their_count) << "the recorder has not queried the loader yet";
    capture::watch_native_modules();
    library.shapes()[0].run(two_walks::visit, &walks);
    EXPECT_EQ(walks.difference(), "");
  }
  capture::watch_native_modules();
  capture::ask_c_library(true);
}

// Before the recorder queries the loader again, rules of the previous library may be used: the stack may be wrong, but
// nothing worse happens.
TEST_F(native_stack_test, stale_rules_do_no_harm) {
  for (int round = 0; round < 6; ++round) {
    const loaded library(1 + round % 2);
    ASSERT_NE(library.handle, nullptr) << dlerror();
    for (const shape* s = library.shapes(); s->name != nullptr; ++s) {
      two_walks walks;
      s->run(two_walks::visit, &walks);
      EXPECT_GE(walks.our_count, 2U) << s->name;
    }
  }
}

}  // namespace
}  // namespace sluice::test
