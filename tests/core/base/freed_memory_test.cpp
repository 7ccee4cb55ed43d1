#include "core/base/freed_memory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace sluice {
namespace {

#if !defined(__GLIBC__)
TEST(freed_memory, is_left_to_the_library) { GTEST_SKIP() << "the C library is not glibc"; }
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
TEST(freed_memory, is_left_to_the_library) { GTEST_SKIP() << "sanitizers allocate by themselves"; }
#else

std::size_t heap_bytes() { return ::mallinfo2().arena; }
std::size_t mapped_bytes() { return ::mallinfo2().hblkhd; }

void fill_and_free(std::size_t bytes) {
  const std::unique_ptr<char, void (*)(void*)> block(static_cast<char*>(std::malloc(bytes)), std::free);
  ASSERT_NE(block, nullptr);
  block.get()[bytes - 1] = 1;
}

TEST(freed_memory, stays_with_the_program) {
  keep_freed_memory();
  fill_and_free(std::size_t{8} << 20);
  const std::size_t after = heap_bytes();
  EXPECT_GE(after, std::size_t{8} << 20) << "part of the heap, and not mapped for this block alone";
  fill_and_free(std::size_t{8} << 20);
  EXPECT_EQ(heap_bytes(), after) << "the same memory is reused";
}

TEST(freed_memory, goes_back_when_asked) {
  keep_freed_memory();
  fill_and_free(std::size_t{8} << 20);
  const std::size_t kept = heap_bytes();
  give_freed_memory_back();
  EXPECT_LE(heap_bytes() + (std::size_t{7} << 20), kept);
}

TEST(freed_memory, goes_back_where_a_block_is_huge) {
  keep_freed_memory();
  const std::size_t before = heap_bytes() + mapped_bytes();
  fill_and_free(std::size_t{128} << 20);
  EXPECT_EQ(heap_bytes() + mapped_bytes(), before);
}

#endif

}  // namespace
}  // namespace sluice
