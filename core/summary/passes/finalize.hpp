#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Ending a recording: it is put in order, and what sums it up is found out and added, so that it opens at once however large it is. And the
/// summing up, later, for one whose writer did not live to do so.
namespace sluice::analysis {

struct finalize_options {
  /// A recording of fewer events is opened as fast without.
  std::uint64_t least_events = 100'000;
  /// So many events are to lie in a section. Fewer let what lies below all tiles be drawn, and a block or an address be looked up, sooner,
  /// and take more of the file: of 100 million generated events 50,000, 25,000 and 12,500 took 2.9, 3.7 and 5.1 bytes each; the worst
  /// view that came from tiles to sections took 1.9 times as long with 50,000 as with 25,000, whose chunks are so small that an
  /// allocation takes 3.2 bytes instead of 3.
  double section_events = 50'000;
  /// Once true, the file is closed without what is still to be found out; looked at between sections. Null: never.
  const std::atomic<bool>* cancel = nullptr;
};

/// Closes `file`, after compacting it (compact.hpp) and adding summaries of what it holds (core/trace/model/summary_rows.hpp). One that needs no
/// summaries and whose chunks are full, as a short import's are, is closed as it is: it is read as a whole. Any other is written into a file
/// beside it, which takes its place once it is whole: until then it stays as it is, and where there is no room for both, or it says what
/// cannot be read, it is summed up as it is. Reads the file four times more, section after section: it takes the memory of a few sections, and
/// some 400 bytes for each block that lives over the begin of one; and 0.3 to 0.6 us an event, more where so many blocks live at once
/// that a section's events are few beside them. What was written stays readable whatever happens: a file that could not be read back, or
/// that was renamed meanwhile, is closed without summaries. Errors: those of `close`.
result<void> finalize(trace::file_writer& file, const finalize_options& options = {});

struct unfinished_options {
  /// What who asks may take of memory: a recording of which all events can be held within it is left as it is, for it opens sooner so.
  std::size_t memory_bytes = 400'000'000;
  double section_events = finalize_options{}.section_events;
  /// Once it says yes, the summing up ends; asked between chunks and between sections. Empty: never.
  std::function<bool()> cancelled{};
  /// Called with the share that is done, 0..1, a hundred times at most. May be empty.
  std::function<void(double)> progress{};
};

/// Whether an index of all events takes more memory than that, by what is measured. O(chunks).
[[nodiscard]] bool is_beyond(const trace::snapshot& recording, std::size_t memory_bytes);

/// Whether a recording has no end, for somebody still writes it or its writer died, and is so large that it is better summed up before
/// it is asked.
[[nodiscard]] bool wants_summing_up(const trace::snapshot& recording, const unfinished_options& options = {});

/// The snapshot of such a recording with summaries of what there is; of any other it is `recording`. They are in a scratch file, which goes
/// with the last snapshot that has it; the recording itself stays as it is, and is still not `complete()`. Costs as much as `finish`. Where the scratch
/// file cannot be written, or the recording contradicts itself, there are no summaries, and the warnings of the snapshot say why. Errors:
/// cancelled.
[[nodiscard]] result<std::shared_ptr<const trace::snapshot>> summed_up(std::shared_ptr<const trace::snapshot> recording,
                                                                       const unfinished_options& options = {});

}  // namespace sluice::analysis
