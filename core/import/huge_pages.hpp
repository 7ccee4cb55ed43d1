#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

/// Memory for imports, which fill much of it once: in pages of 2 MiB where the system has them. A page fault costs 1 to 3 us, and in
/// pages of 4 KiB faults were half the time of importing a snapshot.
namespace sluice::importing {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// At least `bytes`, from malloc below two huge pages. Null without memory. Free it with std::free.
[[nodiscard]] inline void* allocate_huge(std::size_t bytes) {
  if (bytes < 2 * huge_page) return std::malloc(bytes);
  const std::size_t whole = (bytes + huge_page - 1) / huge_page * huge_page;
  void* memory = std::aligned_alloc(huge_page, whole);
  if (memory != nullptr) madvise(memory, whole, MADV_HUGEPAGE);  // without them it is memory all the same
  return memory;
}

template <class T>
struct huge_allocator {
  using value_type = T;
  huge_allocator() = default;
  template <class U>
  huge_allocator(const huge_allocator<U>&) {}
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_alloc();
    void* memory = allocate_huge(count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  friend bool operator==(const huge_allocator&, const huge_allocator&) { return true; }
};

template <class T>
using huge_vector = std::vector<T, huge_allocator<T>>;

}  // namespace sluice::importing
