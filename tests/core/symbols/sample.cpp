#include "tests/core/symbols/sample.hpp"

namespace sample {
namespace {

__attribute__((noinline)) std::uintptr_t return_address(int depth) {
  asm volatile("" : : "r"(depth));
  return reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
}

__attribute__((always_inline)) inline std::uintptr_t inner(int depth) {
  std::uintptr_t address = return_address(depth);
  asm volatile("" : "+r"(address));  // No tail call.
  return address;
}

}  // namespace

std::uintptr_t outer(int depth) {
  int twice = depth * 2;
  return inner(twice) + 0;
}

int exported(int value) {
  int sum = 0;
  for (int i = 0; i < value; ++i) sum += i * i ^ value;
  return sum;
}

}  // namespace sample

int libcudart_static_0123abcd(int value) { return sample::exported(value) + 1; }
