#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/index/curves.hpp"
#include "core/timeline/sampled_bin.hpp"
#include "core/trace/model/tables.hpp"

/// Stacks of curves, which are drawn on top of one another.
///
/// A pixel covers a time span in which memory can move from one curve to another, when a block is freed and another
/// block takes its bytes. The sum of the curves' maxima then counts these bytes twice. Each bin therefore also stores
/// the values of the curves at one moment, when their sum is highest.
namespace sluice::index {

/// The stacks in a list of curves. Each device has one stack for the driver layer, with untracked memory on top, and
/// one stack for each higher layer. Curves by category belong to the stack of their layer.
class curve_stacks {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;

  /// O(curves * log curves).
  curve_stacks(std::span<const trace::curve_row> curves, const trace::tables& tables);

  [[nodiscard]] std::uint32_t find_stack(std::size_t curve) const { return stacks_[curve]; }
  /// For each stack, the numbers of the curves whose values add up to it. Curves by category are parts of these curves.
  [[nodiscard]] std::span<const std::vector<std::uint32_t>> counted() const { return counted_; }
  [[nodiscard]] std::size_t size() const { return counted_.size(); }

 private:
  std::vector<std::uint32_t> stacks_;  ///< The stack of each curve, indexed by the curve's number.
  std::vector<std::vector<std::uint32_t>> counted_;
};

/// The moments at which the stacks of an index are highest, one moment per stack and bin.
class stack_peaks {
 public:
  /// Divides `over` into `width` equal bins. `wanted`: the numbers of the curves whose stacks are needed. A moment is
  /// exact if at most one counted curve varies in the bin; otherwise it is chosen from the moments at which one of the
  /// curves is highest. O(counted curves * width * log steps).
  stack_peaks(const curve_stacks& stacks, std::span<const index_curve> curves, std::span<const std::uint32_t> wanted,
              time_range over, std::uint32_t width);

  /// Returns the value of `curves[number]` at the peak of its stack in bin `bin`. `part`: the curve's extent in the
  /// bin.
  [[nodiscard]] double value(std::size_t number, std::uint32_t bin, const timeline::extent& part) const;

 private:
  const curve_stacks& stacks_;
  std::span<const index_curve> curves_;
  std::vector<std::vector<time_ns>> moments_;  ///< For each stack, the moment in each bin. Empty for a stack that is
                                               ///< not wanted.
};

/// Samples the `curves` whose numbers are in `wanted` in `width` equal bins. O(wanted * width * log steps).
[[nodiscard]] std::vector<std::vector<timeline::sampled_bin>> sample_curves(std::span<const index_curve> curves,
                                                                            const curve_stacks& stacks,
                                                                            std::span<const std::uint32_t> wanted,
                                                                            time_range over, std::uint32_t width);

}  // namespace sluice::index
