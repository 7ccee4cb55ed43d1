#pragma once

#include <atomic>
#include <cstdint>

#include "core/error.hpp"
#include "core/trace/writer.hpp"

/// Ending a recording: what sums it up is found out and added, so that it opens at once however large it is.
namespace sluice::analysis {

struct finish_options {
  /// A recording of fewer events is opened as fast without.
  std::uint64_t least_events = 100'000;
  /// So many events are to lie in an epoch. Fewer let a view that looks closer than any tile be drawn sooner, and take more of the file: of
  /// 10 million generated events 200,000, 50,000, 12,500 and 3,000 took 2.4, 3.0, 5.1 and 10.2 bytes each, and 46, 10, 8 and 6 ms for
  /// the worst zoom.
  double epoch_events = 50'000;
  /// Once true, the file is closed without what is still to be found out; looked at between epochs. Null: never.
  const std::atomic<bool>* cancel = nullptr;
};

/// Closes `file`, after adding summaries of what it holds (core/trace/summary_rows.hpp). Reads the file three times more, epoch after
/// epoch: it takes the memory of a few epochs, and some 400 bytes for each block that lives over the begin of one; and 0.3 to 0.6 us an
/// event, more where so many blocks live at once that an epoch's events are few beside them. What was written stays
/// readable whatever happens: a file that could not be read back is closed without. Errors: those of `close`.
result<void> finish(trace::file_writer& file, const finish_options& options = {});

}  // namespace sluice::analysis
