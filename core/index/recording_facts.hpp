#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/index/work/device_work.hpp"
#include "core/index/work/host_activity.hpp"
#include "core/index/work/steps.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/row_type.hpp"
#include "core/trace/model/summary_rows.hpp"

/// Facts about the whole recording that the index of a section (a time span) cannot find in the section itself.
namespace sluice::index {

class chunk_index;
class step_facts;

/// Facts about the whole recording that queries about any section need.
struct recording_facts {
  struct part_of_it {
    category kind = category::none;
    double highest = 0;  ///< Maximum of the category's total over the recording, in bytes.
  };
  struct memory {
    memory_key key;
    double highest = 0;                   ///< Maximum of the key's total over the recording, in bytes.
    bool stacks = false;                  ///< True if some block with this key has a stack.
    std::vector<part_of_it> by_category;  ///< Only categories with blocks. Empty if no block has a category.
  };
  struct pool {
    trace::pool_id pool{};
    bool has_segments = false;
    bool has_blocks = false;
    double highest = 0;  ///< Maximum of the total of the pool's blocks over the recording, in bytes.
  };
  struct untracked {
    trace::device_id device{};
    time_ns time = 0;
    double value = 0;  ///< Untracked bytes of the device at `time`.
    std::uint64_t order = 0;
  };
  struct stream {
    stream_key key;
    std::size_t lanes = 0;  ///< Number of lanes that the stream's slices need on the timeline so that no two slices in
                            ///< a lane overlap.
  };
  struct direction {
    direction_key key;
    std::size_t lanes = 0;
    double highest_rate = 0;  ///< Maximum over the recording, in bytes per second.
  };
  struct thread {
    thread_key key;
    std::size_t range_lanes = 0;
    std::size_t call_lanes = 0;
  };
  std::vector<std::uint8_t> listed;  ///< Always empty: only pre-release versions stored this field.
  std::vector<memory> memories;
  std::vector<pool> pools;
  std::vector<untracked> not_tracked;  ///< One element for each sample. Only in facts stored before version 3; later
                                       ///< versions use `last_sample_row`.
  std::vector<stream> streams;
  std::vector<direction> directions;
  std::vector<thread> threads;
  std::vector<trace::device_id> with_kernels;
  std::vector<block_graph_use> graphs;    ///< Sorted by graph once the facts have been read.
  std::vector<trace::block_id> segments;  ///< Ids of blocks that contain other blocks, sorted.
  std::uint64_t touches = 0;
  bool tagged = false;                        ///< True if the program assigned a category to some block.
  std::shared_ptr<const chunk_index> chunks;  ///< The reach of every readable chunk of events.
  std::shared_ptr<const step_facts> steps;
};

/// A block whose whole lifetime is known from the file.
struct known_block {
  block_record block;
  block_category category;
};

/// All uses of a block, known from the file.
struct known_uses {
  trace::block_id block{};
  block_touches uses;
};

/// The category of a block, known from the file.
struct known_category {
  trace::block_id block{};
  block_category category;
};

/// A slice (time interval) that is running when the section starts, and its lane.
struct known_slice {
  trace::lane_kind kind = trace::lane_kind::unknown;
  std::size_t owner = 0;  ///< Position in `recording_facts::streams`, `directions` or `threads`, depending on `what`.
  std::size_t lane = 0;
  timeline::slice_item item;
};

/// The scope of queries that an index of a section can answer. Rows that the scope does not need are not read.
enum class section_scope : std::uint8_t {
  timeline,   ///< Curves and slices for drawing. Blocks are discarded once they have been added to the curves.
  memory,     ///< Blocks and their categories, and failed allocations, without device or host activity.
  metrics,    ///< Everything in `timeline` and `memory`, plus busy times of devices and threads, losses.
  everything  ///< Everything in `metrics`, plus uses of blocks, and the API calls that requested copies.
};
/// True if an index with scope `held` can answer queries with scope `asked`. Queries with scope `timeline` need an
/// index with the same scope.
[[nodiscard]] constexpr bool is_in(section_scope asked, section_scope held) {
  return asked == held || (asked != section_scope::timeline && asked < held);
}
/// True if the scope includes samples and the activity of devices and the host.
[[nodiscard]] constexpr bool is_drawn(section_scope scope) { return scope != section_scope::memory; }

/// The part of a section's rows that an index reads. Indexes of different parts may be built at the same time.
enum class section_part : std::uint8_t {
  all,
  memory,  ///< Blocks, and samples of pools and of devices' memory.
  uses,    ///< Uses of blocks by kernels and copies.
  work     ///< Work of devices and of host threads, and counters.
};

/// The input of `section_index`: a section (a time span of a recording), and the known facts about the time outside the
/// section.
struct section_facts {
  section_scope scope = section_scope::everything;
  time_range run;
  trace::process_id only{};  ///< Only rows of this process are read. None: rows of all processes are read.
  std::shared_ptr<const recording_facts> whole;
  std::vector<std::size_t> chunks;  ///< Numbers of the chunks, in `whole->chunks`, that must be read for the time range
                                    ///< `run`.
  std::vector<known_block>
      blocks;  ///< Blocks that are live both in the section and outside it, and blocks with contradictory rows.
  std::vector<known_uses> uses;  ///< For each used block in `blocks`, and for each other block that is also used
                                 ///< outside `run`.
  std::vector<known_category> categories;  ///< For blocks that are live in the section but not listed in `blocks`.
  std::vector<known_slice> open;           ///< Slices running when `run` starts: at most one per owner and lane.
  std::vector<process_steps> steps;        ///< For each process that has steps, the steps that overlap the section.
  std::vector<trace::last_sample_row>
      samples;                 ///< For each counter, pool and device, the last sample before `run`, the first sample,
                               ///< and the highest sample.
  bool samples_known = false;  ///< If false, all sample rows of the recording must be read.
  /// True while the file's summaries are being built, when nothing after the section is known yet. `carried` then
  /// replaces `blocks`, and the section's rows continue the blocks in `carried`. Only the uses in the section's rows
  /// are known. Busy times, and the calls that requested copies, are omitted.
  bool unfolding = false;
  section_part part = section_part::all;  ///< A value other than `all` requires `unfolding`.
  /// If `unfolding`, the blocks that were live when the section started or that earlier rows refer to, in their state
  /// at that time.
  std::vector<block_record> carried;
  std::vector<trace::live_block_event>
      births;  ///< If `unfolding`, blocks allocated in the section that only later checkpoints list.
  /// If `unfolding`, the section's checkpoints that reveal frees, in order of time. `freed` contains all blocks that a
  /// row frees.
  std::vector<complete_checkpoint> checkpoints;
  const id_set* freed = nullptr;
};

/// True if queries with this scope need rows of this type.
[[nodiscard]] constexpr bool is_in(section_scope scope, trace::row_type type) {
  using trace::row_type;
  switch (type) {
    case row_type::alloc:
    case row_type::free:
    case row_type::live_block:
      return true;
    case row_type::pool_state:
    case row_type::device_memory:
    case row_type::counter:
    case row_type::transfer:
    case row_type::migration:
    case row_type::memset:
    case row_type::kernel:
    case row_type::graph_launch:
    case row_type::api_call:
    case row_type::sync:
    case row_type::host_range:
    case row_type::marker:
    case row_type::file_io:
      return is_drawn(scope);
    case row_type::alloc_failed:
      return scope != section_scope::timeline;
    case row_type::loss:
      return scope >= section_scope::metrics;
    default:
      return scope == section_scope::everything;
  }
}

/// True if this part of an index reads rows of this type.
[[nodiscard]] constexpr bool is_in(section_part part, trace::row_type type) {
  using trace::row_type;
  switch (type) {
    case row_type::alloc:
    case row_type::free:
    case row_type::live_block:
    case row_type::alloc_failed:
    case row_type::loss:
    case row_type::pool_state:
    case row_type::device_memory:
      return part == section_part::all || part == section_part::memory;
    case row_type::touch:
    case row_type::transfer_part:
      return part == section_part::all || part == section_part::uses;
    case row_type::transfer:
    case row_type::memset:
    case row_type::graph_launch:
      return part != section_part::memory;
    case row_type::migration:
    case row_type::kernel:
    case row_type::api_call:
    case row_type::sync:
    case row_type::host_range:
    case row_type::marker:
    case row_type::file_io:
    case row_type::host_sample:
    case row_type::counter:
      return part == section_part::all || part == section_part::work;
    default:
      return part == section_part::all;
  }
}

/// True if a section needs all rows of this type in the recording, not only the rows in its time range.
/// `samples_known`: the file already provides the samples that the section needs from outside its time range.
[[nodiscard]] constexpr bool matters_everywhere(trace::row_type type, bool samples_known) {
  using trace::row_type;
  switch (type) {
    case row_type::alloc_failed:  // Few rows have this type.
    case row_type::loss:
      return true;
    case row_type::pool_state:
    case row_type::device_memory:
    case row_type::counter:
      return !samples_known;
    default:
      return false;
  }
}

}  // namespace sluice::index
