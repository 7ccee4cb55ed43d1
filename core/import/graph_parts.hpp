#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trace/model/model.hpp"

namespace sluice::importing {

/// Joins the parts of a graph's copies. The driver may run one copy of a graph as two kernels, each of which CUPTI
/// reports as a copy of all the bytes (https://github.com/pytorch/pytorch/issues/191284): one node of one launch, one
/// right behind the other. They become one copy, from the first's begin to the last's end. What a graph's loop runs
/// again is a copy of its own: the kernel that decides about the loop runs before it.
class graph_parts {
 public:
  static constexpr std::string_view words =
      "parts of graphs' copies, each reported with all the bytes: one copy each is here";
  /// The longest pause between two parts, which is what two kernels of a stream have between them.
  static constexpr trace::time_ns longest_pause = 2000;

  /// Takes a copy, about in order of time, and calls `write` with those that are complete. O(log nodes).
  template <class Write>
  void add(const trace::transfer_event& made, Write&& write) {
    if (made.graph_node == 0) return write(made);
    const auto [known, fresh] = held_.try_emplace({made.process, made.graph_node}, made);
    if (!fresh && is_part(known->second, made)) {
      ++joined_;
      known->second.end = made.end;
      return;
    }
    if (!fresh) write(std::exchange(known->second, made));
    if (held_.size() > most_held) finish(write);
  }
  /// Calls `write` with the copies that are held back.
  template <class Write>
  void finish(Write&& write) {
    for (const auto& [node, copy] : held_) write(copy);
    held_.clear();
  }
  /// The number of rows that were joined with the one before.
  [[nodiscard]] std::uint64_t joined() const { return joined_; }

 private:
  static constexpr std::size_t most_held = 65536;  // Nodes; 250 bytes each.

  static bool is_part(const trace::transfer_event& first, const trace::transfer_event& next) {
    return next.correlation == first.correlation && next.correlation != 0 && next.stream == first.stream &&
           next.bytes == first.bytes && next.direction == first.direction && first.end != trace::unknown_time &&
           next.end != trace::unknown_time && next.time >= first.time && next.time - first.end <= longest_pause &&
           next.end >= first.end;
  }

  std::map<std::pair<trace::process_id, std::uint64_t>, trace::transfer_event> held_;  ///< By process and node.
  std::uint64_t joined_ = 0;
};

}  // namespace sluice::importing
