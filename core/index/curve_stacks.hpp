#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/index/curves.hpp"
#include "core/timeline/sampled_bin.hpp"
#include "core/trace/model/tables.hpp"

/// Curves that are drawn on top of one another.
///
/// A pixel covers a time in which memory moves from one curve to another: a block is freed, another one takes its
/// bytes. The sum of the curves' maxima then counts the bytes twice. So each bin also has its curves' values at one
/// moment, that at which their sum is highest.
namespace sluice::analysis {

/// The stacks among a list of curves. Each device has one stack for the driver's layer, with untracked memory on top, and
/// one for each layer above the driver's. Curves by category belong to the stack of their layer.
class curve_stacks {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;

  /// O(curves * log curves).
  curve_stacks(std::span<const trace::curve_row> curves, const trace::tables& tables);

  [[nodiscard]] std::uint32_t stack_of(std::size_t curve) const { return stacks_[curve]; }
  /// The numbers of the curves whose values add up to each stack. Curves by category are parts of these.
  [[nodiscard]] std::span<const std::vector<std::uint32_t>> counted() const { return counted_; }
  [[nodiscard]] std::size_t size() const { return counted_.size(); }

 private:
  std::vector<std::uint32_t> stacks_;  ///< By curve.
  std::vector<std::vector<std::uint32_t>> counted_;
};

/// The moments at which the stacks of an index are highest, in each of some bins.
class stack_peaks {
 public:
  /// For `width` equal bins over `over`. `wanted`: the numbers of the curves whose stacks are needed. The moment is
  /// exact if at most one counted curve varies in the bin; of several, it is the best of the moments at which one of them is
  /// highest.
  /// O(counted curves * width * log steps).
  stack_peaks(const curve_stacks& stacks, std::span<const index_curve> curves, std::span<const std::uint32_t> wanted,
              time_range over, std::uint32_t width);

  /// The value of `curves[number]` at the peak of its stack in the bin, whose extent for the curve is `part`.
  [[nodiscard]] double value(std::size_t number, std::uint32_t bin, const timeline::extent& part) const;

 private:
  const curve_stacks& stacks_;
  std::span<const index_curve> curves_;
  std::vector<std::vector<time_ns>> moments_;  ///< For each stack and bin; empty for a stack that is not wanted.
};

/// Samples `curves[each of wanted]` in `width` equal bins over `over`. O(wanted * width * log steps).
[[nodiscard]] std::vector<std::vector<sampled_bin>> sample_curves(std::span<const index_curve> curves,
                                                                  const curve_stacks& stacks,
                                                                  std::span<const std::uint32_t> wanted,
                                                                  time_range over, std::uint32_t width);

}  // namespace sluice::analysis
