#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "instrumentation/backend/outcome.hpp"
#include "instrumentation/runtime/memory_resource.hpp"
#include "instrumentation/runtime/pool/pool_heap.hpp"

// Where a pool's memory comes from. Internal; the pool calls under its mutex, but for what may call back.

namespace sluice::runtime::pooling {

class growth {
 public:
  virtual ~growth() = default;
  /// Sizes of segments are multiples of this.
  [[nodiscard]] virtual std::uint64_t step() const noexcept = 0;
  /// It may grow on a thread that captures a stream: nothing that it calls may wait for one.
  [[nodiscard]] virtual bool grows_in_captures() const noexcept { return false; }
  /// Growing and shrinking may call functions of the program's own, which may use the pool: they are done without the pool's mutex.
  [[nodiscard]] virtual bool may_call_back() const noexcept { return false; }
  /// Where a segment of up to `bytes` has room, beside the memory that is there; 0: segments do not join.
  [[nodiscard]] virtual std::uint64_t next_address(std::uint64_t /*bytes*/) const noexcept { return 0; }
  /// A new segment of `bytes`, a multiple of `step`, at what `next_address` has said. out_of_memory when there is none to be
  /// had.
  [[nodiscard]] virtual backend::outcome<segment> grow(std::uint64_t bytes, std::uint64_t at) = 0;
  /// No work uses it any more.
  virtual void shrink(const segment& s) noexcept = 0;
};

/// Segments are blocks of another resource.
class growth_from_upstream final : public growth {
 public:
  explicit growth_from_upstream(resource_ptr upstream);
  [[nodiscard]] bool may_call_back() const noexcept override { return may_call_back_; }
  [[nodiscard]] std::uint64_t step() const noexcept override { return granule; }
  [[nodiscard]] backend::outcome<segment> grow(std::uint64_t bytes, std::uint64_t at) override;
  void shrink(const segment& s) noexcept override;

 private:
  resource_ptr upstream_;
  bool may_call_back_;  ///< it is not straight from the driver
};

/// Segments are mapped side by side into one reserved range of addresses (cuMemMap), so that blocks reach across them, and a
/// segment can go without its neighbours. The idea is that of PyTorch's expandable segments and of GMLake (Guo et al.,
/// ASPLOS 2024).
class growth_by_mapping final : public growth {
 public:
  /// Reserves addresses for `most_bytes`. unavailable or not_supported where the device cannot.
  [[nodiscard]] static backend::outcome<std::unique_ptr<growth>> open(const device_ref& device,
                                                                      std::uint64_t most_bytes);
  ~growth_by_mapping() override;

  [[nodiscard]] std::uint64_t step() const noexcept override { return step_; }
  [[nodiscard]] bool grows_in_captures() const noexcept override { return true; }
  [[nodiscard]] std::uint64_t next_address(std::uint64_t bytes) const noexcept override;
  [[nodiscard]] backend::outcome<segment> grow(std::uint64_t bytes, std::uint64_t at) override;
  void shrink(const segment& s) noexcept override;

 private:
  growth_by_mapping(const device_ref& device, std::uint64_t address, std::uint64_t bytes, std::uint64_t step)
      : device_(device), address_(address), bytes_(bytes), step_(step) {}

  device_ref device_;
  std::uint64_t address_, bytes_, step_;
  std::map<std::uint64_t, std::uint64_t> mapped_;  // address -> bytes
};

}  // namespace sluice::runtime::pooling
