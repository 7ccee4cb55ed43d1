#include "core/import/torch/kineto_devices.hpp"

#include <algorithm>

namespace sluice::importing {

trace::device_id kineto_devices::device(std::int64_t ordinal) {
  const auto [known, fresh] = devices_.try_emplace(ordinal);
  if (fresh) {
    known->second.id = static_cast<trace::device_id>(devices_.size());
    known->second.kind = trace::device_kind::cuda;
  }
  return known->second.id;
}

void kineto_devices::describe(std::int64_t ordinal, std::string_view name, std::uint64_t bytes, std::uint32_t major,
                              std::uint32_t minor) {
  properties_[ordinal] = {out_.intern(name), bytes, major, minor};
}

void kineto_devices::settle(std::int64_t number, std::int64_t ordinal, std::string_view name) {
  ordinal_by_node_[number] = ordinal;
  if (!name.empty()) properties_[ordinal].name = out_.intern(name);
}

void kineto_devices::match_nodes(const std::set<std::int64_t>& of_memory) {
  std::set<std::int64_t> nodes, described;
  for (const auto& [number, row] : devices_)
    if (number >= 0 && !ordinal_by_node_.contains(number)) nodes.insert(number);
  for (const auto& [ordinal, about] : properties_) described.insert(ordinal);
  const bool beyond =
      !described.empty() && !std::includes(described.begin(), described.end(), nodes.begin(), nodes.end());
  if (nodes.empty() || (!by_node_ && !beyond)) return;
  // Both sets are in ascending order. If they have equal sizes, their elements match in order.
  const std::set<std::int64_t>& ordinals = of_memory.size() == nodes.size() ? of_memory : described;
  if (ordinals.size() == nodes.size()) {
    for (auto node = nodes.begin(), ordinal = ordinals.begin(); node != nodes.end(); ++node, ++ordinal)
      ordinal_by_node_[*node] = *ordinal;
  } else if (beyond) {
    match_by_offset(nodes, *described.rbegin());
  }
}

/// Subtracts the number of CPUs from the numbers of nodes. CPUs are the first nodes, and servers usually have two (in
/// https://github.com/pytorch/kineto/pull/925, nodes 2 to 9 are GPUs 0 to 7). If two CPUs are impossible, assumes as
/// few as possible.
void kineto_devices::match_by_offset(const std::set<std::int64_t>& nodes, std::int64_t last_ordinal) {
  constexpr std::int64_t usual = 2;
  const std::int64_t lowest = *nodes.rbegin() - last_ordinal, highest = *nodes.begin();
  const std::int64_t processors = std::max(usual, lowest);
  if (processors > highest) return;
  for (const std::int64_t node : nodes) ordinal_by_node_[node] = node - processors;
}

std::int64_t kineto_devices::find_ordinal(std::int64_t number) const {
  if (number < 0) return -1 - number;
  const auto known = ordinal_by_node_.find(number);
  return known == ordinal_by_node_.end() ? number : known->second;
}

trace::device_id kineto_devices::device_of_memory(std::int64_t ordinal) {
  for (const auto& [number, row] : devices_)
    if (find_ordinal(number) == ordinal) return row.id;
  return device(-1 - ordinal);
}

void kineto_devices::fill(trace::device_row& row) const {
  const auto known = properties_.find(row.ordinal);
  if (known == properties_.end()) return;
  row.name = known->second.name;
  row.memory_bytes = known->second.bytes;
  row.compute_major = known->second.major;
  row.compute_minor = known->second.minor;
}

kineto_devices::place kineto_devices::of(trace::process_id process, std::int64_t ordinal, std::int64_t context,
                                         std::int64_t stream) {
  const numbers key{ordinal, context, stream};
  if (key == last_) return last_place_;
  const auto [known, fresh] = places_.try_emplace(key);
  place& output = known->second;
  if (fresh && ordinal >= 0) {
    output.device = device(ordinal);
    const auto [held, fresh_context] = contexts_.try_emplace({ordinal, context});
    if (fresh_context) {
      held->second = static_cast<trace::context_id>(contexts_.size());
      out_.add(trace::context_row{held->second, process, output.device, static_cast<std::uint64_t>(context)});
    }
    output.context = held->second;
    const auto [row, fresh_stream] = streams_.try_emplace({ordinal, stream});
    // The number -1 means no stream, or all streams. Lower numbers are handles beyond 2^63.
    if (fresh_stream && stream != -1 && stream != chrome_details::none) {
      row->second.id = static_cast<trace::stream_id>(streams_.size());
      row->second.process = process;
      row->second.context = output.context;
      row->second.device = output.device;
      row->second.handle = static_cast<std::uint64_t>(stream);
      out_.add(row->second);
    }
    output.stream = row->second.id;
  }
  last_ = key;
  last_place_ = output;
  return output;
}

void kineto_devices::finish(const chrome_tracks& tracks) {
  for (const auto& [ordinal, about] : properties_) static_cast<void>(device_of_memory(ordinal));
  std::multimap<std::int64_t, const trace::device_row*> by_ordinal;
  for (auto& [number, row] : devices_) {
    row.ordinal = find_ordinal(number);
    fill(row);
    by_ordinal.emplace(row.ordinal, &row);
  }
  for (const auto& [ordinal, row] : by_ordinal) out_.add(*row);
  for (auto& [where, row] : streams_) {
    if (row.id == trace::stream_id::none) continue;
    row.name = out_.intern(tracks.thread_name(where.first, where.second));
    out_.add(row);
  }
}

}  // namespace sluice::importing
