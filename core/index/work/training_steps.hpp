#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "core/index/memory/memory_use.hpp"
#include "core/index/work/steps.hpp"

/// Finds the steps of a program that gives none itself: from its allocations, Python stacks, graph launches and kernels.
namespace sluice::analysis {

/// What a block's allocation says about the program's progress.
enum class step_phase : std::uint8_t {
  other,      ///< Nothing: data, or code that no rule knows.
  model,      ///< Inside a module's forward pass.
  backward,   ///< In a backward pass.
  optimizer,  ///< In an optimizer's step, or in what belongs to it: clipping and scaling gradients.
};

/// A block and what it says.
struct phased_block {
  const block_record* block = nullptr;
  step_phase phase = step_phase::other;
};

/// Finds the steps of a training loop: a forward pass, a backward pass, and what follows until the next forward pass.
/// `blocks` are a process's blocks of one layer in order of birth.
///
/// A step ends between two backward passes if in between an optimizer allocates, or the gradients of the first pass are
/// freed; without either, gradients are summed up over several passes. If neither is seen three times, or neither goes on
/// until the last passes, each pass is a step.
/// Returns nothing for fewer than three steps. Known error: passes are counted as steps if a program sums up gradients,
/// zeroes them in place and has an optimizer that allocates nothing. O(blocks * log blocks).
[[nodiscard]] step_list find_training_steps(std::span<const phased_block> blocks, time_ns end);

/// A line of code in a stack.
struct code_line {
  std::uint64_t function = 0;  ///< Equal for lines of the same function.
  std::int64_t line = 0;
  friend bool operator==(const code_line&, const code_line&) = default;
};
using lines_of_block = std::function<std::span<const code_line>(const block_record&)>;

/// Finds the iterations of the outermost loop in the program's Python code. A loop shows when execution returns to an
/// earlier line of a function, three times or more; a step begins at each return. The outermost such function counts. `lines_of(block)`: the block's stack,
/// outermost frame first, up to the first frame of a module's forward pass, which loops over layers. Works where sizes
/// vary, as in servers. O(blocks * depth).
[[nodiscard]] step_list find_loop(std::span<const block_record* const> blocks, const lines_of_block& lines_of,
                                  time_ns end);

/// Finds the steps of a program that launches CUDA graphs over and over, which allocates nothing then: a step begins at
/// each launch of the graph that begins the sequence. `launches`: those of a process after its last backward pass, in
/// order of time. Returns nothing for fewer than three steps. O(launches).
[[nodiscard]] step_list find_graph_steps(std::span<const graph_launch> launches, time_ns end);

class process_clues;

/// Everything from which the steps of a process are inferred.
struct step_evidence {
  trace::process_id process{};
  std::span<const block_record* const> blocks;  ///< Of one layer, in order of birth.
  std::span<const graph_launch> launches;       ///< In order of time.
  std::span<const kernel_start> kernels;        ///< The latest, in order of time.
  std::span<const time_ns> kernel_times;        ///< Of all kernels, or of an even sample, in order.
  const process_clues& clues;
  const trace::tables& tables;
  time_ns end = 0;  ///< Of the recording.
};

/// From how many blocks steps are inferred at a time, in a process that has many.
struct step_window {
  std::size_t blocks = std::size_t{1} << 17;
  std::size_t behind = std::size_t{1} << 16;  ///< So many that follow must be known: then it is known which were freed.
  [[nodiscard]] std::size_t due() const { return blocks + behind; }
  /// So many blocks of each window are not looked at again.
  [[nodiscard]] std::size_t least_done() const { return std::max<std::size_t>(1, blocks / 16); }
};

/// Infers the steps of a process of any length, window by window, so that steps that were found do not change any more. Of
/// each window the last steps are looked at again together with the next one's.
class steps_in_windows {
 public:
  /// Call when there are `size.due()` blocks. Infers the steps of the first `size.blocks`. Returns how many blocks are not
  /// needed any more, at least `size.least_done()`: leave them out at the next call. O(blocks of the window * log).
  [[nodiscard]] std::size_t take(const step_evidence& by, const step_window& size);
  /// Infers the steps of the blocks that are left, for good: the process ended at `by.end`. No launches, kernels or blocks are
  /// needed any more.
  void finish(const step_evidence& by);
  /// Launches and kernels before this time are needed no more.
  [[nodiscard]] time_ns from() const { return from_; }
  /// All steps, with those of the blocks that are left.
  [[nodiscard]] step_list with_rest(const step_evidence& by) const;

 private:
  std::vector<step> found_;  ///< With those at its end that are to be looked at again.
  std::size_t held_ = 0;     ///< How many these are.
  time_ns from_ = -latest_time;
};

/// Infers the steps: of a training loop; else by the outermost loop of the Python code; else by the pattern of
/// allocations; else by graph launches; else by the pattern of kernels. Except for a training, the steps must hold half
/// of the program's kernels. If a program trains to warm up and then launches graphs, by these. A program with many blocks
/// is looked at in windows.
[[nodiscard]] step_list infer_steps(const step_evidence& by, const step_window& size = {});

}  // namespace sluice::analysis
