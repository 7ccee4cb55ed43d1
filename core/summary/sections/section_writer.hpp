#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/index/index.hpp"
#include "core/index/recording_facts.hpp"
#include "core/trace/columns/codec.hpp"
#include "core/trace/file/writer.hpp"
#include "core/trace/model/summary_rows.hpp"

/// Writes what a file stores in addition to its events, so that sections can be indexed alone (see `section_reader`).
namespace sluice::analysis {

/// The name of the facts about the whole recording in the file, and their version. Version 2 has all of them, version 3 leaves
/// out the lists that grow with the recording: samples of untracked memory, which rows of samples tell, and segments. A file
/// has both, the short one first. Older readers look for version 2.
inline constexpr char sections_name[] = "parts";
inline constexpr std::uint32_t sections_version = 3;
inline constexpr std::uint32_t full_sections_version = 2;
inline constexpr std::size_t most_saved_bytes = trace::max_chunk_bytes / 2;

/// A block that a section cannot know from its own rows alone.
struct saved_block {
  block_record block;
  block_category category;
  block_touches uses;
  std::uint32_t boundary =
      0;  ///< The section boundary that stores the block (boundary_blocks.hpp); if it crosses none, its birth section.
  bool crosses = false;   ///< It crosses a boundary, or its death is inferred. If false, only its uses are stored.
  bool disputed = false;  ///< The block has contradictory rows somewhere, so all sections must know it.
  bool alone = false;     ///< `birth_order::is_alone`, where that matters. Not stored.
};

/// The starts of the sections, clamped to valid times (`bounded`).
[[nodiscard]] std::vector<time_ns> begins_of(std::span<const trace::section_row> sections);

/// True if a block must be stored, given its whole life and uses; false if the rows of its section tell all of this.
/// Sets `boundary` and `crosses`; reads `disputed`. O(log sections).
[[nodiscard]] bool is_kept(saved_block& block, std::span<const time_ns> begins);

/// The block's category as a row. Used if the category does not follow from the rows of its section.
[[nodiscard]] trace::block_category_row category_row_of(const saved_block& of);

/// Writes section data to a file. Each function writes complete chunks. Not thread-safe.
class section_writer {
 public:
  /// `begins` are those of the sections, at least one. `to` and `begins` must outlive the writer.
  section_writer(trace::file_writer& to, std::span<const time_ns> begins) : to_(to), begins_(begins) {}
  [[nodiscard]] std::span<const time_ns> begins() const { return begins_; }

  /// Writes the blocks, sorted so that blocks read together are stored together: those high in the tree of boundaries
  /// first, then by boundary and birth. Reorders `blocks`. O(n log n).
  void add_blocks(std::vector<saved_block>& blocks);
  /// Adds categories of blocks born in a section that `add_blocks` did not get. Later duplicates count. Sorts `rows`.
  void add_categories(std::size_t section, std::vector<trace::block_category_row>& rows);
  /// Adds the slices (kernels, copies, calls, ...) that run when a section other than the first begins.
  void add_open_slices(std::size_t section, std::span<const trace::open_slice_row> rows);
  /// Adds the latest sample of each counter, pool and device before a section, and the samples of devices in it.
  void add_samples(std::size_t section, std::span<const trace::last_sample_row> rows);
  /// Adds the first and the highest sample of each counter, pool and device. Call once.
  void add_first_and_highest(std::span<const trace::last_sample_row> rows);
  /// Adds the chunk index, which must be in memory (`chunk_index::known`), from entry `first` on.
  void add_chunks(const chunk_index& chunks, std::size_t first = 0);
  /// The same of an index that grows: as many as fill chunks of the file. Returns the number of the entry behind.
  [[nodiscard]] std::size_t add_full_chunks(const chunk_index& chunks, std::size_t first);
  void add_steps(const step_facts& steps);
  /// Adds the facts about the whole recording, in short and in full. False, and adds nothing, if they exceed what a chunk
  /// can hold.
  bool add_whole(recording_facts whole);

  /// Encodes facts as of `version`; nothing if they exceed what a chunk can hold.
  [[nodiscard]] static std::optional<trace::saved_row> saved(const recording_facts& whole,
                                                             std::uint32_t version = full_sections_version);

 private:
  trace::file_writer& to_;
  std::span<const time_ns> begins_;
};

/// The slices that run at `time`. `owner` is the position of a slice's stream, direction or thread in `from`.
[[nodiscard]] std::vector<trace::open_slice_row> open_slices_at(time_ns time, const index& from);

/// Converts the stored row of a running slice. Accepts corrupt rows.
[[nodiscard]] known_slice slice_of(const trace::open_slice_row& row);

}  // namespace sluice::analysis
