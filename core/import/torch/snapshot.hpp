#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/import/job.hpp"
#include "core/import/torch/pickle.hpp"

/// A PyTorch memory snapshot in rows of fixed size: the step between the pickle and the trace. Reads the keys written
/// by torch/csrc/cuda/Module.cpp and memory_snapshot.cpp, and older ones that torch/cuda/_memory_viz.py still reads.
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
  annotate,  ///< `torch.cuda.memory._annotate_memory`: something is said of a live block.
};

/// The id of a segment's pool; (0, 0) is the default pool.
using pool_name = std::pair<std::int64_t, std::int64_t>;

/// An index that no list of the document has.
inline constexpr std::uint32_t no_container = ~std::uint32_t{0};
inline constexpr std::int64_t no_time = INT64_MIN;

/// A key of an entry, or of a block, that has no place in the model; kept as an attribute.
struct extra {
  std::uint32_t entry = 0;  ///< Position in `history::entries` or `snapshot::blocks`.
  std::string_view key;
  pickle_value value;
};

struct entry {
  std::uint64_t address = 0;  ///< For `out_of_memory`: the device's free bytes.
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
  std::int64_t time_us = no_time;
  std::uint32_t frames = no_container;  ///< Index of a list in the document.
  std::uint32_t forward_frames =
      no_container;        ///< In a backward pass: the stack of the forward operation that it belongs to.
  std::uint32_t pool = 0;  ///< Position in `snapshot::pools` + 1; 0 if the entry names none.
  action what = action::other;
};
static_assert(sizeof(entry) == 48);

struct block {
  enum class state : std::uint8_t { inactive, allocated, pending_free };
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;
  std::uint32_t frames = no_container;
  state is = state::inactive;
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
  std::uint32_t first_block = 0, blocks = 0;  ///< Position and number in `snapshot::blocks`.
};

/// The history of one allocator: of a device, or of pinned host memory.
struct history {
  bool host = false;
  std::int64_t device = 0;
  huge_vector<entry> entries;  ///< In file order.
  std::vector<extra> extras;
};

struct annotation {
  enum class stage : std::uint8_t { mark, start, end };
  std::string_view name;
  std::int64_t device = 0;
  std::int64_t time_us = no_time;
  stage is = stage::mark;
};

struct snapshot {
  std::vector<history> histories;
  std::vector<segment> segments;       ///< Segments of device memory at the end of the history.
  std::vector<segment> host_segments;  ///< Segments of pinned memory at the end of the history.
  std::vector<block> blocks;
  std::vector<extra> block_extras;  ///< What `blocks` say that has no place in the model, in order of `extra::entry`.
  std::vector<pool_name> pools;     ///< The pools that entries name.
  std::vector<annotation> annotations;
  pickle_value settings;          ///< The dictionary `allocator_settings`, or none.
  bool overflowed = false;        ///< A history had no room for all entries: the first ones are missing.
  std::int64_t most_entries = 0;  ///< How many entries a history can hold; 0: unknown.
};

/// Extracts a snapshot from the pickle; counts what it does not understand in `work`. Linear in the pickle's size, even
/// if parts of it are shared. Errors: foreign, if the pickle is not a snapshot; cancelled.
[[nodiscard]] result<snapshot> read_snapshot(const pickle_document& from, job& work);

/// The first time in a snapshot, in us; 0 if it has none.
[[nodiscard]] std::int64_t first_time(const snapshot& of);
/// When the recording begins: at the first entry, which is time 0, or 1 ns before it if something is freed just then, so
/// that what was there before is seen to have been there.
[[nodiscard]] trace::time_ns begin_of(const snapshot& of, std::int64_t origin_us);

/// Removes impossible times, and counts them in `work`; the order of entries shows roughly when they were. Linear.
void drop_impossible_times(snapshot& of, job& work);

/// Writes the trace of the snapshot `of`. Errors: the writer's; cancelled.
[[nodiscard]] result<void> write_trace(const pickle_document& from, const snapshot& of, job& work);

}  // namespace sluice::importing::torch
