#pragma once

#include <cstdint>

#include "core/error.hpp"
#include "core/trace/writer.hpp"

/// Ending a recording: what sums it up is found out and added, so that it opens at once however large it is.
namespace sluice::analysis {

struct finish_options {
  /// A recording of fewer events is opened as fast without.
  std::uint64_t least_events = 100'000;
  /// One that would take more memory than this to sum up is closed without. 0: two thirds of what the machine,
  /// and the container, have left.
  std::uint64_t most_bytes = 0;
  /// So many events are to lie in an epoch.
  double epoch_events = 200'000;
};

/// Closes `file`, after adding summaries of what it holds (core/trace/summary_rows.hpp). Reads the file once more and keeps some 90
/// bytes an event in memory while it does; takes some 0.3 us an event. What was written stays readable whatever happens: a file
/// that could not be read back is closed without. Errors: those of `close`.
result<void> finish(trace::file_writer& file, const finish_options& options = {});

}  // namespace sluice::analysis
