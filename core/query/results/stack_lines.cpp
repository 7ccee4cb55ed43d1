#include "core/query/results/stack_lines.hpp"

#include <fmt/format.h>

#include <functional>
#include <unordered_map>

namespace sluice::query {
namespace {

constexpr std::string_view no_stack = "(no stack recorded)";

std::uint64_t compute_hash(const symbols::frame_line& line) {
  return std::hash<std::string>()(fmt::format("{}\x1f{}\x1f{}", symbols::get_name(line), line.file, line.line));
}

}  // namespace

metrics::stack_lines make_stack_lines(const sources& source, bool fold, bool* pending) {
  metrics::stack_lines lines;
  lines.none = source.frames.remark(no_stack);
  lines.cut = source.frames.remark(symbols::cut_remark);
  lines.look_up = [&source, pending](trace::frame_id frame) {
    auto found = source.frames.get_lines(frame, source.trace.tables(), source.lookup);
    *pending |= found.provisional;
    return std::move(found.ids);
  };
  if (fold) lines.folded = [&source](symbols::line_id line) { return !source.frames.is_own(line); };
  return lines;
}

void put_lines(const sources& source, stack_view& view) {
  std::unordered_map<std::uint32_t, std::uint32_t> places;
  std::vector<symbols::line_id> used;
  for (metrics::stack_node& node : view.tree.nodes) {
    if (node.depth == 0) continue;
    const auto [place, fresh] = places.try_emplace(node.line, static_cast<std::uint32_t>(used.size()));
    if (fresh) used.push_back(node.line);
    node.line = place->second;
  }
  view.lines = source.frames.describe(used, source.trace.tables());
  std::vector<std::uint64_t> hashes;
  for (const symbols::frame_line& line : view.lines) hashes.push_back(compute_hash(line));
  view.ids.reserve(view.tree.nodes.size());
  for (const metrics::stack_node& node : view.tree.nodes) {
    // This mixes the line with the parent's id like boost::hash_combine, for 64 bits.
    std::uint64_t id = node.depth == 0 ? 0 : view.ids[node.parent];
    if (node.depth != 0) id ^= hashes[node.line] + 0x9e3779b97f4a7c15ULL + (id << 12) + (id >> 4);
    view.ids.push_back(id);
  }
}

}  // namespace sluice::query
