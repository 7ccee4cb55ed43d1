#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trace/model/model.hpp"

namespace sluice::importing {

/// Joins the parts of copies in CUDA graphs. Copies of a foreign file go in, whole copies come out. The driver may run
/// one copy of a graph as two kernels, each of which CUPTI reports as a copy of all bytes
/// (https://github.com/pytorch/pytorch/issues/191284). Copies of the same node and launch that directly follow each
/// other become one copy, from the start of the first to the end of the last. A copy that a loop in the graph repeats
/// remains separate, because the kernel with the loop's condition runs in between.
class graph_parts {
 public:
  static constexpr std::string_view words = "parts of graph copies, each reported with all bytes; joined into one copy";
  /// The longest pause between two parts, in ns. It is the usual gap between two kernels of a stream.
  static constexpr trace::time_ns longest_pause = 2000;

  /// Adds a copy. Copies must come in approximate order of time. Calls `write` with each copy that is now complete.
  /// O(log nodes).
  template <class Write>
  void add(const trace::transfer_event& row, Write&& write) {
    if (row.graph_node == 0) return write(row);
    const auto [known, fresh] = held_.try_emplace({row.process, row.graph_node}, row);
    if (!fresh && is_part(known->second, row)) {
      ++joined_;
      known->second.end = row.end;
      return;
    }
    if (!fresh) write(std::exchange(known->second, row));
    if (held_.size() > max_held) finish(write);
  }
  /// Calls `write` with the remaining copies. Call after the last `add`.
  template <class Write>
  void finish(Write&& write) {
    for (const auto& [node, copy] : held_) write(copy);
    held_.clear();
  }
  /// The number of copies that were joined with the previous one.
  [[nodiscard]] std::uint64_t joined() const { return joined_; }

 private:
  static constexpr std::size_t max_held = 65536;  // The most nodes held, of 250 bytes each.

  static bool is_part(const trace::transfer_event& first, const trace::transfer_event& next) {
    return next.correlation == first.correlation && next.correlation != 0 && next.stream == first.stream &&
           next.bytes == first.bytes && next.direction == first.direction && first.end != trace::unknown_time &&
           next.end != trace::unknown_time && next.time >= first.time && next.time - first.end <= longest_pause &&
           next.end >= first.end;
  }

  std::map<std::pair<trace::process_id, std::uint64_t>, trace::transfer_event> held_;  ///< Keyed by process and node.
  std::uint64_t joined_ = 0;
};

}  // namespace sluice::importing
