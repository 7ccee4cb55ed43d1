#pragma once

#include <cstdint>

#include "instrumentation/backend/suballocator.hpp"

namespace sluice::backend::simulated {

/// The memory behind the simulated device's virtual memory: one anonymous file, of which pieces are allocated. A piece
/// may be mapped at several addresses at once. Memory uses RAM only after its first access; a freed piece uses no RAM,
/// and its bytes are zero when it is allocated again. Not thread-safe.
class physical_memory {
 public:
  static constexpr std::uint64_t granule = 2u << 20;

  /// `bytes` is the capacity. The file is created by the first allocation.
  explicit physical_memory(std::uint64_t bytes) : bytes_(bytes / granule * granule), free_(granule) {}
  ~physical_memory();
  physical_memory(const physical_memory&) = delete;
  physical_memory& operator=(const physical_memory&) = delete;

  static constexpr std::uint64_t none = ~std::uint64_t{0};
  /// Allocates `bytes`, a multiple of `granule`. Returns the offset in the file; `none` if no free range is large
  /// enough.
  [[nodiscard]] std::uint64_t take(std::uint64_t bytes);
  void give(std::uint64_t offset);
  [[nodiscard]] int file() const noexcept { return file_; }

 private:
  std::uint64_t bytes_;
  suballocator free_;
  int file_ = -1;
};

}  // namespace sluice::backend::simulated
