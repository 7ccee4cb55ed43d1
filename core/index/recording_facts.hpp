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

/// What an index of a section must know that only the whole recording shows.
namespace sluice::analysis {

class chunk_index;
class step_facts;

/// Facts about the whole recording that answers about any section refer to.
struct recording_facts {
  struct part_of_it {
    category what = category::none;
    double highest = 0;
  };
  struct memory {
    memory_key key;
    double highest = 0;
    bool stacks = false;                  ///< Some block has a stack.
    std::vector<part_of_it> by_category;  ///< Only categories that have blocks. Empty if no block has a category.
  };
  struct pool {
    trace::pool_id pool{};
    bool has_segments = false;
    bool has_blocks = false;
    double highest = 0;  ///< Maximum of its blocks' bytes.
  };
  struct untracked {
    trace::device_id device{};
    time_ns time = 0;
    double value = 0;
    std::uint64_t order = 0;
  };
  struct stream {
    stream_key key;
    std::size_t lanes = 0;
  };
  struct direction {
    direction_key key;
    std::size_t lanes = 0;
    double highest_rate = 0;
  };
  struct thread {
    thread_key key;
    std::size_t range_lanes = 0;
    std::size_t call_lanes = 0;
  };
  struct graph {
    trace::block_id block{};
    graph_use use;
    bool copies = false;
  };
  std::vector<std::uint8_t> listed;  ///< Always empty: a place in the stored form that trial versions used.
  std::vector<memory> memories;
  std::vector<pool> pools;
  std::vector<untracked> not_tracked;
  std::vector<stream> streams;
  std::vector<direction> directions;
  std::vector<thread> threads;
  std::vector<trace::device_id> with_kernels;
  std::vector<graph> graphs;
  std::vector<trace::block_id> segments;  ///< Ids of blocks that contain other blocks, sorted.
  std::uint64_t touches = 0;
  bool tagged = false;                        ///< Some block has an exact category.
  std::shared_ptr<const chunk_index> chunks;  ///< All readable chunks of events.
  std::shared_ptr<const step_facts> steps;
};

class index;

/// Collects the facts from an index of all of `of`. O(blocks).
[[nodiscard]] recording_facts facts_of_recording(const index& from, const trace::snapshot& of);

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

/// A slice that is running when the section begins, and its lane.
struct known_slice {
  trace::lane_kind what = trace::lane_kind::unknown;
  std::size_t owner = 0;  ///< Position in `recording_facts::streams`, `directions` or `threads`.
  std::size_t lane = 0;
  timeline::slice_item item;
};

/// What may be asked about a section. Rows that do not matter for that are not read.
enum class section_scope : std::uint8_t {
  timeline,   ///< Curves and slices to draw. Blocks are added up, then freed.
  memory,     ///< Blocks and their categories; nothing that ran.
  figures,    ///< Both, and busy times of devices and threads, failures and losses.
  everything  ///< Uses of blocks, and the calls behind copies, too.
};
/// True if an index of scope `held` can answer questions of scope `asked`. `timeline` only serves itself.
[[nodiscard]] constexpr bool is_in(section_scope asked, section_scope held) {
  return asked == held || (asked != section_scope::timeline && asked < held);
}
/// True if the scope includes what ran and what was sampled.
[[nodiscard]] constexpr bool is_drawn(section_scope scope) { return scope != section_scope::memory; }

/// A block that was live before the section began, or that earlier rows mention, in its state at that time.
struct carried_block {
  block_record block;
  uses_so_far uses;
};

/// A section of a recording, for `section_index`.
struct section_facts {
  section_scope scope = section_scope::everything;
  time_range run;
  std::shared_ptr<const recording_facts> whole;
  std::vector<std::size_t> chunks;  ///< The chunks to read for `run`, according to `whole->chunks`.
  std::vector<known_block>
      blocks;  ///< Blocks that live in the section and also outside of it, and blocks with contradictory rows.
  std::vector<known_uses> uses;  ///< Of all used blocks in `blocks`, and of others also used outside of `run`.
  std::vector<known_category> categories;  ///< Of the other blocks that live in the section.
  std::vector<known_slice> open;           ///< At most one for each owner and lane.
  std::vector<process_steps> steps;        ///< Steps that overlap the section, for every process with steps.
  std::vector<trace::last_sample_row>
      samples;                 ///< Outside of `run`: the last of each thing before it, the first and the highest.
  bool samples_known = false;  ///< False: all sample rows must be read.
  /// True while the summary is built: what follows the section is unknown. Then `carried` replaces `blocks` and `uses`,
  /// and rows continue it. The calls behind copies, and busy times of devices and threads, are not looked up.
  bool unfolding = false;
  std::vector<carried_block> carried;
  std::vector<trace::live_block_event>
      births;  ///< If `unfolding`: blocks born in the section that only later checkpoints list.
  /// If `unfolding`: the section's checkpoints that reveal deaths, by time, and (if any) all blocks that any row frees.
  std::vector<complete_checkpoint> checkpoints;
  const id_set* freed = nullptr;
};

/// True if rows of this type matter for the scope.
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

/// True if a section needs all rows of this type in the recording; of other types it needs only those within the
/// section. `samples_known`: the samples from outside that it needs are already known from the file.
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
