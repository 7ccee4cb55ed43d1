#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/figures/diff.hpp"
#include "core/figures/report.hpp"
#include "core/figures/stack_use.hpp"
#include "core/index/memory/categories.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/work/steps.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

/// What questions about a whole recording are answered from, so small that it can be kept in the file: whoever opens the file later
/// need not take in its events. Every figure is exactly what the index of all events says. Names of lines are not in it: they
/// are looked up by whoever reads it, on the machine where it is read.
namespace sluice::analysis {

class step_facts;

/// The stacks of one kind of memory.
struct memory_stacks {
  memory_standing standing;
  stack_use at_peak;    ///< At the highest total of the recording.
  stack_use allocated;  ///< Of all blocks born in it.
};

/// The stacks of the copies of one direction on one device.
struct copy_stacks {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  stack_use use;
};

/// A time in which the recorder lost events.
struct loss_span {
  time_ns begin = 0;
  time_ns end = trace::unknown_time;  ///< unknown_time: an instant.
  std::uint64_t events = 0;
  std::uint64_t memory_events = 0;  ///< Of those, allocations and frees.
};

/// A block, as lists show it.
struct listed_block {
  trace::block_id block{};
  trace::event_id alloc{};
  trace::device_id device{};
  trace::stream_id stream{};
  trace::pool_id pool{};
  trace::string_id name{};
  time_ns born = 0;
  time_ns died = trace::unknown_time;  ///< unknown_time: never freed.
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  block_category category;
};

struct stored_figures {
  time_range span;  ///< Of the recording.
  report_figures figures;
  std::vector<memory_stacks> memory;  ///< What was used at all, most bytes first.
  std::vector<copy_stacks> copies;    ///< By device and direction.
  stack_use all_copies;               ///< Of every device and direction.
  /// How the steps of each process that has any were found. The steps themselves are rows of the file, so these lists are empty.
  std::vector<process_steps> steps;
  std::vector<loss_span> losses;      ///< In the order of the file.
  std::vector<listed_block> largest;  ///< Biggest first, then by id, of all layers; at most `block_limit`.
  std::uint64_t block_count = 0;      ///< Of all blocks that lived in the recording.
  std::uint64_t block_bytes = 0;      ///< Likewise; it may add up several layers.

  static constexpr std::size_t block_limit = 512;
};

/// Of a recording that ended. `from` must have taken in all of `trace`. O((blocks + copies) log), and what a summary takes.
[[nodiscard]] stored_figures make_stored_figures(const index& from, const trace::snapshot& trace);

/// Of the bytes below. It has to change with anything that is kept, and with what any kept figure means: a reader leaves stored figures of
/// another version alone.
inline constexpr std::uint32_t stored_figures_version = 2;
/// What it is called in the file.
inline constexpr std::string_view stored_figures_name = "digest";

/// As bytes. Errors: invalid_argument, where the recording says what no stored figures can hold (a number of 2^61 or more, 48 MiB).
[[nodiscard]] result<std::string> encode_stored_figures(const stored_figures& of);

/// The inverse. The bytes may be hostile: what comes back is safe to be shown, and took at most about 256 MiB. Errors: corrupt, with
/// the offset in the bytes. Linear in the bytes.
[[nodiscard]] result<stored_figures> decode_stored_figures(std::string_view bytes);

/// As a row to be added to the file (`file_writer::add_summary`). Errors: as `encode_stored_figures`.
[[nodiscard]] result<trace::saved_row> saved_stored_figures(const stored_figures& of);

/// The one that the file has. Null if it has none: it was not closed, is small, or comes from another version of this program; or its
/// stored figures is damaged or of other events. Reads the disk; nothing is kept.
[[nodiscard]] std::shared_ptr<const stored_figures> find_stored_figures(const trace::snapshot& trace);

/// The steps of the recording that it is of: those that its file keeps are read when somebody asks for one.
[[nodiscard]] std::shared_ptr<const step_facts> steps_of(const stored_figures& of,
                                                         std::shared_ptr<const trace::snapshot> from);

/// The same of a whole recording, from what is kept of it: O(stacks). None if something is compared that no stored figures keeps, which are
/// allocations of no bytes where there are no others.
[[nodiscard]] std::optional<compared_figures> figures_to_compare(const stored_figures& of);

}  // namespace sluice::analysis
