#include "core/summary/passes/finalize.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/files/scratch_file.hpp"
#include "core/summary/passes/planned_sections.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "core/summary/passes/reordered_copy.hpp"
#include "core/summary/passes/summing_up.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::summary {
namespace {

/// Bytes per event in an event store, as measured.
constexpr std::size_t bytes_an_event = 100;
/// A recording can be read quickly without sorting if it has at most `few_chunks` chunks, or at most `times_as_many`
/// times as many chunks as needed.
constexpr std::size_t few_chunks = 100;
constexpr std::size_t times_as_many = 2;

/// True for recordings that were written in order of arrival, every tenth of a second. The chunks of imports are full.
bool has_many_small_chunks(const trace::snapshot& trace, std::size_t rows_a_chunk) {
  std::map<trace::row_type, std::uint64_t> rows;
  for (const trace::chunk_info& chunk : trace.chunks()) rows[chunk.type] += chunk.rows;
  std::uint64_t full = 0;
  for (const auto& [type, count] : rows) full += (count + rows_a_chunk - 1) / rows_a_chunk;
  return trace.chunks().size() > std::max<std::uint64_t>(few_chunks, times_as_many * full);
}

/// The caller's callbacks for progress and cancellation.
class progress_observer {
 public:
  progress_observer(std::function<bool()> cancelled, std::function<void(double)> progress)
      : cancelled_(std::move(cancelled)), progress_(std::move(progress)) {}

  [[nodiscard]] bool wants_it() const { return !cancelled_ || !cancelled_(); }

  /// Reports that `share` (0..1) of a stage is completed. The stage takes from `begin` to `end` of the total time,
  /// 0..1.
  bool report_progress(double begin, double end, double share) {
    const double done = begin + (end - begin) * share;
    if (progress_ && done - reported_ >= 0.01) progress_(reported_ = done);
    return wants_it();
  }

  /// Returns a callback for a stage that calls the callback `times` times.
  [[nodiscard]] std::function<bool()> stage(double begin, double end, std::size_t times) {
    return [this, begin, end, times = static_cast<double>(times), now = 0.0]() mutable {
      return report_progress(begin, end, now++ / times);
    };
  }

 private:
  std::function<bool()> cancelled_;
  std::function<void(double)> progress_;
  double reported_ = 0;
};

/// The share of the total time after which the rows have been scanned, as measured.
constexpr double scanned = 0.1;

/// Ends `sums` with the rest of the recording, and writes the summary to `file`. `sums` must have seen all of the
/// recording.
result<void> sum_up(trace::file_writer& file, summing_up& sums, const std::vector<trace::section_row>& sections,
                    progress_observer& by, bool several_cores = true) {
  return sums.end(file, sections,
                  {several_cores, [&] { return by.wants_it(); },
                   [&](double share) { return by.report_progress(scanned, 1, share); }});
}

/// Sums up `trace`, after scanning it.
result<void> scan_and_sum_up(trace::file_writer& file, const trace::snapshot& trace,
                             const std::vector<trace::section_row>& sections, progress_observer by,
                             bool several_cores = true) {
  recording_scan known(trace, by.stage(0, scanned, trace.chunks().size()));
  if (!by.wants_it()) return fail(error_code::cancelled, "building the summary was cancelled", trace.path());
  summing_up sums(known);
  return sum_up(file, sums, sections, by, several_cores);
}

/// Writes the summary to a scratch file. Errors: those of `sum_up`; io, no_space.
result<std::shared_ptr<const trace::snapshot>> sum_up_apart(const trace::snapshot& trace,
                                                            const unfinished_options& options) {
  const auto scratch = scratch_file::make();
  if (!scratch) return tl::unexpected(scratch.error());
  auto file = trace::file_writer::create(*scratch);
  if (!file) return tl::unexpected(file.error());
  const auto sections = planned_sections(trace, options.section_events);
  const auto summed =
      scan_and_sum_up(*file, trace, sections, {options.cancelled, options.progress}, options.several_cores);
  // Report a failed close first, because a full disk is then the reason why the written data could not be read again.
  if (const auto closed = file->close(); !closed) return tl::unexpected(closed.error());
  if (!summed) return tl::unexpected(summed.error());
  const auto output = trace::file::open(scratch->path(), {.cache_bytes = summaries_cache});
  if (!output) return tl::unexpected(output.error());
  return trace.with_summaries(*(*output)->latest());
}

/// Replaces `file` by `file_writer`, which gets the current permissions of `file`.
result<void> replace(trace::file_writer& file, trace::file_writer& file_writer) {
  std::error_code none;
  const auto now = std::filesystem::status(file.path(), none).permissions();
  if (!none) std::filesystem::permissions(file_writer.path(), now, none);
  if (auto closed = file_writer.close(); !closed) return closed;
  return file.yield_place_to(file_writer);
}

/// Sorts the contents of `file` into a second file, and replaces `file` by that file. Errors: those of
/// `reorder_chunks`, and of creating and closing a file. After an error, `file` is unchanged.
result<void> finalize_reordered(trace::file_writer& file, const trace::snapshot& trace,
                                const std::function<bool()>& cancelled) {
  auto beside = file.create_beside();
  if (!beside) return tl::unexpected(beside.error());
  if (auto moved = reorder_chunks(trace, {}, *beside, [&] { return !cancelled(); }); !moved) return moved;
  return replace(file, *beside);
}

/// Sorts the contents of `file` like the function above, and adds a summary. `begun` may be null.
result<void> finalize_summed_up(trace::file_writer& file, const trace::snapshot& trace,
                                std::unique_ptr<reordered_copy> begun, double section_events,
                                const std::function<bool()>& cancelled) {
  if (!begun || !begun->is_part_of(file, trace)) {
    begun.reset();
    auto beside = reordered_copy::beside(file, section_events);
    if (!beside) return tl::unexpected(beside.error());
    begun = std::move(*beside);
  }
  reordered_copy& copy = *begun;
  if (auto moved = copy.complete(trace, [&] { return !cancelled(); }); !moved) return moved;
  const auto reordered = copy.snapshot();
  if (!reordered) return tl::unexpected(reordered.error());
  progress_observer by(cancelled, {});
  static_cast<void>(copy.is_scanned() ? sum_up(copy.file(), copy.sums(), copy.sections(), by)
                                      : scan_and_sum_up(copy.file(), **reordered, copy.sections(), by));
  return replace(file, copy.file());
}

}  // namespace

result<void> finalize(trace::file_writer& file, const finalize_options& options) {
  std::unique_ptr<reordered_copy> begun;
  if (options.begun != nullptr) begun = std::move(*options.begun);
  if (const auto flushed = file.flush(); !flushed || !file.is_at_its_path()) return file.close();
  const auto opened = trace::file::open(file.path(), {.for_its_writer = true});
  if (!opened) return file.close();
  const auto trace = (*opened)->latest();
  // If there is no summary, readers read the whole recording.
  const bool sums =
      events_in(*trace) >= std::max<std::uint64_t>(options.min_events, 1) && index::recorded_range(*trace).length() > 0;
  const auto cancelled = [&] { return options.cancel != nullptr && *options.cancel; };
  if (trace->warnings().empty()) {
    if (sums && finalize_summed_up(file, *trace, std::move(begun), options.section_events, cancelled)) return {};
    if (!sums && has_many_small_chunks(*trace, file.options().rows_per_chunk) &&
        finalize_reordered(file, *trace, cancelled))
      return {};
  }
  begun.reset();
  if (sums)
    static_cast<void>(scan_and_sum_up(file, *trace, planned_sections(*trace, options.section_events), {cancelled, {}}));
  return file.close();
}

bool exceeds_memory(const trace::snapshot& recording, std::size_t memory_bytes) {
  return events_in(recording) > left_for_indexes(memory_bytes, taken_while_summing_up) / bytes_an_event;
}

bool wants_summing_up(const trace::snapshot& recording, const unfinished_options& options) {
  const bool unfinished = !recording.complete() && !recording.has_summaries();
  return unfinished && exceeds_memory(recording, options.memory_bytes) && index::recorded_range(recording).length() > 0;
}

result<std::shared_ptr<const trace::snapshot>> summed_up(std::shared_ptr<const trace::snapshot> recording,
                                                         const unfinished_options& options) {
  if (!wants_summing_up(*recording, options)) return recording;
  auto apart = sum_up_apart(*recording, options);
  if (apart || apart.error().code == error_code::cancelled) return apart;
  return not_summed_up(*recording, apart.error());
}

std::shared_ptr<const trace::snapshot> not_summed_up(const trace::snapshot& recording, const error& why) {
  return recording.with_warning("the recording could not be summed up: " + why.message +
                                (why.hint.empty() ? "" : " (" + why.hint + ")") +
                                "; the whole recording is read instead, which takes more time and memory");
}

}  // namespace sluice::summary
