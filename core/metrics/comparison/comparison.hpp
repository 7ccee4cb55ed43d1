#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/metrics/base/stack_tree.hpp"
#include "core/metrics/comparison/compared_side.hpp"
#include "core/symbols/frames.hpp"

/// Computes the differences between two recordings or ranges, as the window shows them. The numbers are those of
/// `compare` (../diff.hpp), which `sluice diff` prints.
namespace sluice::metrics {

enum class compared_unit : std::uint8_t { bytes, count, time, rate };

/// One metric, with the values of both sides.
struct compared_value {
  std::string label;  ///< The name of the metric, such as "peak, GPU 0, framework: device".
  compared_unit unit = compared_unit::bytes;
  double before = 0;  ///< In bytes, ns or bytes per second, or a count; 0 if that side does not have the metric.
  double after = 0;
};

/// The number of causes of idle time that a comparison lists for each device, largest change first.
inline constexpr std::size_t max_idle_causes = 12;

/// The name of the group of memory that no module allocated.
inline constexpr const char* no_module = "no module";

/// A group of memory at the peak. The stacks of each side are ids in the recording of that side.
struct grown_group {
  /// The line's function, the module or the category: "forward", "GPT2MLP.forward", "activation".
  std::string name;
  std::string place;         ///< The place, such as "model.py:70". Empty if the group has no place.
  symbols::frame_line line;  ///< The line at `place`; set only if the group is a line.
  index::category category = index::category::none;
  stack_metrics before, after;
  /// Ids of the group's stacks on each side. Empty for a category.
  std::vector<trace::stack_id> stacks_before, stacks_after;
};

/// The call stacks of both sides, merged into one tree.
struct difference_tree {
  /// The `bytes` of a node is a sum over the node's stacks. Each stack adds the larger value of the two sides. The sum
  /// determines the width of the node's box and the order of children.
  stack_tree tree;
  std::vector<symbols::frame_line> lines;  ///< The text of each line, indexed by `stack_node::line`.
  std::vector<std::uint64_t> before;       ///< Bytes of each node on the first side, in the order of `tree.nodes`.
  std::vector<std::uint64_t> after;        ///< Bytes of each node on the second side.
};

/// The difference in the memory of one device, layer and kind.
struct memory_difference {
  std::string label;  ///< The name of the memory, such as "GPU 0, framework: device".
  trace::layer layer = trace::layer::driver;
  memory_statistics before, after;   ///< All members are zero if that side has no such memory.
  std::vector<grown_group> lines;    ///< Largest difference first.
  std::vector<grown_group> modules;  ///< Empty if no stack names a module.
  /// True if more than half of the difference is in named modules, so that grouping by module is the most informative.
  bool by_module = false;
  std::vector<grown_group> categories;  ///< Empty for a layer without tensors.
  difference_tree flames;               ///< The flame graph; contains only a root if neither side has a stack.
};

/// The result of `make_comparison`.
struct comparison {
  std::vector<compared_value> values;
  /// Sorted by layer, innermost first, then by peak, largest first.
  std::vector<memory_difference> memory;
};

/// One side, and the names in its recording. All references must outlive the call.
struct named_side {
  const compared_side& side;
  const trace::tables& tables;
  symbols::frame_cache& names;
};

struct comparison_options {
  device_match devices = device_match::by_role;
  /// If true, trees keep all library frames, not only the innermost library frame of each stack.
  bool libraries = false;
};

/// Compares two sides, and looks up native symbols. O(frames of all stacks). If `cancelled` is set, the result is
/// incomplete.
[[nodiscard]] comparison make_comparison(const named_side& before, const named_side& after,
                                         const comparison_options& options, const std::atomic<bool>& cancelled);

/// Merges the stacks of `changes` into one tree. `libraries`: see `comparison_options`. O(frames).
[[nodiscard]] difference_tree merge_changes(const std::vector<stack_change>& changes, bool libraries);

}  // namespace sluice::metrics
