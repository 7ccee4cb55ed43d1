#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "instrumentation/backend/outcome.hpp"
#include "instrumentation/runtime/memory_resource.hpp"
#include "instrumentation/runtime/pool_heap.hpp"

// Where a pool's memory comes from. Internal; the pool calls under its mutex.

namespace sluice::runtime::pooling {

class growth {
 public:
  virtual ~growth() = default;
  /// Sizes of segments are multiples of this.
  [[nodiscard]] virtual std::uint64_t step() const noexcept = 0;
  /// Where the next segment would lie if it joined the memory that is there; 0: it never does.
  [[nodiscard]] virtual std::uint64_t next_address(std::uint64_t /*bytes*/) const noexcept { return 0; }
  /// A new segment of `bytes`, a multiple of `step`. out_of_memory when there is none to be had.
  [[nodiscard]] virtual backend::outcome<segment> grow(std::uint64_t bytes) = 0;
  /// No work uses it any more.
  virtual void shrink(const segment& s) noexcept = 0;
};

/// Segments are blocks of another resource.
class growth_from_upstream final : public growth {
 public:
  explicit growth_from_upstream(resource_ptr upstream) : upstream_(std::move(upstream)) {}
  [[nodiscard]] std::uint64_t step() const noexcept override { return granule; }
  [[nodiscard]] backend::outcome<segment> grow(std::uint64_t bytes) override;
  void shrink(const segment& s) noexcept override;

 private:
  resource_ptr upstream_;
};

}  // namespace sluice::runtime::pooling
