#pragma once

#include <cstdint>

#include "instrumentation/backend/suballocator.hpp"

namespace sluice::backend::simulated {

/// The bytes behind the simulated device's virtual memory: one anonymous file, of which pieces are taken and mapped, also
/// in several places at once. Memory costs RAM only once touched; a piece that is given back costs none, and is zero when
/// it is taken again. Not thread-safe.
class physical_memory {
 public:
  static constexpr std::uint64_t granule = 2u << 20;

  /// `bytes` is the most there can be. The file is made when a piece is first taken.
  explicit physical_memory(std::uint64_t bytes) : bytes_(bytes / granule * granule), free_(granule) {}
  ~physical_memory();
  physical_memory(const physical_memory&) = delete;
  physical_memory& operator=(const physical_memory&) = delete;

  static constexpr std::uint64_t none = ~std::uint64_t{0};
  /// Offset in the file of `bytes`, a multiple of the granule; `none` if there are not that many in a row.
  [[nodiscard]] std::uint64_t take(std::uint64_t bytes);
  void give(std::uint64_t offset);
  [[nodiscard]] int file() const noexcept { return file_; }

 private:
  std::uint64_t bytes_;
  suballocator free_;
  int file_ = -1;
};

}  // namespace sluice::backend::simulated
