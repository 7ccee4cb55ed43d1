#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/base/id_lookup.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// Which kernels and copies name which blocks: when a block was used first and last, and how often.
namespace sluice::analysis {

/// One use of a block.
struct touch {
  time_ns time = trace::unknown_time;  ///< When it was enqueued: the device may be later.
  trace::event_id event{};             ///< Its row: a touch, a transfer, a memset, or the launch of a graph.
  [[nodiscard]] bool known() const { return event != trace::event_id::none; }
  friend bool operator==(const touch&, const touch&) = default;
};

/// Copies from the host into a block.
struct arrivals {
  time_ns first = trace::unknown_time;
  time_ns last = trace::unknown_time;
  std::uint64_t count = 0;
  std::uint64_t pageable = 0;  ///< Of those.
};

/// What is known of a block's uses. Of a kernel only those count that name the block in their arguments: one that finds an
/// address in memory is not seen.
struct block_touches {
  touch first;
  touch last;
  std::uint64_t kernels = 0;                   ///< Launches that name it; those of graphs are in `replays`.
  std::uint64_t copies = 0;                    ///< Copies and memsets.
  std::uint64_t replays = 0;                   ///< Launches of graphs with a node that names it.
  time_ns first_kernel = trace::unknown_time;  ///< Of kernels and replays.
  arrivals from_host;
  [[nodiscard]] std::uint64_t count() const { return kernels + copies + replays; }
};

/// The uses of a block that some of a recording's rows tell. Of copies there are rows of two kinds, which tell of the same ones: only what
/// all of them add up to says how many there were.
struct uses_so_far {
  touch first;
  touch last;
  std::uint64_t kernels = 0;
  std::uint64_t copy_calls = 0;  ///< Touch rows of calls that copy.
  std::uint64_t copies = 0;      ///< Transfers and memsets that name it: the same ones, when both are recorded.
  std::uint64_t replays = 0;
  time_ns first_kernel = trace::unknown_time;
  arrivals from_host;
  /// Adds those that other rows tell, in any order.
  void add(const uses_so_far& others);
  [[nodiscard]] block_touches all() const;
};

/// How a graph's nodes name a block.
struct graph_use {
  trace::graph_id graph{};
  std::uint64_t nodes = 0;
  trace::event_id first{};  ///< The touch row of the first node in the order of capture, which names the kernel.
  trace::event_id last{};
};

/// Takes touches, copies and launches of graphs in any order. A block costs the same however often it is touched: only the
/// first and the last use are kept. Not thread-safe.
class touch_index {
 public:
  void add(const trace::touch_event& row, const trace::tables& tables);
  void add(const trace::transfer_event& row);
  void add(const trace::transfer_part_event& row);
  void add(const trace::memset_event& row);
  void add(const trace::graph_launch_event& row);
  /// All uses of a block, known from elsewhere: what rows say of it counts no more.
  void set_known(trace::block_id block, const block_touches& uses) { told_[raw(block)] = uses; }
  /// How a graph's nodes name a block, and whether one of the graph's copies. Then touch rows of nodes are passed over: all are to
  /// be told.
  void set_known(trace::block_id block, const graph_use& use, bool copies);
  /// Of rows that tell of uses outside of `run` nothing is taken. Before any row.
  void only_within(time_range run) { run_ = run; }
  /// Uses of a block that other rows told; those here come on top.
  void add(trace::block_id block, const uses_so_far& uses) { at(block).direct.add(uses); }
  /// Before any question.
  void settle();

  /// Whether the recording has touches at all: without them nothing can be said to be unused.
  [[nodiscard]] bool empty() const { return touches_ == 0; }
  /// Says how many touches there are in all; what is here holds a part of them.
  void set_known(std::uint64_t touches) {
    touches_ = touches;
    whole_told_ = true;
  }
  /// Rows that name a kernel or copy and a block.
  [[nodiscard]] std::uint64_t touches() const { return touches_; }

  /// All uses of `block`; replays of a graph count while the block lives. O(log launches) for each graph that names it.
  [[nodiscard]] block_touches of(const block_record& block) const;
  /// The same, to be added to what other rows tell: of launches of graphs only those count that lie in the run of `only_within`.
  [[nodiscard]] uses_so_far so_far(const block_record& block) const;
  /// Calls `visit(block_id)` for every block that any row names, be it known or not.
  template <class Visit>
  void for_each_block(Visit&& visit) const {
    for (const uses_of_block& each : blocks_) visit(each.block);
  }
  /// Launches in `range` of graphs that have a node which copies (and names a block).
  [[nodiscard]] std::uint64_t launches_that_copy(time_range range) const;
  /// The graphs whose nodes name the block, in no order.
  [[nodiscard]] std::vector<graph_use> graphs_of(trace::block_id block) const;
  /// Whether a node of the graph copies (and names a block).
  [[nodiscard]] bool graph_copies(trace::graph_id graph) const;

 private:
  struct uses_of_block {
    trace::block_id block{};
    uses_so_far direct;                 ///< Without the replays of the graphs here.
    std::vector<std::uint32_t> graphs;  ///< Positions in `graph_uses_`.
  };
  struct launches {
    std::vector<touch> all;  ///< By (time, event) once settled.
    bool sorted = true;
  };

  uses_of_block& at(trace::block_id id);
  [[nodiscard]] bool leaves_out(time_ns time) const { return time < run_.begin || time >= run_.end; }
  template <class Copy>
  void add_copy(const Copy& row, time_ns time);
  bool copies(trace::string_id name, const trace::tables& tables);

  std::vector<uses_of_block> blocks_;
  id_lookup by_id_;
  std::vector<graph_use> graph_uses_;
  std::map<trace::graph_id, launches> launches_;
  std::unordered_map<std::uint64_t, bool> moving_;         ///< Graphs by their id: a node of it copies.
  std::unordered_map<std::uint64_t, bool> copying_;        ///< By the name's id.
  std::unordered_map<std::uint64_t, block_touches> told_;  ///< By block.
  std::uint64_t touches_ = 0;
  bool whole_told_ = false;
  time_range run_{-latest_time, latest_time + 1};
};

/// Whether a call of this name moves or sets bytes ("cuMemcpyAsync"); a kernel's name is none.
[[nodiscard]] bool is_copying_call(std::string_view name);

}  // namespace sluice::analysis
