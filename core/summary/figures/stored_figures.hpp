#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/figures/diff.hpp"
#include "core/figures/listed_block.hpp"
#include "core/figures/report.hpp"
#include "core/figures/stack_use.hpp"
#include "core/index/memory/categories.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/work/steps.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

/// The figures from which questions about a whole recording are answered. They are small enough to store in the file,
/// so that opening it need not read its events. Each equals what an index of all events gives. Source line names are
/// not stored: the reader looks them up on its own machine.
namespace sluice::analysis {

class step_facts;

/// Call stacks for one kind of memory.
struct memory_stacks {
  listed_memory memory;
  stack_use at_peak;    ///< Blocks live when the total of this memory was highest.
  stack_use allocated;  ///< All blocks of this memory born in the recording.
};

/// Call stacks for copies of one direction on one device.
struct copy_stacks {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  stack_use use;
};

/// A time span in which the recorder lost events.
struct loss_span {
  time_ns begin = 0;
  time_ns end = trace::unknown_time;  ///< unknown_time: it is an instant.
  std::uint64_t events = 0;
  std::uint64_t memory_events = 0;  ///< How many of `events` are allocations and frees.
};

/// The number of blocks and the sum of their sizes.
struct block_sum {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

struct stored_figures {
  time_range span;  ///< Time span of the recording.
  report_figures figures;
  std::vector<memory_stacks> memory;  ///< Kinds of memory that were used, most bytes first.
  std::vector<copy_stacks> copies;    ///< By device and direction.
  stack_use all_copies;               ///< Copies of all devices and directions together.
  /// How the steps of each process were found. Its list of steps is empty: steps are stored as rows of the file.
  std::vector<process_steps> steps;
  std::vector<loss_span> losses;      ///< In order of time.
  bool uses_known = false;            ///< Uses of blocks were recorded.
  std::vector<listed_block> largest;  ///< Largest first, then by id; at most `block_limit` of each layer.
  std::vector<block_sum> blocks;      ///< All blocks that lived in the recording, for each layer.

  static constexpr std::size_t block_limit = 512;
};

/// Version of the stored bytes. Increase it when a stored member or the meaning of a figure changes.
inline constexpr std::uint32_t stored_figures_version = 10;
/// Readers ignore stored figures of other versions than from this one to `stored_figures_version`. A recording that has
/// only such figures stays readable: its figures are computed from its events again. Version 4 added what findings need
/// to know about waste; version 5 what copies to the host moved, zeros, what is said of an allocation that failed for want
/// of memory, and what an allocator would have reserved under other settings; version 6 the largest blocks of each layer
/// with their uses, what ranks need, tensors held in two types, growth that fragmentation forced, and the ranges in which
/// gaps lie. Versions from 6 on are still read: version 7 added gaps for which locks are the cause, and counts what is idle by
/// the work of its own process; version 8 added what hooks of modules make to the reasons of categories; version 9
/// how long ranks wait in rare waits; version 10 tells libraries' workspaces from gradients, and takes what a program frees while
/// it goes on for no growth.
inline constexpr std::uint32_t oldest_stored_figures = 6;
/// The name under which the file stores these figures.
inline constexpr std::string_view stored_figures_name = "digest";

/// Encodes the figures. Errors: invalid_argument if a value is too large (numbers of 2^61 or more, or 48 MiB in all).
[[nodiscard]] result<std::string> encode_stored_figures(const stored_figures& of);

/// Decodes figures that were stored with `version`. The bytes may be hostile: the result is safe to show, and uses at most
/// about 256 MiB. Errors: corrupt, with the offset in the bytes. Linear in the bytes.
[[nodiscard]] result<stored_figures> decode_stored_figures(std::string_view bytes,
                                                           std::uint32_t version = stored_figures_version);

/// The figures as a row for `file_writer::add_summary`. Errors: as for `encode_stored_figures`.
[[nodiscard]] result<trace::saved_row> saved_stored_figures(const stored_figures& of);

/// Reads the stored figures of a file. Null if the file has none that can be used: it was not closed, is small, has
/// figures of another version, or they are corrupt or describe other events. Reads the disk; does not cache.
[[nodiscard]] std::shared_ptr<const stored_figures> find_stored_figures(const trace::snapshot& trace);

/// The steps of the recording. Steps stored as rows of the file are read on first use.
[[nodiscard]] std::shared_ptr<const step_facts> steps_of(const stored_figures& of,
                                                         std::shared_ptr<const trace::snapshot> from);

/// Returns the figures that `compare` needs. O(stacks). Returns nothing if one is not stored: that of a memory (device,
/// layer, kind) whose allocations all have 0 bytes.
[[nodiscard]] std::optional<compared_figures> figures_to_compare(const stored_figures& of);

}  // namespace sluice::analysis
