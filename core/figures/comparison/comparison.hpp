#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figures/comparison/compared_side.hpp"
#include "core/figures/stack_tree.hpp"
#include "core/symbols/frames.hpp"

/// What differs between two sides of a comparison, in the form that the window shows. The numbers are those of
/// `compare` (../diff.hpp), which `sluice diff` prints.
namespace sluice::analysis {

enum class compared_unit : std::uint8_t { bytes, count, time, rate };

/// A figure of both sides.
struct compared_value {
  std::string label;  ///< "peak, GPU 0, framework: device".
  compared_unit unit = compared_unit::bytes;
  double before = 0;  ///< Bytes, a number, ns, or bytes per second. 0 if that side has no such figure.
  double after = 0;
};

/// The name of the group of what no module asked for.
inline constexpr const char* no_module = "no module";

/// Memory at the peak by what it is attributed to. Its stacks are ids of each side's own recording.
struct grown_group {
  std::string name;          ///< "forward", "GPT2MLP.forward", "activation".
  std::string place;         ///< "model.py:70"; empty if there is none.
  symbols::frame_line line;  ///< Of `place`, for a group of a line.
  category what = category::none;
  stack_figures before, after;
  std::vector<trace::stack_id> stacks_before, stacks_after;  ///< Empty for a category.
};

/// Call stacks of both sides in one tree.
struct difference_tree {
  /// `bytes` of a node is, over its stacks, the sum of the larger of the two sides: what a box is wide by. Children are
  /// sorted by it.
  stack_tree tree;
  std::vector<symbols::frame_line> lines;  ///< By `stack_node::line`.
  std::vector<std::uint64_t> before;       ///< Bytes of each node.
  std::vector<std::uint64_t> after;
};

/// The memory of one device, layer and kind.
struct memory_difference {
  std::string label;  ///< "GPU 0, framework: device"
  trace::layer layer = trace::layer::driver;
  memory_statistics before, after;   ///< All zero if that side has no such memory.
  std::vector<grown_group> lines;    ///< Largest difference first.
  std::vector<grown_group> modules;  ///< Empty if no stack names one.
  bool by_module = false;            ///< More than half of what differs is in modules that have a name: they tell most.
  std::vector<grown_group> categories;  ///< Empty for a layer without tensors.
  difference_tree flames;               ///< Only a root if neither side has a stack.
};

struct comparison {
  std::vector<compared_value> values;
  std::vector<memory_difference> memory;  ///< The innermost layer of a device first, then by the larger peak.
};

/// A side and the names of its recording. Everything referred to must outlive the call.
struct named_side {
  const compared_side& side;
  const trace::tables& tables;
  symbols::frame_book& names;
};

struct comparison_options {
  device_match devices = device_match::by_role;
  bool libraries = false;  ///< Keep frames of libraries in trees, beside the innermost one of each stack.
};

/// Compares two sides. O(frames of all stacks); looks up native symbols. If `cancelled` is set, the result is not whole.
[[nodiscard]] comparison make_comparison(const named_side& before, const named_side& after,
                                         const comparison_options& how, const std::atomic<bool>& cancelled);

/// Merges the stacks of `changes` into one tree. O(frames).
[[nodiscard]] difference_tree merge_changes(const std::vector<stack_change>& changes, bool libraries);

}  // namespace sluice::analysis
