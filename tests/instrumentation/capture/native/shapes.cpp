#include "tests/instrumentation/capture/native/shapes.hpp"

#include <alloca.h>
#include <stdarg.h>
#include <stdlib.h>

#include <initializer_list>

#ifndef SHAPES_FRAME
#define SHAPES_FRAME 64
#endif
#define SHAPES_JOIN(a, b) a##b
#define SHAPES_NAME(a, b) SHAPES_JOIN(a, b)

namespace sluice::test {
namespace {

/// Prevents the compiler from turning a call into a jump and from knowing a value.
template <class T>
void use(T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

[[gnu::noinline]] void nested(int depth, visit call, void* with) {
  if (depth == 0) {
    call(with);
  } else {
    nested(depth - 1, call, with);
  }
  use(depth);
}
void ten_deep(visit call, void* with) {
  nested(10, call, with);
  use(call);
}

/// Uses every callee-saved register around the call.
[[gnu::noinline]] void saves_registers(visit call, void* with) {
  long values[6] = {1, 2, 3, 4, 5, 6};
  use(values);
  const long a = values[0], b = values[1], c = values[2], d = values[3], e = values[4], f = values[5];
  call(with);
  long sum = a * 2 + b * 3 + c * 5 + d * 7 + e * 11 + f * 13;
  use(sum);
}

[[gnu::noinline]] void has_locals(visit call, void* with) {
  char room[SHAPES_FRAME];
  use(room);
  call(with);
  use(room);
}

[[gnu::noinline]] void allocates_on_the_stack(unsigned bytes, visit call, void* with) {
  void* room = alloca(bytes);
  use(room);
  call(with);
  use(room);
}
void with_alloca(visit call, void* with) {
  for (const unsigned bytes : {8U, 100U, 5000U}) allocates_on_the_stack(bytes, call, with);
}

/// A function in which the compiler realigns the stack.
[[gnu::noinline]] void realigns(visit call, void* with) {
  alignas(64) char room[128];
  use(room);
  call(with);
  use(room);
}

[[gnu::noinline]] void takes_many(int count, ...) {
  va_list more;
  va_start(more, count);
  const visit call = va_arg(more, visit);
  void* const with = va_arg(more, void*);
  va_end(more);
  call(with);
  use(count);
}
void variadic(visit call, void* with) {
  takes_many(2, call, with);
  use(call);
}

/// Arguments on the stack: pushed around the call.
[[gnu::noinline]] void ten_arguments(long, long, long, long, long, long, long, long, visit call, void* with) {
  call(with);
  use(call);
}
void arguments_on_the_stack(visit call, void* with) {
  ten_arguments(1, 2, 3, 4, 5, 6, 7, 8, call, with);
  use(call);
}

/// A tail call: the callee's frame replaces the caller's.
[[gnu::noinline]] void jumped_to(visit call, void* with) {
  call(with);
  use(call);
}
[[gnu::noinline]] void jumps(visit call, void* with) { jumped_to(call, with); }
void tail_call(visit call, void* with) {
  jumps(call, with);
  use(call);
}

/// The call is the last instruction, so the return address belongs to another function.
[[gnu::noinline, noreturn]] void never_returns(visit call, void* with, void** back) {
  call(with);
  __builtin_longjmp(back, 1);
}
[[gnu::noinline, noreturn]] void ends_with_a_call(visit call, void* with, void** back) {
  never_returns(call, with, back);
}
[[gnu::noinline]] void noreturn_calls(visit call, void* with) {
  void* back[5];
  if (__builtin_setjmp(back) == 0) ends_with_a_call(call, with, back);
  use(back);
}

struct comparison {
  visit call;
  void* with;
  bool done;
};
int compare(const void* a, const void*, void* with) {
  auto* const c = static_cast<comparison*>(with);
  if (!c->done) c->call(c->with);
  c->done = true;
  use(a);
  return 0;
}
[[gnu::noinline]] void through_qsort(visit call, void* with) {
  int values[3] = {3, 1, 2};
  comparison c{call, with, false};
  qsort_r(values, 3, sizeof values[0], compare, &c);
  use(values);
}

[[gnu::noinline]] void huge_frame(visit call, void* with) {
  char room[400'000];
  use(room);
  call(with);
  use(room);
}

constexpr shape all[] = {{"ten_deep", ten_deep},
                         {"saves_registers", saves_registers},
                         {"has_locals", has_locals},
                         {"with_alloca", with_alloca},
                         {"realigns", realigns},
                         {"variadic", variadic},
                         {"arguments_on_the_stack", arguments_on_the_stack},
                         {"tail_call", tail_call},
                         {"noreturn_calls", noreturn_calls},
                         {"through_qsort", through_qsort},
                         {"huge_frame", huge_frame},
                         {nullptr, nullptr}};

}  // namespace

extern "C" __attribute__((visibility("default"))) const shape* SHAPES_NAME(shapes_, SHAPES)();
extern "C" const shape* SHAPES_NAME(shapes_, SHAPES)() { return all; }

}  // namespace sluice::test
