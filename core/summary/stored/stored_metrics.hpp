#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/index/work/steps.hpp"
#include "core/metrics/base/listed_block.hpp"
#include "core/metrics/base/stack_use.hpp"
#include "core/metrics/comparison/diff.hpp"
#include "core/metrics/report/report.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

/// The metrics that answer queries about a whole recording. They are small enough to be stored in the file, so a file
/// can be opened without reading its events. Each metric equals the value computed from all events. Source line names
/// are not stored, because the reader looks them up on its own machine.
namespace sluice::index {
class step_facts;
}

namespace sluice::summary {

/// Call stacks for one kind of memory.
struct memory_stacks {
  metrics::listed_memory memory;
  metrics::stack_use at_peak;    ///< Blocks live when the use of this memory is highest.
  metrics::stack_use allocated;  ///< All blocks of this memory that were allocated in the recording.
};

/// Call stacks for copies of one direction on one device.
struct copy_stacks {
  trace::device_id device{};
  trace::direction direction = trace::direction::unknown;
  metrics::stack_use use;
};

/// A time span in which the recorder lost events.
struct loss_span {
  time_ns begin = 0;
  time_ns end = trace::unknown_time;  ///< `unknown_time` if the losses occurred at one instant.
  std::uint64_t events = 0;
  std::uint64_t memory_events = 0;  ///< Number of allocations and frees among `events`.
};

/// The number of blocks and the sum of their sizes.
struct block_sum {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

/// Everything that a file stores about the whole recording for the report and for queries.
struct stored_metrics {
  time_range span;  ///< Time span of the recording.
  metrics::report_metrics metrics;
  std::vector<memory_stacks> memory;  ///< The kinds of memory in use, most bytes first.
  std::vector<copy_stacks> copies;    ///< Sorted by device and direction.
  metrics::stack_use all_copies;      ///< Sum over the copies of all devices and directions.
  /// How the steps of each process were found. The lists of steps are empty here, because steps are stored as rows of
  /// the file.
  std::vector<index::process_steps> steps;
  std::vector<loss_span> losses;  ///< In order of time.
  bool uses_known = false;        ///< True if uses of blocks were recorded.
  /// The largest blocks of each layer, at most `block_limit`; sorted by size, largest first, then by id.
  std::vector<metrics::listed_block> largest;
  /// For each layer, the sum of all blocks that are live at any time in the recording.
  std::vector<block_sum> blocks;

  static constexpr std::size_t block_limit = 512;
};

/// The version of the stored bytes, which is `metrics::stored_version` (core/metrics/members.hpp).
extern const std::uint32_t stored_metrics_version;
/// Readers ignore stored metrics unless the version is between this version and `stored_metrics_version`. A recording
/// with only other metrics stays readable, because its metrics are recomputed from its events.
inline constexpr std::uint32_t oldest_stored_metrics = 6;
/// The name under which the file stores these metrics.
inline constexpr std::string_view stored_metrics_name = "digest";

/// Encodes the metrics. Errors: invalid_argument if a value is too large (numbers from 2^61 on, or 48 MiB in total).
[[nodiscard]] result<std::string> encode_stored_metrics(const stored_metrics& subject);

/// Decodes metrics that were stored in the format of `version`. The bytes may be hostile. The result is always safe to
/// show, and uses at most about 256 MiB. Errors: corrupt, with the offset in the bytes. O(bytes).
[[nodiscard]] result<stored_metrics> decode_stored_metrics(std::string_view bytes,
                                                           std::uint32_t version = stored_metrics_version);

/// Returns the metrics as a row for `file_writer::add_summary`. Errors: those of `encode_stored_metrics`.
[[nodiscard]] result<trace::saved_row> saved_stored_metrics(const stored_metrics& subject);

/// Reads the stored metrics of a file. Returns null if the file was not closed, is small, or has metrics of another
/// version, or if its metrics are corrupt or describe other events. Reads the disk, and does not cache the result.
[[nodiscard]] std::shared_ptr<const stored_metrics> find_stored_metrics(const trace::snapshot& trace);

/// Returns the steps of the recording. Steps that are stored as rows of the file are read on first use.
[[nodiscard]] std::shared_ptr<const index::step_facts> get_steps(const stored_metrics& subject,
                                                                 std::shared_ptr<const trace::snapshot> recording);

/// Returns the metrics that `compare` needs. Returns nothing if some of these metrics are not stored. Not stored are
/// the metrics of a kind of memory (device, layer, kind) whose allocations all have 0 bytes, and the causes of idle time
/// before version 11. O(stacks).
[[nodiscard]] std::optional<metrics::compared_metrics> metrics_to_compare(const stored_metrics& subject);

}  // namespace sluice::summary
