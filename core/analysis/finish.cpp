#include "core/analysis/finish.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "core/analysis/digest_of_parts.hpp"
#include "core/analysis/kept_parts.hpp"
#include "core/analysis/part_store.hpp"
#include "core/analysis/survey.hpp"
#include "core/analysis/sweep.hpp"
#include "core/analysis/tile_maker.hpp"
#include "core/summary/tiles.hpp"
#include "core/trace/reader.hpp"

namespace sluice::analysis {
namespace {

/// Two indexes of so many are there at once, of some 10 MB each.
constexpr std::size_t epochs_a_run = 2;

std::uint64_t events_in(const trace::snapshot& trace) {
  std::uint64_t events = 0;
  for (const trace::chunk_info& chunk : trace.chunks()) events += trace::is_event(chunk.type) ? chunk.rows : 0;
  return events;
}

beside_parts beside_of(const survey& known, const swept& found) {
  beside_parts made;
  made.events = known.events();
  made.warnings = known.unreadable();
  if (const std::uint64_t malformed = known.malformed() + found.malformed; malformed > 0)
    made.warnings.push_back(words_of_malformed(malformed));
  made.messages = known.messages();
  made.faults = known.faults().faults();
  made.memories = known.memories();
  made.owners = &known.import_owners();
  made.contents = &known.contents();
  return made;
}

/// First what the parts of the recording must be told, which a sweep over its rows finds; then what indexes of those parts show. The
/// second reads what the first wrote. Stops where the file cannot be read back: readers leave half of it alone.
void sum_up(trace::file_writer& file, const trace::snapshot& trace, const finish_options& options) {
  const time_range span = whole_of(trace);
  const auto epochs =
      summaries::plan_epochs(span.begin, span.end - 1, trace.chunks(), std::max(options.epoch_events, 1.0));
  const std::vector<time_ns> begins = begins_of(epochs);
  const survey known(trace);
  parts_writer into(file, begins);
  const auto wanted = [&] { return options.cancel == nullptr || !*options.cancel; };
  swept found = sweep(known, known.steps(), into, wanted);
  if (!found.complete || !wanted()) return;
  const beside_parts beside = beside_of(known, found);
  const auto whole = std::make_shared<whole_facts>(std::move(found.whole));

  const auto swept_file = trace::file::open(file.path(), {.unfinished_summaries = true});
  if (!swept_file) return;
  const auto parts = part_store::of((*swept_file)->latest(), epochs, whole);
  tile_maker tiles(file, epochs, trace);
  const auto found_digest =
      digest_of(*parts, beside, epochs_a_run, [&](const index& from, std::size_t first, std::size_t last) {
        const bool added = tiles.add(from, first, last);
        return added && from.is_complete() && wanted();
      });
  if (!found_digest) return;
  tiles.end();
  tiles.put_highest(*whole);
  if (const auto saved = parts_writer::saved(*whole)) into.add_whole(*saved);
  if (const auto saved = saved_digest(*found_digest)) file.add_summary<trace::saved_row>(std::span(&*saved, 1));
  file.add_summary<trace::epoch_row>(epochs);
}

}  // namespace

result<void> finish(trace::file_writer& file, const finish_options& options) {
  if (const auto flushed = file.flush(); !flushed) return file.close();
  const auto opened = trace::file::open(file.path());
  if (!opened) return file.close();
  const auto trace = (*opened)->latest();
  const bool enough = events_in(*trace) >= std::max<std::uint64_t>(options.least_events, 1);
  if (enough && whole_of(*trace).length() > 0) sum_up(file, *trace, options);
  return file.close();
}

}  // namespace sluice::analysis
