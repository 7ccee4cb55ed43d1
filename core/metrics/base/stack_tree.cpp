#include "core/metrics/base/stack_tree.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace sluice::metrics {
namespace {

/// A node while the tree is being built.
struct growing_node {
  std::uint32_t parent = 0;
  std::uint32_t depth = 0;
  std::uint32_t line = 0;
  stack_metrics own;
  stack_metrics all;
};

class merger {
 public:
  merger(const trace::tables& tables, const stack_lines& lines, stack_order order)
      : tables_(tables), lines_(lines), order_(order) {
    nodes_.emplace_back();
  }

  void add(const stack_part& part) {
    std::uint32_t at = 0;
    const bool known = part.stack != trace::stack_id::none;
    if (known) {
      list_lines(part.stack);
    } else {
      path_.assign(1, lines_.none);
    }
    if (part.last) path_.insert(path_.begin(), *part.last);
    if (known && lines_.group) at = child(0, lines_.group(part.stack));
    if (order_ == stack_order::from_caller) std::reverse(path_.begin(), path_.end());
    for (const std::uint32_t line : path_) {
      const std::uint32_t next = child(at, line);
      if (next == at) break;
      at = next;
    }
    nodes_[at].own.add(part.metrics);
  }

  stack_tree finish(stack_weight by) {
    // In the array, children come after their parents.
    for (growing_node& node : nodes_) node.all = node.own;
    for (std::size_t i = nodes_.size(); i-- > 1;) nodes_[nodes_[i].parent].all.add(nodes_[i].all);
    std::vector<std::vector<std::uint32_t>> children(nodes_.size());
    for (std::uint32_t i = 1; i < nodes_.size(); ++i) children[nodes_[i].parent].push_back(i);
    for (auto& each : children)
      std::stable_sort(each.begin(), each.end(), [&](std::uint32_t a, std::uint32_t b) {
        return get_weight(nodes_[a].all, by) > get_weight(nodes_[b].all, by);
      });
    return in_preorder(children);
  }

 private:
  /// Returns the child of `parent` for a line; `parent` itself if a limit is reached.
  std::uint32_t child(std::uint32_t parent, std::uint32_t line) {
    const std::uint64_t key = std::uint64_t{parent} << 32 | line;
    const auto known = children_.find(key);
    if (known != children_.end()) return known->second;
    if (nodes_.size() >= stack_tree::max_nodes || nodes_[parent].depth >= stack_tree::max_depth) {
      cut_ = true;
      return parent;
    }
    const auto output = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({parent, nodes_[parent].depth + 1, line, {}, {}});
    children_.emplace(key, output);
    return output;
  }

  const std::vector<std::uint32_t>& get_lines(trace::frame_id frame) {
    const auto [place, fresh] = by_frame_.try_emplace(raw(frame));
    if (fresh) place->second = lines_.look_up(frame);
    return place->second;
  }

  bool folds(std::uint32_t line) {
    const auto [place, fresh] = folds_.try_emplace(line);
    if (fresh) place->second = lines_.folded(line);
    return place->second;
  }

  /// Collects the lines of a stack in `path_`, innermost first.
  void list_lines(trace::stack_id id) {
    path_.clear();
    seen_.clear();
    while (id != trace::stack_id::none) {
      const trace::stack_row* row = tables_.stacks.find(id);
      if (row == nullptr) break;
      if (path_.size() + 1 >= stack_tree::max_depth || !seen_.insert(raw(id)).second) {
        path_.push_back(lines_.cut);
        cut_ = true;
        break;
      }
      const auto& lines = get_lines(row->frame);
      path_.insert(path_.end(), lines.begin(), lines.end());
      id = row->parent;
    }
    if (path_.empty()) path_.push_back(lines_.none);  // The file does not contain this stack.
    if (lines_.folded)
      path_.erase(std::remove_if(path_.begin() + 1, path_.end(), [&](auto l) { return folds(l); }), path_.end());
  }

  stack_tree in_preorder(const std::vector<std::vector<std::uint32_t>>& children) const {
    stack_tree tree;
    tree.cut = cut_;
    tree.nodes.reserve(nodes_.size());
    struct visit {
      std::uint32_t node = 0;    ///< The node's index while the tree is being built.
      std::uint32_t parent = 0;  ///< The index of the node's parent in the finished tree.
    };
    std::vector<visit> waiting{{0, 0}};
    while (!waiting.empty()) {
      const visit now = waiting.back();
      waiting.pop_back();
      const auto place = static_cast<std::uint32_t>(tree.nodes.size());
      const growing_node& node = nodes_[now.node];
      tree.nodes.push_back({now.parent, place + 1, node.depth, node.line, node.all, node.own});
      const auto& below = children[now.node];
      for (auto each = below.rbegin(); each != below.rend(); ++each) waiting.push_back({*each, place});
    }
    for (std::size_t i = tree.nodes.size(); i-- > 1;) {
      stack_node& parent = tree.nodes[tree.nodes[i].parent];
      parent.end = std::max(parent.end, tree.nodes[i].end);
    }
    return tree;
  }

  const trace::tables& tables_;
  const stack_lines& lines_;
  const stack_order order_;
  std::vector<growing_node> nodes_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  ///< Indexed by parent and line.
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_frame_;
  std::unordered_map<std::uint32_t, bool> folds_;
  std::vector<std::uint32_t> path_;
  std::unordered_set<std::uint64_t> seen_;
  bool cut_ = false;
};

}  // namespace

std::uint64_t get_weight(const stack_metrics& metrics, stack_weight by) {
  switch (by) {
    case stack_weight::bytes:
      return metrics.bytes;
    case stack_weight::count:
      return metrics.count;
    case stack_weight::busy:
      return static_cast<std::uint64_t>(metrics.busy);
    case stack_weight::alone:
      return static_cast<std::uint64_t>(metrics.alone);
  }
  return 0;
}

stack_tree merge_stacks(std::vector<stack_part> parts, const trace::tables& tables, const stack_lines& lines,
                        stack_order order, stack_weight by, const std::atomic<bool>& cancelled) {
  std::stable_sort(parts.begin(), parts.end(), [by](const stack_part& a, const stack_part& b) {
    return get_weight(a.metrics, by) > get_weight(b.metrics, by);
  });
  merger tree(tables, lines, order);
  std::size_t steps = 0;
  for (const stack_part& part : parts) {
    if ((++steps & 0xffU) == 0 && cancelled) break;
    tree.add(part);
  }
  return tree.finish(by);
}

stack_tree merge_stacks(const stack_use& use, const trace::tables& tables, const stack_lines& lines, stack_order order,
                        stack_weight by, const std::atomic<bool>& cancelled) {
  std::vector<stack_part> parts;
  parts.reserve(use.shares.size());
  for (const stack_share& share : use.shares) parts.push_back({share.stack, std::nullopt, share.metrics});
  return merge_stacks(std::move(parts), tables, lines, order, by, cancelled);
}

}  // namespace sluice::metrics
