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

/// What an index of a part of a recording must be told, because only the whole recording shows it.
namespace sluice::analysis {

class chunk_index;
class step_facts;

/// What is quoted of the recording as a whole, wherever in it a question is about.
struct recording_facts {
  struct part_of_it {
    category what = category::none;
    double highest = 0;
  };
  struct memory {
    memory_key key;
    double highest = 0;
    bool stacks = false;                  ///< Some block has one.
    std::vector<part_of_it> by_category;  ///< Of categories that have blocks; none where no block has one.
  };
  struct pool {
    trace::pool_id pool{};
    bool has_segments = false;
    bool has_blocks = false;
    double highest = 0;  ///< Of its blocks.
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
  std::vector<trace::block_id> segments;  ///< Blocks that others lie in, by id.
  std::uint64_t touches = 0;
  bool tagged = false;                        ///< Some category is exact.
  std::shared_ptr<const chunk_index> chunks;  ///< Of chunks of events that could be read.
  std::shared_ptr<const step_facts> steps;
};

class index;

/// Of an index that has taken in all of `of`. O(blocks).
[[nodiscard]] recording_facts facts_of_recording(const index& from, const trace::snapshot& of);

/// A block whose whole life is told.
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

/// A slice that runs at the run's begin, and its lane.
struct known_slice {
  trace::lane_kind what = trace::lane_kind::unknown;
  std::size_t owner = 0;  ///< Position in `recording_facts::streams`, `directions` or `threads`.
  std::size_t lane = 0;
  timeline::slice_item item;
};

/// What questions about a part may ask: rows that say nothing about it are not read.
enum class section_scope : std::uint8_t {
  timeline,   ///< What is drawn: curves and slices. Blocks are added up, and forgotten.
  memory,     ///< Blocks, and what they are for; nothing that ran.
  figures,    ///< Both, and how long devices and threads were busy, failures and losses.
  everything  ///< Uses of blocks, and calls behind copies, too.
};
/// Whether what is `held` answers questions about what is `asked`. What is drawn is for itself.
[[nodiscard]] constexpr bool is_in(section_scope asked, section_scope held) {
  return asked == held || (asked != section_scope::timeline && asked < held);
}
/// Whether anything that ran or was sampled is in it.
[[nodiscard]] constexpr bool is_drawn(section_scope scope) { return scope != section_scope::memory; }

/// A block that lives on from before the run, or of which something else was said there: as it was at the run's begin.
struct carried_block {
  block_record block;
  uses_so_far uses;
};

/// What a `section_index` is told about the time around its section.
struct section_facts {
  section_scope scope = section_scope::everything;
  time_range run;
  std::shared_ptr<const recording_facts> whole;
  std::vector<std::size_t> chunks;  ///< Those that `whole->chunks` says are read for the run.
  std::vector<known_block>
      blocks;  ///< Those that live in the run and not only in it, and those of which rows do not agree.
  std::vector<known_uses> uses;  ///< Of those that were used, and of others that were used outside of the run.
  std::vector<known_category> categories;  ///< Of others that live in it.
  std::vector<known_slice> open;           ///< Those of one owner and lane are one at most.
  std::vector<process_steps> steps;        ///< Those with something in the run, of every process that has any.
  std::vector<trace::last_sample_row>
      samples;                 ///< Outside of the run: the last of each thing before it, the first and the highest.
  bool samples_known = false;  ///< Else all rows of samples are wanted.
  /// What comes after the run is not known yet: instead of the `blocks` and their `uses` those `carried` are told, and rows tell how
  /// they go on. Who asked for copies, and how long devices and threads were busy, is not looked up then.
  bool unfolding = false;
  std::vector<carried_block> carried;
  std::vector<trace::live_block_event>
      births;  ///< Likewise of blocks born in the run of which only later checkpoints tell.
  /// Likewise those in the run that tell of deaths, in order of time, and, where there are any, the blocks that rows anywhere free.
  std::vector<complete_checkpoint> checkpoints;
  const id_set* freed = nullptr;
};

/// Whether rows of this kind say anything that is in the scope.
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

/// Whether questions about a part of a recording want all rows of this kind. Of all other kinds rows count that lie in the part.
/// `samples_known`: of what is sampled, and holds until the next sample, the part is told what it must know.
[[nodiscard]] constexpr bool matters_everywhere(trace::row_type type, bool samples_known) {
  using trace::row_type;
  switch (type) {
    case row_type::alloc_failed:  // They are few.
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
