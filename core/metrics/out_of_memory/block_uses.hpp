#pragma once

#include <cstdint>
#include <vector>

#include "core/index/tensor_facts.hpp"
#include "core/metrics/out_of_memory/memory_at_failure.hpp"

namespace sluice::metrics {

/// Whether a live block was needed when an allocation failed.
enum class block_state : std::uint8_t {
  needed,     ///< The block was used recently, or its uses are unknown.
  unused,     ///< The block is no longer used: see `block_uses`.
  idle_state  ///< Weights, optimizer state and the like that were not used so far in this step, or not for a long time.
};

/// Classifies the live blocks of a `memory_at_failure` by their uses. Private to core/metrics.
///
/// Most programs end after the failure, so the absence of uses after the failure means nothing. A block is unused if no
/// kernel or copy used it in the step before the failure or later. Without steps, a block is unused if at least
/// `idle_works` other launches and copies and a tenth of the time since the first allocation have passed since its last
/// use. Weights and optimizer state are idle instead, because they are used again. A block is also unused if it was
/// idle for `held_works` launches and copies before the failure and was kept, unused, for as many after the failure.
class block_uses {
 public:
  block_uses(const memory_at_failure& at, const index::event_store& store, const index::tensor_facts& facts,
             trace::process_id process, time_ns time, time_range run);

  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] block_state get_state(std::size_t block) const;
  /// Returns the last use of the block before the failure; `unknown_time` if there is none.
  [[nodiscard]] time_ns last_use(std::size_t block) const;
  [[nodiscard]] index::category find_category(std::size_t block) const;
  /// True if the block was allocated in the step of the failure. Without steps, true if the block is an activation or
  /// input.
  [[nodiscard]] bool is_of_this_step(std::size_t block) const;
  /// True if the block's size grows with the batch size. Such blocks are activations, inputs, and short-lived
  /// workspaces.
  [[nodiscard]] bool grows_with_batch(std::size_t block) const;

  static constexpr std::uint64_t idle_works = 24;
  static constexpr std::uint64_t held_works = 8;

 private:
  const index::event_store& from_;
  const index::tensor_facts& facts_;
  const time_ns time_;
  const time_range run_;
  bool known_ = false;
  const index::step_list* steps_ = nullptr;
  time_ns step_begin_ = trace::unknown_time;  ///< Start of the step in which the allocation failed.
  /// A block is unused if it was last used before the start of the last this many steps.
  std::size_t steps_idle_ = 2;
  time_ns began_ = 0;  ///< The earliest allocation of a live block.
};

}  // namespace sluice::metrics
