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

/// What a file keeps beside its sections, so that an index of some of them can be made from their rows (`section_reader` reads it).
namespace sluice::analysis {

/// A block that a part cannot know from its own rows.
struct saved_block {
  block_record block;
  block_category category;
  block_touches uses;
  std::uint32_t boundary =
      0;  ///< That keeps it (boundary_blocks.hpp); of one that crosses none, the section that it is born in.
  bool crosses = false;   ///< Or its death is inferred. Else only its uses are told: some lie in other sections.
  bool disputed = false;  ///< Rows contradict each other, anywhere: every part is told of it.
};

/// The begins of sections, bounded.
[[nodiscard]] std::vector<time_ns> begins_of(std::span<const trace::section_row> sections);

/// How a block is to be kept, given its whole life and uses; nothing, if the part that it lives in finds out all of it.
/// `boundary`, `crosses` are set; `disputed` is as told. O(log sections).
[[nodiscard]] bool is_kept(saved_block& block, std::span<const time_ns> begins);

/// What a block is for that no row tells whole.
[[nodiscard]] trace::block_category_row category_row_of(const saved_block& of);

/// Writes it: what each function adds to the file is whole. Not thread-safe.
class section_writer {
 public:
  /// `begins` of the sections, at least one. Both outlive the writer.
  section_writer(trace::file_writer& to, std::span<const time_ns> begins) : to_(to), begins_(begins) {}
  [[nodiscard]] std::span<const time_ns> begins() const { return begins_; }

  /// Sorts them, and puts those together that are read together: the ones kept high in the tree of boundaries first, then by boundary
  /// and birth. O(n log n).
  void add_blocks(std::vector<saved_block>& blocks);
  /// What other blocks are for that are born in a section. If they are told twice, the later word counts. Sorts the rows.
  void add_categories(std::size_t section, std::vector<trace::block_category_row>& rows);
  /// What runs at the begin of a section but the first.
  void add_open_slices(std::size_t section, std::span<const trace::open_slice_row> rows);
  /// The samples in force there.
  void add_samples(std::size_t section, std::span<const trace::last_sample_row> rows);
  /// The first sample of each thing and the highest, once.
  void add_first_and_highest(std::span<const trace::last_sample_row> rows);
  /// What its chunks are about, which must be known.
  void add_chunks(const chunk_index& chunks);
  void add_steps(const step_facts& steps);
  /// What the recording shows as a whole, as `saved` made it.
  void add_whole(const trace::saved_row& row) { to_.add_summary<trace::saved_row>(std::span(&row, 1)); }

  /// Nothing, if that would take more than a chunk can hold.
  [[nodiscard]] static std::optional<trace::saved_row> saved(const recording_facts& whole);

 private:
  trace::file_writer& to_;
  std::span<const time_ns> begins_;
};

/// What runs at `time`, with owners by their position in `from`.
[[nodiscard]] std::vector<trace::open_slice_row> open_slices_at(time_ns time, const index& from);

/// As they are told to a part. The row may be hostile.
[[nodiscard]] known_slice slice_of(const trace::open_slice_row& row);

/// Of the `parts` that a file keeps.
inline constexpr char sections_name[] = "parts";
inline constexpr std::uint32_t sections_version = 2;
inline constexpr std::size_t most_saved_bytes = trace::max_chunk_bytes / 2;

}  // namespace sluice::analysis
