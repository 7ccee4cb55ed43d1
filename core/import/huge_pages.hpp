#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

/// Allocates memory in pages of 2 MiB if the system has them. Importers use it, because they fill large buffers once. A
/// page fault takes 1 to 3 us, and with pages of 4 KiB, faults took half the time of importing a snapshot. On a virtual
/// machine, the first use of a page takes ten times as long, whatever the page's size, so importers touch as little
/// memory as possible.
namespace sluice::importing {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Allocates at least `bytes`, from malloc if that is less than a huge page. Returns null if out of memory. The caller
/// must free the memory with std::free.
[[nodiscard]] inline void* allocate_huge(std::size_t bytes) {
  if (bytes < huge_page) return std::malloc(bytes);
  const std::size_t whole = (bytes + huge_page - 1) / huge_page * huge_page;
  void* memory = std::aligned_alloc(huge_page, whole);
  // A failure does not matter, because huge pages are optional.
  if (memory != nullptr) madvise(memory, whole, MADV_HUGEPAGE);
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

/// A vector for data of known size that is filled once.
template <class T>
using huge_vector = std::vector<T, huge_allocator<T>>;

/// A list that grows item by item and may become large. To grow, it remaps pages instead of copying bytes, and never
/// touches unused capacity. Throws std::bad_alloc if out of memory.
template <class T>
class huge_list {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  huge_list() = default;
  huge_list(huge_list&& other) noexcept
      : items_(std::exchange(other.items_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  huge_list& operator=(huge_list&& other) noexcept {
    std::swap(items_, other.items_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~huge_list() { release(); }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return capacity_ * sizeof(T); }
  [[nodiscard]] T& operator[](std::size_t at) { return items_[at]; }
  [[nodiscard]] const T& operator[](std::size_t at) const { return items_[at]; }
  void push_back(const T& item) {
    const T kept = item;  // `item` may be in this list.
    if (size_ == capacity_) grow();
    items_[size_++] = kept;
  }

 private:
  // Lists of up to this many bytes use memory from malloc.
  static constexpr std::size_t small = std::size_t{256} << 10;

  [[nodiscard]] bool is_mapped() const { return bytes() > small; }
  void release() {
    if (is_mapped()) {
      munmap(items_, bytes());
    } else {
      std::free(items_);
    }
  }
  void grow() {
    const std::size_t wanted = capacity_ == 0 ? std::size_t{4096} : bytes() < small ? bytes() * 4 : bytes() * 2;
    void* grown = nullptr;
    if (wanted <= small) {
      grown = std::realloc(items_, wanted);
    } else {
      constexpr int access = PROT_READ | PROT_WRITE;
      const std::size_t whole = (wanted + huge_page - 1) / huge_page * huge_page;
      grown = is_mapped() ? mremap(items_, bytes(), whole, MREMAP_MAYMOVE)
                          : mmap(nullptr, whole, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (grown == MAP_FAILED) throw std::bad_alloc();
      if (!is_mapped()) {
        madvise(grown, whole, MADV_HUGEPAGE);
        if (size_ != 0) std::memcpy(grown, items_, size_ * sizeof(T));
        std::free(items_);
      }
      items_ = static_cast<T*>(grown);
      capacity_ = whole / sizeof(T);
      return;
    }
    if (grown == nullptr) throw std::bad_alloc();
    items_ = static_cast<T*>(grown);
    capacity_ = wanted / sizeof(T);
  }

  T* items_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// A fixed number of items that are initially zero. Pages take no memory until they are written to.
template <class T>
class zeros {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit zeros(std::size_t count) : items_(static_cast<T*>(std::calloc(count + 1, sizeof(T)))) {
    if (items_ == nullptr) throw std::bad_alloc();
  }
  zeros(const zeros&) = delete;
  zeros& operator=(const zeros&) = delete;
  ~zeros() { std::free(items_); }
  [[nodiscard]] T& operator[](std::size_t at) { return items_[at]; }

 private:
  T* items_;
};

}  // namespace sluice::importing
