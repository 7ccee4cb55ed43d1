#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/index/memory/categories.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/memory/touches.hpp"
#include "core/index/work/device_work.hpp"
#include "core/index/work/host_activity.hpp"
#include "core/index/work/steps.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/row_type.hpp"
#include "core/trace/model/summary_rows.hpp"

/// What an index of a section (a time span of a recording) must know that only the whole recording shows.
namespace sluice::analysis {

class chunk_index;
class step_facts;

/// Facts about the whole recording, which queries about any section need.
struct recording_facts {
  struct part_of_it {
    category what = category::none;
    double highest = 0;  ///< Maximum of the category's total over the recording, in bytes.
  };
  struct memory {
    memory_key key;
    double highest = 0;                   ///< Maximum of the key's total over the recording, in bytes.
    bool stacks = false;                  ///< Some block of the key has a stack.
    std::vector<part_of_it> by_category;  ///< Only categories that have blocks. Empty if no block has a category.
  };
  struct pool {
    trace::pool_id pool{};
    bool has_segments = false;
    bool has_blocks = false;
    double highest = 0;  ///< Maximum of the total of its blocks over the recording, in bytes.
  };
  struct untracked {
    trace::device_id device{};
    time_ns time = 0;
    double value = 0;  ///< Untracked bytes of the device at `time`.
    std::uint64_t order = 0;
  };
  struct stream {
    stream_key key;
    std::size_t lanes = 0;  ///< How many lines its slices take on the timeline, so that none overlap.
  };
  struct direction {
    direction_key key;
    std::size_t lanes = 0;
    double highest_rate = 0;  ///< Bytes per second.
  };
  struct thread {
    thread_key key;
    std::size_t range_lanes = 0;
    std::size_t call_lanes = 0;
  };
  std::vector<std::uint8_t> listed;  ///< Always empty: a field that only trial versions stored.
  std::vector<memory> memories;
  std::vector<pool> pools;
  std::vector<untracked> not_tracked;  ///< Of all samples, before version 3 of these facts; then `last_sample_row`s.
  std::vector<stream> streams;
  std::vector<direction> directions;
  std::vector<thread> threads;
  std::vector<trace::device_id> with_kernels;
  std::vector<block_graph_use> graphs;    ///< In order of the graph, once they are read.
  std::vector<trace::block_id> segments;  ///< Ids of blocks that contain other blocks, sorted.
  std::uint64_t touches = 0;
  bool tagged = false;                        ///< The program itself named the category of some block.
  std::shared_ptr<const chunk_index> chunks;  ///< All readable chunks of events.
  std::shared_ptr<const step_facts> steps;
};

/// A block whose whole life is known from the file.
struct known_block {
  block_record block;
  block_category category;
};

struct known_uses {
  trace::block_id block{};
  block_touches uses;
};

struct known_category {
  trace::block_id block{};
  block_category category;
};

/// A slice (time interval) that is running when the section begins, and its lane.
struct known_slice {
  trace::lane_kind what = trace::lane_kind::unknown;
  std::size_t owner = 0;  ///< Position in `recording_facts::streams`, `directions` or `threads`.
  std::size_t lane = 0;
  timeline::slice_item item;
};

/// What may be asked about a section. Rows that are not needed for such questions are not read.
enum class section_scope : std::uint8_t {
  timeline,   ///< Curves and slices to draw. Blocks are summed up, then discarded.
  memory,     ///< Blocks and their categories; no device or host activity.
  figures,    ///< As `timeline` and `memory`, with busy times of devices and threads, failures, losses.
  everything  ///< As `figures`, with uses of blocks, and the API calls that requested copies.
};
/// True if an index of scope `held` can answer questions of scope `asked`. `timeline` only matches `timeline`.
[[nodiscard]] constexpr bool is_in(section_scope asked, section_scope held) {
  return asked == held || (asked != section_scope::timeline && asked < held);
}
/// True if the scope includes device and host activity, and samples.
[[nodiscard]] constexpr bool is_drawn(section_scope scope) { return scope != section_scope::memory; }

/// Which of a section's rows an index of it takes in. Indexes of the parts may be made at the same time.
enum class section_part : std::uint8_t {
  all,
  memory,  ///< Blocks, and samples of pools and of devices' memory.
  uses,    ///< Uses of blocks by kernels and copies.
  work     ///< What devices and threads do, and counters.
};

/// A section (a time span of a recording), and what is known about the time outside of it. Input of `section_index`.
struct section_facts {
  section_scope scope = section_scope::everything;
  time_range run;
  trace::process_id only{};  ///< Rows of other processes are not read; none: all are.
  std::shared_ptr<const recording_facts> whole;
  std::vector<std::size_t> chunks;  ///< Numbers of the chunks to read for the time range `run`, from `whole->chunks`.
  std::vector<known_block>
      blocks;  ///< Blocks that live in the section and also outside of it, and blocks with contradictory rows.
  std::vector<known_uses> uses;  ///< For all used blocks in `blocks`, and for other blocks also used outside of `run`.
  std::vector<known_category> categories;  ///< For blocks that live in the section and are not in `blocks`.
  std::vector<known_slice> open;           ///< Slices running when `run` begins: at most one per owner and lane.
  std::vector<process_steps> steps;        ///< Steps that overlap the section, for every process with steps.
  std::vector<trace::last_sample_row>
      samples;                 ///< Of each counter, pool and device: the last before `run`, the first, the highest.
  bool samples_known = false;  ///< False: all sample rows of the recording must be read.
  /// True while the file's summaries are built, when nothing after the section is known. Then `carried` replaces
  /// `blocks`, and the section's rows continue it; only uses in the section's rows are known. Calls behind copies, and
  /// busy times, are left out.
  bool unfolding = false;
  section_part part = section_part::all;  ///< Others only if `unfolding`.
  /// Blocks that were live before the section began, or that earlier rows mention, in their state when it begins.
  std::vector<block_record> carried;
  std::vector<trace::live_block_event>
      births;  ///< If `unfolding`: blocks born in the section that only later checkpoints list.
  /// If `unfolding`: the section's checkpoints that reveal deaths, by time, and in `freed` all blocks freed by a row.
  std::vector<complete_checkpoint> checkpoints;
  const id_set* freed = nullptr;
};

/// True if questions of this scope need rows of this type.
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
    case row_type::loss:
      return scope >= section_scope::figures;
    default:
      return scope == section_scope::everything;
  }
}

/// True if this part of an index is made of rows of this type.
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
    case row_type::counter:
      return part == section_part::all || part == section_part::work;
    default:
      return part == section_part::all;
  }
}

/// True if a section needs all rows of this type in the recording; of other types it needs only rows within its time
/// range. `samples_known`: the samples that it needs from outside are already known from the file.
[[nodiscard]] constexpr bool matters_everywhere(trace::row_type type, bool samples_known) {
  using trace::row_type;
  switch (type) {
    case row_type::alloc_failed:  // There are few.
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

}  // namespace sluice::analysis
