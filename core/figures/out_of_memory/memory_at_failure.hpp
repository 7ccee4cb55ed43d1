#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/figures/fragmentation.hpp"
#include "core/figures/out_of_memory/out_of_memory.hpp"
#include "core/index/index.hpp"

namespace sluice::analysis {

/// The memory in which an allocation failed, as it was laid out at that moment. Private to core/figures.
class memory_at_failure {
 public:
  /// `from` must cover the failure; it must outlive this. `all_failed`: all failures of the recording.
  memory_at_failure(const trace::alloc_failed_event& failed, std::span<const trace::alloc_failed_event> all_failed,
                    const index& from, time_range run, const fragmentation_builder& segments,
                    const trace::tables& tables);

  /// Sets what is known of the limit, and of free and used memory.
  void describe(out_of_memory& into) const;

  /// Positions in `memory_use::blocks()` of the live blocks of this memory.
  [[nodiscard]] const std::vector<std::size_t>& live() const { return live_; }
  [[nodiscard]] const std::vector<segment_layout>& segments() const { return segments_; }

  /// True if the allocation would have fit without the blocks for which `left_out` is true, by position. Counts only what
  /// is certain: holes of segments that serve the size and stream, and memory that the driver gets back. O(live blocks).
  [[nodiscard]] bool fits_without(const std::vector<bool>& left_out) const;

  /// True if PyTorch's allocator refused the memory.
  [[nodiscard]] bool is_of_framework() const { return failed_.layer == trace::layer::framework; }

 private:
  [[nodiscard]] bool is_subject(const block_record& block) const;
  [[nodiscard]] bool is_small(const segment_layout& segment) const;
  [[nodiscard]] bool serves(const segment_layout& segment) const;
  [[nodiscard]] std::uint64_t page_of(const segment_layout& segment) const;
  /// Bytes of whole free pages of a mapped segment.
  [[nodiscard]] std::uint64_t free_pages(const segment_layout& segment, const std::vector<bool>& left_out) const;
  [[nodiscard]] bool driver_refused() const;
  void find_free(time_range run, const trace::tables& tables);

  const trace::alloc_failed_event& failed_;
  std::span<const trace::alloc_failed_event> all_failed_;
  const memory_use& memory_;
  const time_ns time_;
  std::vector<std::size_t> live_;
  std::vector<segment_layout> segments_;
  bool mapped_ = false;
  bool records_driver_ = false;  ///< The recorder sees calls of the driver: it would have seen one that failed.
  std::uint64_t needed_ = 0;
  std::uint64_t room_ = 0;  ///< Bytes that the driver would certainly have given.
  std::uint64_t device_bytes_ = 0;
  bool free_known_ = false;
  std::uint64_t free_ = 0;
  std::uint64_t others_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t reserved_ = 0;
  memory_limit limit_ = memory_limit::unknown;
};

}  // namespace sluice::analysis
