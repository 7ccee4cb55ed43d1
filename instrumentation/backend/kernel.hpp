#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

// A kernel of the runtime is one definition with two implementations: a CUDA function in the embedded binary (fatbin),
// and a host function that the simulated device runs on the same bytes. Both must give the same result. The tests
// compare their results.

namespace sluice::backend {

/// Launch dimensions: the grid in blocks, and the block in threads.
struct launch_config {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t shared_bytes = 0;  ///< dynamic shared memory per block, in bytes

  /// Dimensions with one thread for each of `count` items, in blocks of `threads` threads.
  [[nodiscard]] static launch_config for_size(std::uint64_t count, std::uint32_t threads = 256) noexcept {
    launch_config shape;
    shape.block[0] = threads;
    shape.grid[0] = static_cast<std::uint32_t>((count + threads - 1) / threads);
    if (shape.grid[0] == 0) shape.grid[0] = 1;
    return shape;
  }
};

/// A type that can be passed to a kernel as bytes. Arrays are excluded, because their content would be passed instead
/// of a pointer.
template <class T>
concept kernel_argument =
    std::is_trivially_copyable_v<T> && !std::is_array_v<T> && !std::is_function_v<T> && !std::is_member_pointer_v<T>;

/// The arguments of one launch, copied when the launch is requested, as CUDA does.
class kernel_arguments {
 public:
  template <class... Ts>
  [[nodiscard]] static kernel_arguments of(const Ts&... values) {
    static_assert((kernel_argument<Ts> && ...), "kernel arguments are copied as bytes: pass pointers and plain values");
    kernel_arguments out;
    (out.add(&values, sizeof(values)), ...);
    return out;
  }

  void add(const void* value, std::size_t bytes) {
    // 8-byte slots keep every argument aligned for the driver, which reads them through pointers.
    const std::size_t at = words_.size();
    words_.resize(at + (bytes + 7) / 8);
    std::memcpy(&words_[at], value, bytes);
    offsets_.push_back(static_cast<std::uint32_t>(at));
  }

  [[nodiscard]] std::size_t count() const noexcept { return offsets_.size(); }

  template <class T>
  [[nodiscard]] T get(std::size_t index) const noexcept {
    T value;
    std::memcpy(&value, &words_[offsets_[index]], sizeof(T));
    return value;
  }

  /// Pointers to the values, as cuLaunchKernel takes them. They are valid as long as this object exists.
  [[nodiscard]] std::vector<void*> pointers() {
    std::vector<void*> out;
    out.reserve(offsets_.size());
    for (const std::uint32_t at : offsets_) out.push_back(&words_[at]);
    return out;
  }

  /// All arguments as 8-byte words, in which addresses can be searched.
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_; }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> offsets_;
};

/// A range of memory that a launch reads or writes.
struct kernel_touch {
  const void* address = nullptr;
  std::uint64_t bytes = 0;
  bool written = false;
};

/// The cost of a launch on the simulated device, and the memory it accesses. Managed pages of these ranges are moved to
/// the device; a range outside live device memory fails the launch with an illegal address error.
struct kernel_work {
  std::uint64_t bytes = 0;       ///< device memory read and written
  std::uint64_t operations = 0;  ///< arithmetic operations (32 bit)
  std::array<kernel_touch, 4> touches{};
  std::size_t touch_count = 0;

  void touch(const void* address, std::uint64_t size, bool written) noexcept {
    bytes += size;
    if (touch_count < touches.size()) touches[touch_count++] = {address, size, written};
  }
};

/// One kernel. Definitions must be static objects, because the runtime keeps pointers to them.
struct kernel_definition {
  std::string_view name;  ///< shown in traces; also the symbol in the fatbin
  void (*run)(const launch_config&, const kernel_arguments&) = nullptr;
  kernel_work (*work)(const launch_config&, const kernel_arguments&) = nullptr;
};

}  // namespace sluice::backend
