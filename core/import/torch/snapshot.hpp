#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/import/job.hpp"
#include "core/import/torch/pickle.hpp"

/// A PyTorch memory snapshot as structs of fixed size, between the pickle that is read and the trace that is written.
/// The keys are those that torch/csrc/cuda/Module.cpp and memory_snapshot.cpp write, and older keys that
/// torch/cuda/_memory_viz.py still reads.
namespace sluice::importing::torch {

enum class action : std::uint8_t {
  other,
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  out_of_memory,
  snapshot,
  workspace_snapshot,
  annotate,  ///< `torch.cuda.memory._annotate_memory`: describes a live block.
};

/// The id of a segment's pool; (0, 0) is the default pool.
using pool_name = std::pair<std::int64_t, std::int64_t>;

/// An index that no list of the document has.
inline constexpr std::uint32_t no_container = ~std::uint32_t{0};
inline constexpr std::int64_t no_time = INT64_MIN;

/// A key of an entry or a block for which the trace model has no member. It is imported as an attribute.
struct extra {
  std::uint32_t entry = 0;  ///< The position of the entry in `history::entries`, or of the block in `snapshot::blocks`.
  std::string_view key;
  pickle_value value;
};

struct history_entry {
  std::uint64_t address = 0;  ///< For `out_of_memory`: the device's free bytes.
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
  std::int64_t time_us = no_time;
  std::uint32_t frames = no_container;          ///< The index of the list of frames in the document.
  std::uint32_t forward_frames = no_container;  ///< In a backward pass: the frames of the forward operation.
  std::uint32_t pool = 0;                       ///< The position in `snapshot::pools` + 1; 0 if there is no pool.
  action kind = action::other;
};
static_assert(sizeof(history_entry) == 48);

struct block {
  enum class state : std::uint8_t { inactive, allocated, pending_free };
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;
  std::uint32_t frames = no_container;
  state status = state::inactive;
};

struct segment {
  std::int64_t device = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
  std::uint32_t frames = no_container;
  pool_name pool;
  bool expandable = false;
  bool small = false;
  /// The position of the first block in `snapshot::blocks`, and the number of blocks.
  std::uint32_t first_block = 0, blocks = 0;
};

/// The history of one allocator, of a device or of pinned host memory.
struct history {
  bool host = false;
  std::int64_t device = 0;
  huge_vector<history_entry> entries;  ///< In the order of the file.
  std::vector<extra> extras;
};

struct annotation {
  enum class stage : std::uint8_t { mark, start, end };
  std::string_view name;
  std::int64_t device = 0;
  std::int64_t time_us = no_time;
  stage status = stage::mark;
};

struct snapshot {
  std::vector<history> histories;
  std::vector<segment> segments;       ///< The segments of device memory at the end of the history.
  std::vector<segment> host_segments;  ///< The segments of pinned memory at the end of the history.
  std::vector<block> blocks;
  std::vector<extra> block_extras;  ///< Keys of `blocks` for which the trace model has no member, sorted by
                                    ///< `extra::entry`.
  std::vector<pool_name> pools;     ///< The pools that entries refer to.
  std::vector<annotation> annotations;
  pickle_value settings;         ///< The dictionary `allocator_settings`, or none.
  bool overflowed = false;       ///< True if a history was full, so that its first entries are missing.
  std::int64_t max_entries = 0;  ///< The most entries of a history; 0 if unknown.
};

/// Extracts a snapshot from a pickle, and counts unknown parts in `work`. Takes time linear in the size of the pickle,
/// even if parts of the pickle are shared. Errors: foreign, if the pickle is not a snapshot; cancelled.
[[nodiscard]] result<snapshot> read_snapshot(const pickle_document& document, job& work);

/// Returns the earliest time in a snapshot, in us, or 0 if it has no times.
[[nodiscard]] std::int64_t first_time(const snapshot& recording);
/// Returns the start of the recording. This is the time of the first entry, which is time 0. If memory is freed at that
/// time, the start is 1 ns before it, so that the freed block is visible.
[[nodiscard]] trace::time_ns get_begin(const snapshot& recording, std::int64_t origin_us);

/// Removes impossible times and counts them in `work`. The order of entries still shows their approximate times. O(n).
void drop_impossible_times(snapshot& recording, job& work);

/// Writes the snapshot `recording`, which was read from `document`, as a trace. Errors: those of writing; cancelled.
[[nodiscard]] result<void> write_trace(const pickle_document& document, const snapshot& recording, job& work);

}  // namespace sluice::importing::torch
