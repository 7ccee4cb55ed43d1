#pragma once

#include <cstdint>
#include <vector>

#include "core/figures/out_of_memory/memory_at_failure.hpp"
#include "core/index/tensor_facts.hpp"

namespace sluice::analysis {

/// What a live block was needed for when an allocation failed.
enum class block_state : std::uint8_t {
  needed,     ///< Used lately, or nothing is known of uses.
  unused,     ///< Nothing used it any more: see `block_uses`.
  idle_state  ///< Weights, optimizer state and the like that nothing has used in this step so far, or for long.
};

/// Judges the live blocks of `memory_at_failure` by their uses. Private to core/figures.
///
/// After the failure most programs end, so it does not count that nothing used a block from then on. A block is unused if
/// no kernel or copy used it in the step before, nor since; without steps, if at least `idle_works` launches and copies of
/// others and a tenth of the time since the first allocation passed. Weights and optimizer state, which come back, are idle
/// instead. Also unused is what was idle for `held_works` launches and copies before and was kept, unused, for as many after.
class block_uses {
 public:
  block_uses(const memory_at_failure& at, const index& from, const tensor_facts& facts, trace::process_id process,
             time_ns time, time_range run);

  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] block_state state_of(std::size_t block) const;
  /// The last use before the failure; unknown: none.
  [[nodiscard]] time_ns last_use(std::size_t block) const;
  [[nodiscard]] category category_of(std::size_t block) const;
  /// True if the block was made in the step of the failure; without steps, if it is an activation or input.
  [[nodiscard]] bool is_of_this_step(std::size_t block) const;
  /// True if the bytes grow with the batch: activations, inputs, and workspaces that do not stay.
  [[nodiscard]] bool grows_with_batch(std::size_t block) const;

  static constexpr std::uint64_t idle_works = 24;
  static constexpr std::uint64_t held_works = 8;

 private:
  const index& from_;
  const tensor_facts& facts_;
  const time_ns time_;
  const time_range run_;
  bool known_ = false;
  const step_list* steps_ = nullptr;
  time_ns step_begin_ = trace::unknown_time;  ///< Of the step of the failure.
  std::size_t steps_idle_ = 2;                ///< An unused block was last used before so many steps began.
  time_ns began_ = 0;                         ///< The first birth of a block that is live.
};

}  // namespace sluice::analysis
