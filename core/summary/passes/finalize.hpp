#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/error.hpp"
#include "core/summary/memory_limit.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Closes a recording: sorts its events, and adds the summary that lets a file of any size open at once. Also builds
/// that summary later, if the writer was killed before it could.
namespace sluice::analysis {

class reordered_copy;

struct finalize_options {
  /// A recording with fewer events gets no summary: it opens as fast without.
  std::uint64_t least_events = 100'000;
  /// Target for the events in a section. Smaller sections speed up zooming in below the tiles, and looking up a block
  /// or an address, but enlarge the file: 100 million generated events took 2.9, 3.7 and 5.1 bytes each at 50,000,
  /// 25,000 and 12,500. The worst view that switched from tiles to sections took 1.9 times as long at 50,000 as at
  /// 25,000, where chunks are so small that an allocation takes 3.2 bytes instead of 3.
  double section_events = 50'000;
  /// When this becomes true, the file is closed without the rest of the summary. Checked between sections. Null: never.
  const std::atomic<bool>* cancel = nullptr;
  /// What `reorder_thread` has put in order already; taken over. Null: nothing.
  std::unique_ptr<reordered_copy>* begun = nullptr;
};

/// Closes `file` after sorting it (reorder_chunks.hpp) and adding its summary (core/trace/model/summary_rows.hpp). A
/// file that needs no summary and has full chunks, such as a short import, is closed unchanged. Any other is written to
/// a second file, which replaces it when complete. If there is no space for both, or some data is unreadable, the
/// summary is added to the unsorted file. Reads the file three more times, section by section, with the memory of a few
/// sections plus some 400 bytes for each block that lives across the begin of one (section_pass). With many processes
/// a section holds more: 64 ranks of 400,000 events take 450 MB. Takes 0.3 to 0.6 us of processor time per event, more if
/// a section has few events but many live blocks; most of it is spread over the cores that there are, at most sixteen.
/// Of more than a million events, what `reorder_thread` has done while they were recorded is not done again.
/// Written data always stays readable: a file that cannot be read back, or was renamed meanwhile, is closed without a
/// summary. Errors: those of `close`.
result<void> finalize(trace::file_writer& file, const finalize_options& options = {});

struct unfinished_options {
  /// The caller's memory limit. No summary is built if an index of all events fits: the recording then opens faster.
  std::size_t memory_bytes = usual_memory_limit;
  double section_events = finalize_options{}.section_events;
  bool several_cores =
      true;  ///< See `stored_figures_options`. False for work that must not be in the way of other work.
  /// Returns true to stop building the summary. Called between chunks and between sections, from any thread. Empty: never.
  std::function<bool()> cancelled{};
  /// Called with the share done, 0..1, at most a hundred times. May be empty.
  std::function<void(double)> progress{};
};

/// True if an index of all events would take more than `memory_bytes` (estimated from measurements). O(chunks).
[[nodiscard]] bool is_beyond(const trace::snapshot& recording, std::size_t memory_bytes);

/// True if the recording is unfinished (still being written, or its writer died) and so large that a summary should be
/// built before querying it.
[[nodiscard]] bool wants_summing_up(const trace::snapshot& recording, const unfinished_options& options = {});

/// Returns the snapshot with a summary added if `wants_summing_up`, else `recording` unchanged. The summary is in a
/// scratch file, deleted with the last snapshot that uses it. The recording is not changed, and still not `complete()`.
/// Costs as much as `finalize`. If the scratch file cannot be written or the recording contradicts itself, there is no
/// summary and the snapshot's warnings say why. Errors: cancelled.
[[nodiscard]] result<std::shared_ptr<const trace::snapshot>> summed_up(std::shared_ptr<const trace::snapshot> recording,
                                                                       const unfinished_options& options = {});

/// Returns `recording` with a warning that it could not be summed up, and `why`.
[[nodiscard]] std::shared_ptr<const trace::snapshot> not_summed_up(const trace::snapshot& recording, const error& why);

}  // namespace sluice::analysis
