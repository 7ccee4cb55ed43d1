#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/index/event_store.hpp"
#include "core/index/recording_facts.hpp"
#include "core/trace/columns/codec.hpp"
#include "core/trace/file/writer.hpp"
#include "core/trace/model/summary_rows.hpp"

/// Writes the data that a file stores in addition to its events, so that a section can be read without the other
/// sections (see `section_reader`).
namespace sluice::summary {

/// The name under which the file stores facts about the whole recording, and the versions of these facts. Version 2 has
/// all facts. Version 3 omits the lists that grow with the recording: segments, and samples of untracked memory, which
/// can be derived from sample rows. A file has both versions, version 3 first. Older readers look for version 2.
inline constexpr char sections_name[] = "parts";
inline constexpr std::uint32_t sections_version = 3;
inline constexpr std::uint32_t full_sections_version = 2;
/// The limit on encoded facts, in bytes: `section_writer::saved` returns nothing above it.
inline constexpr std::size_t max_saved_bytes = trace::max_chunk_bytes / 2;

/// A block that a section cannot determine from its own rows alone.
struct saved_block {
  index::block_record block;
  index::block_category category;
  index::block_touches uses;
  /// The result of `find_keeper` (boundary_blocks.hpp): the boundary at which the block is stored. If there is none:
  /// the section in which the block was allocated.
  std::uint32_t boundary = 0;
  /// True if `find_keeper` has a result: the block crosses a section boundary, or its free is inferred. False for a
  /// block that is stored for another reason (uses in other sections, `disputed`).
  bool crosses = false;
  bool disputed = false;  ///< True if some rows about the block contradict each other, so that all sections must know
                          ///< the block.
  /// True if the block's thread allocated no other block during the block's lifetime (`birth_order::is_alone`). Set
  /// only if the category may depend on this. Not stored.
  bool alone = false;
};

/// Returns the start times of the sections, clamped to valid times (`bounded`).
[[nodiscard]] std::vector<time_ns> collect_begins(std::span<const trace::section_row> sections);

/// Returns true if a block, with its complete lifetime and uses, must be stored. Returns false if the rows of its
/// section are sufficient. Reads `disputed`, and sets `boundary` and `crosses`. O(log sections).
[[nodiscard]] bool is_kept(saved_block& block, std::span<const time_ns> begins);

/// Returns the block's category as a row. The row is needed if the category does not follow from the rows of the
/// block's section.
[[nodiscard]] trace::block_category_row get_category_row(const saved_block& block);

/// Writes section data to a file. Each function writes complete chunks. Not thread-safe.
class section_writer {
 public:
  /// `begins` are the start times of the sections; there must be at least one. `to` and the array of `begins` must
  /// outlive the writer.
  section_writer(trace::file_writer& to, std::span<const time_ns> begins) : to_(to), begins_(begins) {}
  [[nodiscard]] std::span<const time_ns> begins() const { return begins_; }

  /// Writes the blocks, sorted so that blocks that are read together are stored together. They are sorted by height in
  /// the tree of boundaries, highest first, then by boundary and allocation time. Reorders `blocks`. O(n log n).
  void add_blocks(std::vector<saved_block>& blocks);
  /// Adds the categories of blocks that were allocated in a section and not passed to `add_blocks`. If a block has
  /// several rows, the last counts. Sorts `rows`.
  void add_categories(std::size_t section, std::vector<trace::block_category_row>& rows);
  /// Adds the slices (kernels, copies, calls, ...) that run when a section other than the first begins.
  void add_open_slices(std::size_t section, std::span<const trace::open_slice_row> rows);
  /// Adds the last sample of each counter, pool and device before a section, and the samples of devices in the section.
  void add_samples(std::size_t section, std::span<const trace::last_sample_row> rows);
  /// Adds the first and the highest sample of each counter, pool and device. Must be called only once.
  void add_first_and_highest(std::span<const trace::last_sample_row> rows);
  /// Adds the chunk index, which must be in memory (`chunk_index::known`), from entry `first` on.
  void add_chunks(const index::chunk_index& chunks, std::size_t first = 0);
  /// Like `add_chunks`, but for a growing index. Adds as many entries as fill whole chunks of the file. Returns the
  /// number of the next entry.
  [[nodiscard]] std::size_t add_full_chunks(const index::chunk_index& chunks, std::size_t first);
  void add_steps(const index::step_facts& steps);
  /// Adds the facts about the whole recording, both in version 3 and in version 2. If they exceed the capacity of a
  /// chunk, adds nothing and returns false.
  bool add_whole(index::recording_facts whole);

  /// Encodes facts in the format of `version`. Returns nothing if the encoded facts exceed the capacity of a chunk.
  [[nodiscard]] static std::optional<trace::saved_row> saved(const index::recording_facts& whole,
                                                             std::uint32_t version = full_sections_version);

 private:
  trace::file_writer& to_;
  std::span<const time_ns> begins_;
};

/// Returns the slices that run at `time`. In each row, `owner` is the position in `store` of the slice's stream,
/// direction or thread.
[[nodiscard]] std::vector<trace::open_slice_row> open_slices_at(time_ns time, const index::event_store& store);

/// Converts the stored row of a running slice to a slice. Accepts corrupt rows.
[[nodiscard]] index::known_slice make_slice(const trace::open_slice_row& row);

}  // namespace sluice::summary
