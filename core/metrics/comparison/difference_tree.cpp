#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/base/saturating.hpp"
#include "core/metrics/comparison/comparison.hpp"

namespace sluice::metrics {
namespace {

constexpr std::string_view no_stack = "(no stack recorded)";

/// A node while the tree is being built. Nodes are in order of appearance.
struct growing_node {
  std::uint32_t line = 0;
  std::uint32_t depth = 0;
  std::vector<std::uint32_t> children;
  std::uint64_t before = 0, after = 0, weight = 0;
  std::uint64_t count = 0;
};

class tree_of_changes {
 public:
  explicit tree_of_changes(bool libraries) : libraries_(libraries) { nodes_.emplace_back(); }

  void add(const stack_change& change) {
    std::uint32_t at = 0;
    count(at, change);
    if (change.stack.empty()) {
      symbols::frame_line none;
      none.function = no_stack;
      none.own = true;
      return count(child(at, none), change);
    }
    for (std::size_t i = change.stack.size(); i-- > 0;) {
      const symbols::frame_line& line = change.stack[i];
      if (i > 0 && !libraries_ && !line.own) continue;
      const std::uint32_t next = child(at, line);
      if (next == at) break;
      at = next;
      count(at, change);
    }
  }

  difference_tree take() {
    difference_tree tree;
    tree.lines = std::move(lines_);
    // Traverse the tree in preorder, without recursion because stacks can be 2048 frames deep.
    struct visit {
      std::uint32_t node = 0;
      std::uint32_t parent = 0;
      bool ends = false;
    };
    std::vector<visit> todo{{0, 0, false}};
    while (!todo.empty()) {
      const visit now = todo.back();
      todo.pop_back();
      if (now.ends) {
        tree.tree.nodes[now.parent].end = static_cast<std::uint32_t>(tree.tree.nodes.size());
        continue;
      }
      growing_node& source = nodes_[now.node];
      const auto place = static_cast<std::uint32_t>(tree.tree.nodes.size());
      stack_node& node = tree.tree.nodes.emplace_back();
      node.parent = now.parent;
      node.depth = source.depth;
      node.line = source.line;
      node.all.bytes = source.weight;
      node.all.count = source.count;
      tree.before.push_back(source.before);
      tree.after.push_back(source.after);
      todo.push_back({0, place, true});
      // The child pushed last is visited first.
      std::stable_sort(source.children.begin(), source.children.end(),
                       [this](std::uint32_t a, std::uint32_t b) { return nodes_[a].weight < nodes_[b].weight; });
      for (const std::uint32_t each : source.children) todo.push_back({each, place, false});
    }
    tree.tree.cut = cut_;
    return tree;
  }

 private:
  void count(std::uint32_t node, const stack_change& change) {
    growing_node& subject = nodes_[node];
    subject.before = saturating_sum(subject.before, change.before.bytes);
    subject.after = saturating_sum(subject.after, change.after.bytes);
    subject.weight = saturating_sum(subject.weight, std::max(change.before.bytes, change.after.bytes));
    subject.count = saturating_sum(subject.count, std::max(change.before.count, change.after.count));
  }

  /// Returns the child of `at` for this line; `at` itself if the tree is full.
  std::uint32_t child(std::uint32_t at, const symbols::frame_line& line) {
    const auto [place, fresh_line] = by_text_.try_emplace(text_to_match(line), lines_.size());
    if (fresh_line) lines_.push_back(line);
    const std::uint64_t key = (std::uint64_t{at} << 32U) | place->second;
    if (const auto found = by_parent_.find(key); found != by_parent_.end()) return found->second;
    if (nodes_.size() >= stack_tree::max_nodes || nodes_[at].depth >= stack_tree::max_depth) {
      cut_ = true;
      return at;
    }
    const auto output = static_cast<std::uint32_t>(nodes_.size());
    by_parent_.emplace(key, output);
    nodes_[at].children.push_back(output);
    growing_node& node = nodes_.emplace_back();
    node.line = static_cast<std::uint32_t>(place->second);
    node.depth = nodes_[at].depth + 1;
    return output;
  }

  const bool libraries_;
  bool cut_ = false;
  std::vector<growing_node> nodes_;
  std::vector<symbols::frame_line> lines_;
  std::unordered_map<std::string, std::size_t> by_text_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_parent_;
};

}  // namespace

difference_tree merge_changes(const std::vector<stack_change>& changes, bool libraries) {
  // Add the heaviest stacks first, so that the limits cut off only light stacks.
  std::vector<const stack_change*> order;
  for (const stack_change& each : changes) order.push_back(&each);
  const auto weight = [](const stack_change* each) { return std::max(each->before.bytes, each->after.bytes); };
  std::stable_sort(order.begin(), order.end(),
                   [&](const stack_change* a, const stack_change* b) { return weight(a) > weight(b); });
  tree_of_changes of_changes(libraries);
  for (const stack_change* each : order) of_changes.add(*each);
  return of_changes.take();
}

}  // namespace sluice::metrics
