#include "instrumentation/writer/record_decoder/graph_nodes.hpp"

#include <algorithm>
#include <utility>

namespace sluice::writer {

using namespace trace;

namespace {
/// Marks nodes with unknown handles. No real handle has all of these bits.
constexpr std::uint64_t unknown_node_bits = std::uint64_t{0xffff} << 48;
/// A memory limit, for processes that never destroy their graphs.
constexpr std::size_t max_owners = std::size_t{1} << 20;
constexpr std::size_t max_known = 256;
/// Limit per graph, including child graphs: a hostile program can double the number with each nesting level.
constexpr std::size_t max_nodes = std::size_t{1} << 18;
constexpr std::size_t runs_kept = std::size_t{1} << 14;
}  // namespace

graph_nodes::state& graph_nodes::at(std::uint64_t graph) {
  const auto [place, fresh] = graphs_.try_emplace(graph);
  if (fresh) place->second.id = static_cast<graph_id>(++last_);
  return place->second;
}

graph_id graph_nodes::id_of(std::uint64_t graph) { return graph == 0 ? graph_id::none : at(graph).id; }

graph_id graph_nodes::begin(std::uint64_t graph) {
  end(graph);
  return id_of(graph);
}

graph_id graph_nodes::make(std::uint64_t made, std::uint64_t graph, const event_base& when) {
  if (made == graph) return id_of(graph);
  state& from = at(graph);
  settle(from, when);
  from.shared = true;
  state copy = from;
  copy.executable = true;
  // An updated executable graph keeps its node handles, in the same order.
  const auto before = graphs_.find(made);
  if (before != graphs_.end() && before->second.nodes.size() == copy.nodes.size()) {
    for (std::size_t i = 0; i < copy.nodes.size(); ++i) {
      const graph_node& there = before->second.nodes[i];
      copy.nodes[i].handle = there.handle;
      copy.nodes[i].within = there.within;
      copy.nodes[i].enabled = there.enabled;
    }
  }
  return (graphs_[made] = std::move(copy)).id;
}

void graph_nodes::end(std::uint64_t graph) {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return;
  if (!found->second.executable) {
    for (const graph_node& node : found->second.nodes) owners_.erase(node.within != 0 ? node.within : node.handle);
  }
  graphs_.erase(found);
}

void graph_nodes::set(std::uint64_t graph, std::uint64_t node, use what, bool more) {
  graph = owner_of(graph, node);
  if (graph == 0) return;
  state& of = at(graph);
  const bool nameless = node == 0;
  if (nameless) node = unknown_node_bits | (more ? unknown_nodes_ : ++unknown_nodes_);
  const bool may_be_there = more || of.executable || owners_.contains(node);
  const auto there =
      !may_be_there ? of.nodes.rend()
                    : std::find_if(of.nodes.rbegin(), of.nodes.rend(), [&](const auto& n) { return n.handle == node; });
  const bool known = there != of.nodes.rend();
  // Usually the node is new and the graph is not shared yet: write the rows immediately.
  const bool at_once = !of.shared && !of.changed && (!known || more);
  if (known && what.row.name == string_id::none) what.row.name = there->what->row.name;
  if (at_once) write(what, of.id, nullptr);
  if (known && more) what.blocks.insert(what.blocks.begin(), there->what->blocks.begin(), there->what->blocks.end());
  const bool same = known && there->what->blocks == what.blocks && there->what->row.name == what.row.name;
  if (same) return;
  if (at_once) {
    of.noted = false;
  } else {
    of.changed = true;
  }
  auto kept = std::make_shared<const use>(std::move(what));
  if (known) {
    there->what = std::move(kept);
    return;
  }
  of.nodes.push_back({node, 0, std::move(kept), true});
  if (!nameless) own(node, graph, of);
}

std::uint64_t graph_nodes::owner_of(std::uint64_t graph, std::uint64_t node) const {
  if (graph != 0) return graph;
  const auto owner = owners_.find(node);
  return owner == owners_.end() ? 0 : owner->second;
}

void graph_nodes::own(std::uint64_t node, std::uint64_t graph, const state& of) {
  if (!of.executable && owners_.size() < max_owners) owners_[node] = graph;
}

void graph_nodes::set_child(std::uint64_t graph, std::uint64_t node, std::uint64_t child, const event_base& when) {
  graph = owner_of(graph, node);
  if (graph == 0 || child == 0) return;
  node_list parts;
  for (const graph_node& part : at(child).nodes) {
    if (part.enabled) parts.push_back(part);
  }
  state& of = at(graph);
  if (of.nodes.size() + parts.size() > max_nodes) {
    if (std::exchange(too_many_, true)) return;
    message_event said;
    said.time = when.time;
    said.process = when.process;
    said.severity = severity::warning;
    said.text = file_.intern("a graph has too many nodes in child graphs: blocks that the rest touch are not recorded");
    file_.add(said);
    return;
  }
  if (node == 0) node = unknown_node_bits | ++unknown_nodes_;
  for (graph_node& part : parts) {
    part.handle = unknown_node_bits | ++unknown_nodes_;  // Copies of the child's nodes, with unknown handles.
    part.within = node;
  }
  const auto is_part = [&](const graph_node& n) { return n.within == node; };
  const auto first = std::find_if(of.nodes.begin(), of.nodes.end(), is_part);
  const bool fresh = first == of.nodes.end();
  if (fresh && !of.shared && !of.changed) {
    for (const graph_node& part : parts) write(*part.what, of.id, &when);
    of.noted = false;
  } else {
    of.changed = true;
  }
  const auto place = first - of.nodes.begin();
  std::erase_if(of.nodes, is_part);
  of.nodes.insert(of.nodes.begin() + place, parts.begin(), parts.end());
  own(node, graph, of);
}

void graph_nodes::enable(std::uint64_t graph, std::uint64_t node, bool enabled) {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end() || node == 0) return;
  for (graph_node& there : found->second.nodes) {
    if (there.handle != node || there.enabled == enabled) continue;
    there.enabled = enabled;
    found->second.changed = true;
  }
}

void graph_nodes::launch(std::uint64_t graph, std::uint64_t correlation, const event_base& when) {
  if (graph == 0) return;
  state& of = at(graph);
  settle(of, when);
  of.shared = true;
  if (runs_.empty()) runs_.resize(runs_kept);
  runs_[correlation % runs_kept] = {correlation, of.id};
}

graph_id graph_nodes::launched(std::uint64_t correlation, std::uint64_t graph) {
  if (correlation != 0 && !runs_.empty()) {
    const run& there = runs_[correlation % runs_kept];
    if (there.correlation == correlation && there.id != graph_id::none) return there.id;
  }
  return id_of(graph);
}

void graph_nodes::write(const use& what, graph_id id, const event_base* when) {
  touch_event row = what.row;
  row.graph = id;
  if (when != nullptr) row.time = when->time;
  for (const block_id block : what.blocks) {
    row.block = block;
    file_.add(row);
  }
}

std::uint64_t graph_nodes::content(const state& of) {
  std::uint64_t hash = 0;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  };
  for (const graph_node& node : of.nodes) {
    if (!node.enabled) continue;
    mix(raw(node.what->row.name));
    mix(node.what->blocks.size());
    for (const block_id block : node.what->blocks) mix(raw(block));
  }
  return hash;
}

/// Gives a changed graph the id of its current content.
void graph_nodes::settle(state& of, const event_base& when) {
  if (of.noted && !of.changed) return;
  if (of.known == nullptr) of.known = std::make_shared<std::unordered_map<std::uint64_t, graph_id>>();
  if (of.known->size() >= max_known) of.known->clear();
  of.noted = true;
  if (!std::exchange(of.changed, false)) {
    of.known->try_emplace(content(of), of.id);
    return;
  }
  const auto [place, fresh] = of.known->try_emplace(content(of));
  if (fresh) {
    place->second = static_cast<graph_id>(++last_);
    for (const graph_node& node : of.nodes) {
      if (node.enabled) write(*node.what, place->second, &when);
    }
  }
  of.id = place->second;
}

}  // namespace sluice::writer
