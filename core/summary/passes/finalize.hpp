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

/// Closes a recording: sorts its events, and adds the summary with which a file of any size opens at once. If the
/// writer was killed before it could close the recording, this code can also build the summary later.
namespace sluice::summary {

class reordered_copy;

struct finalize_options {
  /// A recording with fewer events gets no summary, because it opens just as fast without one.
  std::uint64_t min_events = 100'000;
  /// Target number of events per section. Smaller sections speed up zooming in below the tiles, and looking up a block
  /// or an address, but enlarge the file: with 50,000, 25,000 and 12,500 events per section, a file of 100 million
  /// generated events takes 2.9, 3.7 and 5.1 bytes per event. The worst view that switched from tiles to sections took
  /// 1.9 times as long with 50,000 events as with 25,000. With 25,000 events, chunks are shorter, so even the rows
  /// themselves compress less well: an allocation takes 3.2 bytes instead of 3.
  double section_events = 50'000;
  /// Once this becomes true, the file is closed without the rest of the summary. It is checked between sections. Null:
  /// the work cannot be cancelled.
  const std::atomic<bool>* cancel = nullptr;
  /// The part that `reorder_thread` has already sorted. The call takes this part over. Null if there is no such part.
  std::unique_ptr<reordered_copy>* begun = nullptr;
};

/// Closes `file` after sorting it (reorder_chunks.hpp) and adding its summary (core/trace/model/summary_rows.hpp). A
/// file that needs no summary and has full chunks, such as a short import, is closed unchanged. Any other file is
/// written to a second file, which replaces the first when it is complete.
///
/// Cost: the call reads the file three more times, section by section. It takes memory for a few sections plus some 400
/// bytes for each block that is live at the start of a section (`section_pass`). With many processes, a section takes
/// more memory: 64 ranks with 400,000 events take 450 MB. The call takes 0.3 to 0.6 us of processor time per event, and
/// more if a section has few events but many live blocks. Most of that time is spread over the available cores, at most
/// sixteen. If there are more than a million events, the work that `reorder_thread` did during recording is not
/// repeated.
///
/// Failures: written data always stays readable. If there is no space for both files, or some data is unreadable, the
/// summary is added to the unsorted file. A file that cannot be read back, or was renamed in the meantime, is closed
/// without a summary. Errors: those of `close`.
result<void> finalize(trace::file_writer& file, const finalize_options& options = {});

struct unfinished_options {
  /// The caller's memory limit, in bytes. If an event store of all events fits into this limit, no summary is built,
  /// because the recording then opens faster without a summary.
  std::size_t memory_bytes = usual_memory_limit;
  double section_events = finalize_options{}.section_events;
  /// See `stored_metrics_options`. Set this to false for work that must not slow down other work.
  bool several_cores = true;
  /// Returns true to stop building the summary. It is called between chunks and between sections, from any thread. If
  /// empty, building never stops early.
  std::function<bool()> cancelled{};
  /// This is called at most a hundred times with the share of the work completed, 0..1. May be empty.
  std::function<void(double)> progress{};
};

/// True if an event store of all events would take more than `memory_bytes`, estimated from measurements. O(chunks).
[[nodiscard]] bool exceeds_memory(const trace::snapshot& recording, std::size_t memory_bytes);

/// True if the recording is unfinished (still being written, or its writer was killed) and so large that it should be
/// summarized before it is queried.
[[nodiscard]] bool wants_summing_up(const trace::snapshot& recording, const unfinished_options& options = {});

/// If `wants_summing_up`, returns the snapshot with a summary, else returns `recording` unchanged. The summary is in a
/// scratch file, which is deleted with the last snapshot that uses it. The recording itself does not change, and is
/// still not `complete()`. The call costs as much as `finalize`. If the scratch file cannot be written or the recording
/// contradicts itself, there is no summary, and the warnings of the snapshot say why. Errors: cancelled.
[[nodiscard]] result<std::shared_ptr<const trace::snapshot>> summed_up(std::shared_ptr<const trace::snapshot> recording,
                                                                       const unfinished_options& options = {});

/// Returns `recording` with a warning that it could not be summarized, which includes the reason `why`.
[[nodiscard]] std::shared_ptr<const trace::snapshot> not_summed_up(const trace::snapshot& recording, const error& why);

}  // namespace sluice::summary
