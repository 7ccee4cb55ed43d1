#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "core/index/memory/memory_use.hpp"
#include "core/index/work/steps.hpp"

/// Finds the steps of a program that does not mark its steps. Uses the program's allocations, Python stacks, graph
/// launches and kernels.
namespace sluice::index {

/// What the program was doing when it allocated a block.
enum class step_phase : std::uint8_t {
  other,      ///< Loading data, or running code that no rule recognizes.
  model,      ///< Inside a module's forward pass.
  backward,   ///< In a backward pass.
  optimizer,  ///< In an optimizer's step, or in related code that clips or scales gradients.
};

/// A block and the phase in which it was allocated.
struct phased_block {
  const block_record* block = nullptr;
  step_phase phase = step_phase::other;
};

/// Finds the steps of a training loop. A step is a forward pass, a backward pass, and everything up to the next forward
/// pass. `blocks` are the blocks of one process and layer, in order of allocation.
///
/// A step ends between two backward passes if an optimizer allocates between them, or if the gradients of the first
/// pass are freed between them. If neither happens, the program accumulates gradients over several passes. If neither
/// is seen three times, or neither continues until the last passes, each pass counts as a step. Returns no steps if
/// there are fewer than three steps. Known error: each pass counts as a step if a program accumulates gradients, zeroes
/// them in place, and has an optimizer that allocates nothing. O(blocks * log blocks).
[[nodiscard]] step_list find_training_steps(std::span<const phased_block> blocks, time_ns end);

/// A line of code in a stack.
struct code_line {
  std::uint64_t function = 0;  ///< The same for all lines of one function.
  std::int64_t line = 0;
  friend bool operator==(const code_line&, const code_line&) = default;
};
using lines_of_block = std::function<std::span<const code_line>(const block_record&)>;

/// Finds the iterations of the outermost loop in the program's Python code. A loop is detected if execution returns to
/// an earlier line of a function at least three times, and a step starts at each return. If several functions have
/// loops, the outermost function decides. `get_lines(block)` returns the block's stack, outermost frame first, up to the
/// first frame of a module's forward pass (which loops over layers). This also works if sizes vary, as in servers.
/// O(blocks * depth).
[[nodiscard]] step_list find_loop(std::span<const block_record* const> blocks, const lines_of_block& get_lines,
                                  time_ns end);

/// Finds the steps of a program that repeatedly launches CUDA graphs and allocates nothing in between. A step starts at
/// each launch of the graph that comes first in the repeated sequence. `launches`: the launches of a process after its
/// last backward pass, in order of time. Returns no steps if there are fewer than three steps. O(launches).
[[nodiscard]] step_list find_graph_steps(std::span<const graph_launch> launches, time_ns end);

class process_clues;

/// The evidence from which the steps of a process are inferred.
struct step_evidence {
  trace::process_id process{};
  std::span<const block_record* const> blocks;  ///< The blocks of one layer, in order of allocation.
  std::span<const graph_launch> launches;       ///< In order of time.
  std::span<const kernel_start> kernels;        ///< The latest kernels, in order of time.
  std::span<const time_ns> kernel_times;        ///< The start times of all kernels, or of an even sample, in order.
  const process_clues& clues;
  const trace::tables& tables;
  time_ns end = 0;  ///< End of the recording.
};

/// The size of the windows of blocks in which steps are inferred, for a process with many blocks.
struct step_window {
  std::size_t blocks = std::size_t{1} << 17;
  std::size_t behind = std::size_t{1} << 16;  ///< The number of later blocks that must be known, so that the frees of
                                              ///< the window's blocks are known, too.
  [[nodiscard]] std::size_t due() const { return blocks + behind; }
  /// The minimum number of blocks of each window that are not examined again.
  [[nodiscard]] std::size_t min_done() const { return std::max<std::size_t>(1, blocks / 16); }
};

/// Infers the steps of a process of any length in windows of blocks, so that most steps are final early. Only the last
/// steps of each window are examined again, together with the steps of the next window.
class steps_in_windows {
 public:
  /// Infers the steps of the first `size.blocks` blocks. Must be called when `size.due()` blocks are available. Returns
  /// how many of the first blocks are no longer needed, at least `size.min_done()`. The caller must omit these blocks
  /// from the next call. O(blocks of the window * log).
  [[nodiscard]] std::size_t take(const step_evidence& by, const step_window& size);
  /// Infers the steps of the remaining blocks and makes them final, because the process has ended at `by.end`. The
  /// launches, kernels and blocks in `by` are not needed any more.
  void finish(const step_evidence& by);
  /// Returns the time before which launches and kernels are no longer needed.
  [[nodiscard]] time_ns from() const { return from_; }
  /// Returns all steps found so far, plus the steps of the remaining blocks.
  [[nodiscard]] step_list with_rest(const step_evidence& by) const;

 private:
  std::vector<step> found_;  ///< The last `held_` of these steps are examined again.
  std::size_t held_ = 0;     ///< The number of the last steps that are examined again.
  time_ns from_ = -latest_time;
};

/// Infers the steps of a process from the first of these that works: a training loop, the outermost loop of the Python
/// code, the pattern of allocations, graph launches, the pattern of kernels. Except for a training loop, the steps must
/// contain half of the program's kernels. If a program first trains, to warm up, and then launches graphs, the graph
/// launches decide. A program with many blocks is examined in windows.
[[nodiscard]] step_list infer_steps(const step_evidence& by, const step_window& size = {});

}  // namespace sluice::index
