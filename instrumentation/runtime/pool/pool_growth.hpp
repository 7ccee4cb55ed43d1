#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "instrumentation/backend/device_result.hpp"
#include "instrumentation/runtime/memory_resource.hpp"
#include "instrumentation/runtime/pool/pool_heap.hpp"

// Internal: the sources from which a pool gets its memory. The pool calls them with its mutex held, unless
// `may_call_back` returns true.

namespace sluice::runtime::pooling {

class growth {
 public:
  virtual ~growth() = default;
  /// Segment sizes are multiples of this, in bytes.
  [[nodiscard]] virtual std::uint64_t step() const noexcept = 0;
  /// True if `grow` may be called on a thread that is capturing a stream, because it makes no driver call that waits
  /// for a stream.
  [[nodiscard]] virtual bool grows_in_captures() const noexcept { return false; }
  /// True if grow and shrink may call user code that uses the pool. The pool releases its mutex for these calls.
  [[nodiscard]] virtual bool may_call_back() const noexcept { return false; }
  /// The address for a new segment of up to `bytes`, adjacent to existing memory; 0 if segments are not adjacent.
  [[nodiscard]] virtual std::uint64_t next_address(std::uint64_t /*bytes*/) const noexcept { return 0; }
  /// Allocates a segment of `bytes` (a multiple of `step`) at the address
  /// from `next_address`. Fails with out_of_memory if there is no memory.
  [[nodiscard]] virtual backend::device_result<segment> grow(std::uint64_t bytes, std::uint64_t at) = 0;
  /// Frees a segment, which no work may still use.
  virtual void shrink(const segment& s) noexcept = 0;
};

/// Each segment is a block from another resource.
class growth_from_upstream final : public growth {
 public:
  explicit growth_from_upstream(resource_ptr upstream);
  [[nodiscard]] bool may_call_back() const noexcept override { return may_call_back_; }
  [[nodiscard]] std::uint64_t step() const noexcept override { return granule; }
  [[nodiscard]] backend::device_result<segment> grow(std::uint64_t bytes, std::uint64_t at) override;
  void shrink(const segment& s) noexcept override;

 private:
  resource_ptr upstream_;
  bool may_call_back_;  ///< true unless the upstream resource calls the driver directly
};

/// Maps a pool's segments side by side into one reserved address range (cuMemMap). Blocks can extend over several
/// segments, and each segment can be freed separately. The idea is from PyTorch's expandable segments and from GMLake
/// (Guo et al., ASPLOS 2024).
class growth_by_mapping final : public growth {
 public:
  /// Reserves addresses for `max_bytes`. Fails with unavailable or not_supported if the device cannot do this.
  [[nodiscard]] static backend::device_result<std::unique_ptr<growth>> open(const device_ref& device,
                                                                            std::uint64_t max_bytes);
  ~growth_by_mapping() override;

  [[nodiscard]] std::uint64_t step() const noexcept override { return step_; }
  [[nodiscard]] bool grows_in_captures() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t next_address(std::uint64_t bytes) const noexcept override;
  [[nodiscard]] backend::device_result<segment> grow(std::uint64_t bytes, std::uint64_t at) override;
  void shrink(const segment& s) noexcept override;

 private:
  growth_by_mapping(const device_ref& device, std::uint64_t address, std::uint64_t bytes, std::uint64_t step)
      : device_(device), address_(address), bytes_(bytes), step_(step) {}

  device_ref device_;
  std::uint64_t address_, bytes_, step_;
  std::map<std::uint64_t, std::uint64_t> mapped_;  // address -> bytes
};

}  // namespace sluice::runtime::pooling
