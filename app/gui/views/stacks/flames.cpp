#include "app/gui/views/stacks/flames.hpp"

#include <algorithm>

namespace sluice::gui {
namespace {

bool is_same(const symbols::frame_line& a, const symbols::frame_line& b) {
  return a.line == b.line && a.function == b.function && a.file == b.file && a.address == b.address;
}

/// Walks from a node to the child with the next frame of the stack, as far as possible.
std::vector<std::uint32_t> walk(const query::stack_view& view, std::uint32_t node,
                                const std::vector<const symbols::frame_line*>& frames) {
  std::vector<std::uint32_t> path;
  std::size_t next = 0;
  for (;;) {
    std::uint32_t best = 0;
    std::size_t at = frames.size();
    for (std::uint32_t child = node + 1; child < view.tree.nodes[node].end; child = view.tree.nodes[child].end) {
      std::size_t frame = next;
      while (frame < at && !is_same(*frames[frame], view.lines[view.tree.nodes[child].line])) ++frame;
      if (frame < at) best = child, at = frame;
    }
    if (best == 0) return path;
    path.push_back(best);
    node = best;
    next = at + 1;
  }
}

}  // namespace

std::vector<flame> lay_out(const metrics::stack_tree& tree, std::uint32_t zoom, metrics::stack_weight by,
                           double pixels) {
  std::vector<flame> placed;
  if (zoom >= tree.nodes.size()) return placed;
  const auto whole = static_cast<double>(get_weight(tree.nodes[zoom].all, by));
  if (!(whole > 0)) return placed;
  const double least = 0.5 / std::max(pixels, 1.0);
  placed.push_back({zoom, 0, 0, 1});
  // Lay out the children of each placed node, row by row.
  for (std::size_t at = 0; at < placed.size(); ++at) {
    const flame subject = placed[at];
    double begin = subject.begin;
    for (std::uint32_t child = subject.node + 1; child < tree.nodes[subject.node].end; child = tree.nodes[child].end) {
      // Sums may have saturated, so a child must not extend beyond its caller.
      const double end =
          std::min(subject.end, begin + static_cast<double>(get_weight(tree.nodes[child].all, by)) / whole);
      if (end - begin < least) break;  // Children are sorted by weight, so the rest are narrower.
      placed.push_back({child, subject.row + 1, begin, end});
      begin = end;
    }
  }
  return placed;
}

std::vector<flame> lay_out_below_root(const metrics::stack_tree& tree, std::uint32_t zoom, metrics::stack_weight by,
                                      double pixels) {
  std::vector<flame> flames = lay_out(tree, zoom, by, pixels);
  if (zoom != 0 || flames.empty()) return flames;
  flames.erase(flames.begin());
  for (flame& each : flames) --each.row;
  return flames;
}

std::uint32_t get_rows(const std::vector<flame>& flames) { return flames.empty() ? 0 : flames.back().row + 1; }

std::uint32_t find_node(const query::stack_view& view, std::uint64_t id) {
  const auto found = std::find(view.ids.begin(), view.ids.end(), id);
  return found == view.ids.end() ? 0 : static_cast<std::uint32_t>(found - view.ids.begin());
}

std::vector<std::uint32_t> find_stack(const query::stack_view& view, const std::vector<symbols::frame_line>& stack) {
  std::vector<const symbols::frame_line*> frames;
  for (const symbols::frame_line& each : stack) frames.push_back(&each);
  std::vector<std::uint32_t> longest;
  const auto take = [&](std::vector<std::uint32_t> path) {
    if (path.size() > longest.size()) longest = std::move(path);
  };
  for (const bool from_callee : {true, false}) {
    if (!from_callee) std::reverse(frames.begin(), frames.end());
    std::vector<std::uint32_t> path = walk(view, 0, frames);
    const bool starts_with_frames = !path.empty();
    take(std::move(path));
    if (starts_with_frames) continue;
    // The first level may be groups, which are not frames.
    for (std::uint32_t group = 1; group < view.tree.nodes.size(); group = view.tree.nodes[group].end)
      take(walk(view, group, frames));
  }
  return longest;
}

double compute_share(const query::stack_view& view, const std::vector<bool>& line_matches, metrics::stack_weight by) {
  const auto& nodes = view.tree.nodes;
  const auto whole = static_cast<double>(get_weight(nodes.front().all, by));
  double found = 0;
  for (std::uint32_t i = 1; i < nodes.size();) {
    const bool matches = line_matches.at(nodes[i].line);
    if (matches) found += static_cast<double>(get_weight(nodes[i].all, by));
    i = matches ? nodes[i].end : i + 1;
  }
  return whole > 0 ? found / whole : 0;
}

}  // namespace sluice::gui
