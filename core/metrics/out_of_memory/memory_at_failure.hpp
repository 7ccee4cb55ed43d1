#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/index/event_store.hpp"
#include "core/metrics/out_of_memory/out_of_memory.hpp"
#include "core/metrics/statistics/fragmentation.hpp"

namespace sluice::metrics {

/// The layout of the memory in which an allocation failed, at the time of the failure. Private to core/metrics.
class memory_at_failure {
 public:
  /// `store` must cover the time of the failure and outlive this object. `all_failed`: all failures of the recording.
  memory_at_failure(const trace::alloc_failed_event& failed, std::span<const trace::alloc_failed_event> all_failed,
                    const index::event_store& store, time_range run, const fragmentation_builder& segments,
                    const trace::tables& tables);

  /// Sets the members of `into` about the limit that was hit, and about free and used memory.
  void describe(out_of_memory& into) const;

  /// The live blocks of this memory, as positions in `memory_use::blocks()`.
  [[nodiscard]] const std::vector<std::size_t>& live() const { return live_; }
  [[nodiscard]] const std::vector<segment_layout>& segments() const { return segments_; }

  /// True if the allocation would have fit without some of the blocks. A block is left out if its element in
  /// `left_out`, which is indexed by position, is true. Counts only space that is certain to be usable: holes of
  /// segments that serve requests of this size and stream, and memory returned to the driver. O(live blocks).
  [[nodiscard]] bool fits_without(const std::vector<bool>& left_out) const;

  /// True if PyTorch's allocator failed to provide the memory.
  [[nodiscard]] bool is_of_framework() const { return failed_.layer == trace::layer::framework; }

 private:
  [[nodiscard]] bool is_subject(const index::block_record& block) const;
  [[nodiscard]] bool is_small(const segment_layout& segment) const;
  [[nodiscard]] bool serves(const segment_layout& segment) const;
  [[nodiscard]] std::uint64_t find_page(const segment_layout& segment) const;
  /// Total size of the free pages of a mapped segment.
  [[nodiscard]] std::uint64_t free_pages(const segment_layout& segment, const std::vector<bool>& left_out) const;
  [[nodiscard]] bool driver_refused() const;
  struct free_memory {
    const index::device_samples::sample* from;
    std::uint64_t free;     ///< Bytes free at the failure.
    std::uint64_t changed;  ///< Bytes that the driver gave or took back between the sample and the failure.
  };
  [[nodiscard]] free_memory estimate_free(const index::device_samples::sample& from, time_range run) const;
  [[nodiscard]] std::optional<free_memory> choose_sample(const index::device_samples& samples, time_range run,
                                                         bool refused) const;
  void find_free(time_range run, const trace::tables& tables);

  const trace::alloc_failed_event& failed_;
  std::span<const trace::alloc_failed_event> all_failed_;
  const index::memory_use& memory_;
  const time_ns time_;
  std::vector<std::size_t> live_;
  std::vector<segment_layout> segments_;
  bool mapped_ = false;
  /// True if driver calls are recorded, so that a failed call would have been recorded, too.
  bool records_driver_ = false;
  std::uint64_t needed_ = 0;
  std::uint64_t room_ = 0;  ///< Bytes that the driver could certainly have provided.
  std::uint64_t device_bytes_ = 0;
  bool free_known_ = false;
  std::uint64_t free_ = 0;
  std::uint64_t others_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint64_t releasable_ = 0;  ///< As in `out_of_memory`.
  memory_limit limit_ = memory_limit::unknown;
};

}  // namespace sluice::metrics
