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

/// Which kernels and copies use which blocks: when a block was first and last used, and how often.
namespace sluice::analysis {

/// One use of a block.
struct touch {
  time_ns time = trace::unknown_time;  ///< When the work was enqueued; the device may run it later.
  trace::event_id event{};             ///< The row: a touch, a transfer, a memset, or a graph launch.
  [[nodiscard]] bool known() const { return event != trace::event_id::none; }
  friend bool operator==(const touch&, const touch&) = default;
};

/// Copies from the host into a block.
struct arrivals {
  time_ns first = trace::unknown_time;
  time_ns last = trace::unknown_time;
  std::uint64_t count = 0;
  std::uint64_t pageable = 0;  ///< How many of `count` came from pageable memory.
};

/// The known uses of a block. Kernels count only if the block is among their arguments: a kernel that loads the address
/// from memory is not seen.
struct block_touches {
  touch first;
  touch last;
  std::uint64_t kernels = 0;                   ///< Kernel launches with the block as argument, except in graphs.
  std::uint64_t copies = 0;                    ///< Copies and memsets.
  std::uint64_t replays = 0;                   ///< Launches of CUDA graphs with a node that uses the block.
  std::uint64_t products = 0;                  ///< Of `kernels`, those for which `is_product_kernel` holds.
  bool as_data = false;                        ///< See `uses_so_far`.
  time_ns first_kernel = trace::unknown_time;  ///< First of `kernels` and `replays`.
  arrivals from_host;
  [[nodiscard]] std::uint64_t count() const { return kernels + copies + replays; }
};

/// The uses of a block in some of the recording's rows. A copy may appear in two kinds of rows; the number of copies is
/// only known once both counts are complete.
struct uses_so_far {
  touch first;
  touch last;
  std::uint64_t kernels = 0;
  std::uint64_t copy_calls = 0;  ///< Touch rows of calls that copy or set memory.
  std::uint64_t copies = 0;      ///< Transfer and memset rows; may be of the same copies as `copy_calls`.
  std::uint64_t replays = 0;
  std::uint64_t products = 0;  ///< Of `kernels`, those for which `is_product_kernel` holds.
  /// A copy reads or writes the block, or a kernel that is no product and does more than fill. So what is in it matters. Does
  /// not count the nodes of graphs.
  bool as_data = false;
  time_ns first_kernel = trace::unknown_time;
  arrivals from_host;
  /// Adds the uses in other rows. The order of calls does not matter.
  void add(const uses_so_far& others);
  [[nodiscard]] block_touches all() const;
};

/// How the nodes of a CUDA graph use a block.
struct graph_use {
  trace::graph_id graph{};
  std::uint64_t nodes = 0;
  trace::event_id first{};  ///< Touch row of the first node in capture order, which names the kernel.
  trace::event_id last{};
};

/// The same, with the block. Lists of these are in order of the graph.
struct block_graph_use {
  trace::block_id block{};
  graph_use use;
  bool copies = false;  ///< A node of the graph copies.
};
void sort_by_graph(std::vector<block_graph_use>& uses);

/// What one kernel launch, copy or memset does to a block.
enum class access_kind : std::uint8_t {
  kernel,  ///< Reads or writes, which is not recorded.
  clear,   ///< A memset, or a kernel that only fills: writes `access::bytes`, or all that the kernel was given.
  upload,  ///< A copy from the host writes.
  write,   ///< Another copy writes.
  read     ///< A copy reads.
};

struct access {
  trace::block_id block{};
  time_ns time = 0;         ///< When the work was enqueued.
  std::uint64_t bytes = 0;  ///< Of a copy or memset; 0 for a kernel.
  access_kind kind = access_kind::kernel;
  std::uint32_t place = 0;  ///< Position of the block among those of the `touch_index`.
};

/// Collects touches, copies and graph launches, in any order. What is known of a block does not depend on its number of
/// uses: only the first and the last are kept. `accesses` has the others too. Not thread-safe.
class touch_index {
 public:
  void add(const trace::touch_event& row, const trace::tables& tables);
  void add(const trace::transfer_event& row);
  void add(const trace::transfer_part_event& row);
  void add(const trace::memset_event& row);
  void add(const trace::graph_launch_event& row);
  /// Sets all uses of a block, known from the file. Rows about the block then have no effect on `of`.
  void set_known(trace::block_id block, const block_touches& uses);
  /// Sets how the graphs of the whole recording use blocks, in order of the graph. The uses of a graph are taken in when it is
  /// launched, so a section costs what its own graphs do. After `set_known(touches)`, touch rows of graph nodes are ignored, so
  /// these must be told here. Call before adding rows. `uses` must outlive this.
  void set_known(std::span<const block_graph_use> uses) { known_graph_uses_ = uses; }
  /// Ignores rows about uses outside of `run`. Call before adding rows.
  void only_within(time_range run) { run_ = run; }
  /// Announces that mostly blocks with consecutive ids are used, `blocks` from `first` on; so they are found faster.
  void expect(trace::block_id first, std::size_t blocks) { by_id_.expect_run(raw(first), blocks); }
  /// Adds uses of a block in rows that are not added here, such as rows of earlier sections.
  void add(trace::block_id block, const uses_so_far& uses) { at(block).direct.add(uses); }
  /// Collects no accesses, which will not be queried. Call before adding rows.
  void leave_out_accesses() { collects_accesses_ = false; }
  /// Call before any query.
  void settle();

  /// The accesses to blocks in rows added here, grouped by block, each group in order of time; without those of graph
  /// launches. After `settle`.
  [[nodiscard]] std::span<const access> accesses() const { return accesses_; }
  /// Returns the accesses to one block, in order of time. O(1).
  [[nodiscard]] std::span<const access> accesses_to(trace::block_id block) const;
  /// The number of launches and copies in `range` that access any block, in rows added here: those of `process`, or of
  /// all processes. O(log launches).
  [[nodiscard]] std::uint64_t works_in(trace::process_id process, time_range range) const;
  [[nodiscard]] std::uint64_t works_in(time_range range) const;
  /// True if `works_in(process, range)` is at least `least`, which is not 0. Half as much work.
  [[nodiscard]] bool has_works(trace::process_id process, time_range range, std::uint64_t least) const;
  /// Of these, the launches of kernels that do more than fill memory with one value. O(log launches).
  [[nodiscard]] std::uint64_t kernels_in(trace::process_id process, time_range range) const;
  [[nodiscard]] std::uint64_t kernels_in(time_range range) const;

  /// True if the recording has no touches. Then no block can be called unused.
  [[nodiscard]] bool empty() const { return touches_ == 0; }
  /// Sets the number of touches in the whole recording, of which only a part is stored here.
  void set_known(std::uint64_t touches) {
    touches_ = touches;
    whole_known_ = true;
  }
  /// Number of rows that name a kernel or copy and a block.
  [[nodiscard]] std::uint64_t touches() const { return touches_; }

  /// All uses of `block`. Graph replays count while the block lives. O(log launches) for each graph that names it.
  [[nodiscard]] block_touches of(const block_record& block) const;
  /// The uses of `block` in rows added here, to be summed with those in other rows. Graph launches: in `only_within`.
  [[nodiscard]] uses_so_far so_far(const block_record& block) const;
  /// Calls `visit(block_id)` for every block that any row refers to, even if the block itself is unknown.
  template <class Visit>
  void for_each_block(Visit&& visit) const {
    for (const uses_of_block& each : blocks_) visit(each.block);
  }
  /// The number of launches in `range` of graphs with a node that copies and names a block.
  [[nodiscard]] std::uint64_t launches_that_copy(time_range range) const;
  /// The graphs whose nodes name the block, unordered. O(all uses by graphs) if they were set, else O(1) for each.
  [[nodiscard]] std::vector<graph_use> graphs_of(trace::block_id block) const;
  /// True if a node of the graph, which was launched or has touch rows here, copies and names a block.
  [[nodiscard]] bool graph_copies(trace::graph_id graph) const;

 private:
  struct uses_of_block {
    trace::block_id block{};
    uses_so_far direct;                 ///< Uses without replays of `graphs`.
    std::vector<std::uint32_t> graphs;  ///< Positions in `graph_uses_`.
  };
  struct launches {
    std::vector<touch> all;  ///< Sorted by (time, event) once settled.
    bool sorted = true;
  };

  uses_of_block& at(trace::block_id id);
  void add(const block_graph_use& use);
  /// Times of launches and copies of a process, sorted, each once.
  struct process_works {
    trace::process_id process{};
    std::vector<time_ns> works;
    std::vector<time_ns> kernels;  ///< Of these, those of kernels that do not only fill.
  };

  void add_access(const uses_of_block& of, trace::process_id user, time_ns time, std::uint64_t bytes, access_kind kind);
  process_works& works_of(trace::process_id process);
  /// Null if the process has none.
  [[nodiscard]] const process_works* find_works(trace::process_id process) const;
  [[nodiscard]] const process_works& works_of_all() const { return works_.size() == 1 ? works_.front() : all_works_; }
  [[nodiscard]] bool leaves_out(time_ns time) const { return time < run_.begin || time >= run_.end; }
  template <class Copy>
  void add_copy(const Copy& row, time_ns time);
  /// What the name of a kernel or call says.
  struct named_work {
    bool copies = false;    ///< The call copies or sets memory.
    bool fills = false;     ///< The kernel, or call, only fills.
    bool products = false;  ///< `is_product_kernel`
  };
  const named_work& work_of(trace::string_id name, const trace::tables& tables);

  std::vector<uses_of_block> blocks_;
  id_lookup by_id_;
  std::vector<graph_use> graph_uses_;
  std::span<const block_graph_use> known_graph_uses_;
  std::map<trace::graph_id, launches> launches_;
  std::unordered_map<std::uint64_t, bool> moving_;  ///< By graph id: some node of the graph copies.
  std::unordered_map<std::uint64_t, named_work> named_;
  trace::string_id last_name_{};  ///< The touches of one launch follow one another.
  named_work last_named_;
  id_lookup known_by_id_;
  std::vector<block_touches> known_;  ///< From `set_known`.
  std::vector<access> accesses_;
  std::vector<std::size_t> first_access_;  ///< By place of the block, and one more: where its accesses begin.
  std::vector<process_works> works_;
  id_lookup works_by_process_;
  process_works all_works_;  ///< Those of all processes, if there are several. Sorted; a time once for each process.
  std::size_t settled_accesses_ = 0;
  bool collects_accesses_ = true;
  std::uint64_t touches_ = 0;
  bool whole_known_ = false;
  time_range run_{-latest_time, latest_time + 1};
};

/// True if a call of this name copies or sets memory ("cuMemcpyAsync"). False for kernel names.
[[nodiscard]] bool is_copying_call(std::string_view name);
/// True if a kernel of this name sets all elements of its output to one value, as PyTorch's `zero_` and `fill_` and
/// CuPy's `fill` do. Judges by the names that these frameworks give their kernels.
[[nodiscard]] bool is_filling_kernel(std::string_view name);
/// True if a kernel of this name is a part of a matrix product or a convolution: one of cuBLAS, cuDNN, CUTLASS, rocBLAS or
/// MIOpen. Judges by the names in these libraries' binaries. These are what takes scratch memory.
[[nodiscard]] bool is_product_kernel(std::string_view name);

}  // namespace sluice::analysis
