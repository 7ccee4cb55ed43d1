#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/id_lookup.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// The uses of blocks by kernels and copies: when a block was first and last used, and how often.
namespace sluice::index {

/// One use of a block.
struct touch {
  time_ns time = trace::unknown_time;  ///< When the work was enqueued. The device may run it later.
  trace::event_id event{};             ///< The row that reports the use: a touch, a transfer, a memset, or a graph
                                       ///< launch.
  [[nodiscard]] bool known() const { return event != trace::event_id::none; }
  friend bool operator==(const touch&, const touch&) = default;
};

/// The copies from the host into a block.
struct arrivals {
  time_ns first = trace::unknown_time;
  time_ns last = trace::unknown_time;
  std::uint64_t count = 0;
  std::uint64_t pageable = 0;  ///< The number of copies in `count` that came from pageable memory.
};

/// The known uses of a block. A kernel counts only if the block is among the kernel's arguments. A kernel that loads
/// the block's address from memory is not detected.
struct block_touches {
  touch first;
  touch last;
  std::uint64_t kernels = 0;                   ///< Kernel launches, outside graphs, with the block as an argument.
  std::uint64_t copies = 0;                    ///< Copies and memsets.
  std::uint64_t replays = 0;                   ///< Launches of CUDA graphs with a node that uses the block.
  std::uint64_t products = 0;                  ///< Launches in `kernels` for which `is_product_kernel` is true.
  bool as_data = false;                        ///< See `uses_so_far::as_data`.
  time_ns first_kernel = trace::unknown_time;  ///< Time of the first launch in `kernels` or `replays`.
  arrivals from_host;
  [[nodiscard]] std::uint64_t count() const { return kernels + copies + replays; }
};

/// The uses of a block in some of the recording's rows. Two kinds of rows may report the same copy, so the number of
/// copies is known only once both counts are complete.
struct uses_so_far {
  touch first;
  touch last;
  std::uint64_t kernels = 0;
  std::uint64_t copy_calls = 0;  ///< Touch rows that report calls that copy or set memory.
  std::uint64_t copies = 0;      ///< Transfer and memset rows, which may report the same copies as `copy_calls`.
  std::uint64_t replays = 0;
  std::uint64_t products = 0;  ///< Launches in `kernels` for which `is_product_kernel` is true.
  /// True if a copy reads or writes the block, or if a kernel that is not a product and does more than fill uses it.
  /// The block's content therefore matters. Graph nodes are not considered.
  bool as_data = false;
  time_ns first_kernel = trace::unknown_time;
  arrivals from_host;
  /// Adds the uses of the same block in other rows. Sums may be added in any order.
  void add(const uses_so_far& others);
  [[nodiscard]] block_touches all() const;
};

/// How the nodes of a CUDA graph use a block.
struct graph_use {
  trace::graph_id graph{};
  std::uint64_t nodes = 0;
  trace::event_id first{};  ///< The touch row of the first node, in capture order, that uses the block. The row names
                            ///< the kernel.
  trace::event_id last{};
};

/// The use of `block` by a graph. Lists of such uses are sorted by graph.
struct block_graph_use {
  trace::block_id block{};
  graph_use use;
  bool copies = false;  ///< True if some node of the graph copies.
};
void sort_by_graph(std::vector<block_graph_use>& uses);

/// The effect of one kernel launch, copy or memset on a block.
enum class access_kind : std::uint8_t {
  kernel,  ///< A kernel reads or writes the block. Which of the two it does is not recorded.
  clear,   ///< A memset, or a kernel that only fills, writes the block. A memset writes `access::bytes`, and a kernel
           ///< writes its whole argument.
  upload,  ///< A copy from the host writes the block.
  write,   ///< Any other copy writes the block.
  read     ///< A copy reads the block.
};

/// One access to a block.
struct access {
  trace::block_id block{};
  time_ns time = 0;         ///< When the work was enqueued.
  std::uint64_t bytes = 0;  ///< Size of the copy or memset; 0 for a kernel.
  access_kind kind = access_kind::kernel;
  std::uint32_t place = 0;  ///< Position of the block in the block list of the `touch_index`.
};

/// Collects touches, copies and graph launches, in any order. For each block, only the first and the last use are kept,
/// so the memory per block does not depend on how often the block is used. Only `accesses` has all uses. Not
/// thread-safe.
class touch_index {
 public:
  void add(const trace::touch_event& row, const trace::tables& tables);
  void add(const trace::transfer_event& row);
  void add(const trace::transfer_part_event& row);
  void add(const trace::memset_event& row);
  void add(const trace::graph_launch_event& row);
  /// Sets all uses of a block, as known from the file. Later rows about the block do not change what `of` returns.
  void set_known(trace::block_id block, const block_touches& uses);
  /// Sets how the graphs of the whole recording use blocks. `uses` must be sorted by graph, and must outlive this
  /// object. The uses of a graph are added when the graph is launched, so a section costs only as much as the graphs
  /// that it launches. After `set_known(touches)`, touch rows of graph nodes are ignored, so the uses by these nodes
  /// must be passed here. Must be called before rows are added.
  void set_known(std::span<const block_graph_use> uses) { known_graph_uses_ = uses; }
  /// Ignores rows about uses outside `run`. Must be called before rows are added.
  void only_within(time_range run) { run_ = run; }
  /// Announces that most of the used blocks have consecutive ids: `blocks` ids, starting with `first`. Speeds up
  /// lookups.
  void expect(trace::block_id first, std::size_t blocks) { by_id_.expect_run(raw(first), blocks); }
  /// Adds the uses of a block in rows that are not added here, such as the rows of earlier sections.
  void add(trace::block_id block, const uses_so_far& uses) { at(block).direct.add(uses); }
  /// Makes the index not collect accesses, which then must not be queried. Must be called before rows are added.
  void leave_out_accesses() { collects_accesses_ = false; }
  /// Sorts what was added. Must be called before any query.
  void settle();

  /// The accesses to blocks in the rows added here, grouped by block and in order of time within each group. Excludes
  /// accesses by graph launches. `settle` must be called first.
  [[nodiscard]] std::span<const access> accesses() const { return accesses_; }
  /// Returns the accesses to one block, in order of time. O(1).
  [[nodiscard]] std::span<const access> accesses_to(trace::block_id block) const;
  /// Returns the number of launches and copies in `range` that access any block, in the rows added here. The first
  /// overload counts those of `process`, and the second counts those of all processes. O(log launches).
  [[nodiscard]] std::uint64_t works_in(trace::process_id process, time_range range) const;
  [[nodiscard]] std::uint64_t works_in(time_range range) const;
  /// True if `works_in(process, range)` is at least `least`, which must not be 0. Does half the work of `works_in`.
  [[nodiscard]] bool has_works(trace::process_id process, time_range range, std::uint64_t least) const;
  /// Returns the number of those launches in `works_in` whose kernels do more than fill memory with one value. O(log
  /// launches).
  [[nodiscard]] std::uint64_t kernels_in(trace::process_id process, time_range range) const;
  [[nodiscard]] std::uint64_t kernels_in(time_range range) const;

  /// True if the recording has no touches. No block can then be reported as unused.
  [[nodiscard]] bool empty() const { return touches_ == 0; }
  /// Sets the number of touches in the whole recording, of which this index holds only a part.
  void set_known(std::uint64_t touches) {
    touches_ = touches;
    whole_known_ = true;
  }
  /// The number of rows that name both a kernel or copy and a block.
  [[nodiscard]] std::uint64_t touches() const { return touches_; }

  /// Returns all uses of `block`. Graph launches count while the block is live. O(log launches) for each graph that
  /// uses it.
  [[nodiscard]] block_touches of(const block_record& block) const;
  /// Returns the uses of `block` in the rows added here, to be added to its uses in other rows. Graph launches count
  /// only within the range passed to `only_within`.
  [[nodiscard]] uses_so_far so_far(const block_record& block) const;
  /// Calls `visit(block_id)` for every block that any row refers to, even for a block whose allocation is not recorded.
  template <class Visit>
  void for_each_block(Visit&& visit) const {
    for (const uses_of_block& each : blocks_) visit(each.block);
  }
  /// Returns the number of launches in `range` of graphs that have a copy node that refers to a block.
  [[nodiscard]] std::uint64_t launches_that_copy(time_range range) const;
  /// Returns the graphs whose nodes use the block, unsorted. O(all uses by graphs) if `set_known` has set these uses,
  /// else O(1) per graph.
  [[nodiscard]] std::vector<graph_use> find_graphs(trace::block_id block) const;
  /// True if the graph has a copy node that refers to a block. The graph must be launched, or have touch rows, here.
  [[nodiscard]] bool graph_copies(trace::graph_id graph) const;

 private:
  struct uses_of_block {
    trace::block_id block{};
    uses_so_far direct;                 ///< The uses except those by `graphs`.
    std::vector<std::uint32_t> graphs;  ///< Positions in `graph_uses_`.
  };
  struct launches {
    std::vector<touch> all;  ///< Sorted by (time, event) once settled.
    bool sorted = true;
  };

  uses_of_block& at(trace::block_id id);
  void add(const block_graph_use& use);
  /// Times of launches and copies of a process, sorted, without duplicates.
  struct process_works {
    trace::process_id process{};
    std::vector<time_ns> works;
    std::vector<time_ns> kernels;  ///< Times in `works` of kernels that do not only fill.
  };

  void add_access(const uses_of_block& block, trace::process_id user, time_ns time, std::uint64_t bytes,
                  access_kind kind);
  process_works& get_works(trace::process_id process);
  /// Returns null if the process has no launches or copies.
  [[nodiscard]] const process_works* find_works(trace::process_id process) const;
  [[nodiscard]] const process_works& works_of_all() const { return works_.size() == 1 ? works_.front() : all_works_; }
  [[nodiscard]] bool leaves_out(time_ns time) const { return time < run_.begin || time >= run_.end; }
  template <class Copy>
  void add_copy(const Copy& row, time_ns time);
  /// Properties derived from the name of a kernel or of an API call.
  struct named_work {
    bool copies = false;    ///< The call copies or sets memory.
    bool fills = false;     ///< The kernel or call only fills memory with one value.
    bool products = false;  ///< `is_product_kernel` is true for the name.
  };
  const named_work& find_work(trace::string_id name, const trace::tables& tables);

  std::vector<uses_of_block> blocks_;
  id_lookup by_id_;
  std::vector<graph_use> graph_uses_;
  std::span<const block_graph_use> known_graph_uses_;
  std::map<trace::graph_id, launches> launches_;
  std::unordered_map<std::uint64_t, bool> moving_;  ///< Keyed by graph id: whether the graph has a copy node.
  std::unordered_map<std::uint64_t, named_work> named_;
  trace::string_id last_name_{};  ///< The last name that was looked up. The touches of one launch are consecutive, so
                                  ///< the next name is usually the same.
  named_work last_named_;
  id_lookup known_by_id_;
  std::vector<block_touches> known_;  ///< From `set_known`.
  std::vector<access> accesses_;
  std::vector<std::size_t> first_access_;  ///< The index of each block's first access in `accesses_`. Element i is for
                                           ///< the block at place i; the last element is the end.
  std::vector<process_works> works_;
  id_lookup works_by_process_;
  process_works all_works_;  ///< The works of all processes, if there are several processes, in order of time. A time
                             ///< occurs once per process.
  std::size_t settled_accesses_ = 0;
  bool collects_accesses_ = true;
  std::uint64_t touches_ = 0;
  bool whole_known_ = false;
  time_range run_{-latest_time, latest_time + 1};
};

/// True if an API call of this name copies or sets memory ("cuMemcpyAsync"). False for the names of kernels.
[[nodiscard]] bool is_copying_call(std::string_view name);
/// True if a kernel of this name sets all elements of its output to one value, as PyTorch's `zero_` and `fill_` and
/// CuPy's `fill` do. The rules are based on the names that these frameworks give their kernels.
[[nodiscard]] bool is_filling_kernel(std::string_view name);
/// True if a kernel of this name computes part of a matrix product or convolution in cuBLAS, cuDNN, CUTLASS, rocBLAS or
/// MIOpen. Such kernels use scratch memory. The rules are based on the names in the binaries of these libraries.
[[nodiscard]] bool is_product_kernel(std::string_view name);

}  // namespace sluice::index
