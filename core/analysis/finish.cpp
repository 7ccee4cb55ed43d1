#include "core/analysis/finish.hpp"

#include <algorithm>

#include "core/analysis/digest.hpp"
#include "core/analysis/part_store.hpp"
#include "core/analysis/tile_maker.hpp"
#include "core/free_memory.hpp"
#include "core/summary/tiles.hpp"
#include "core/trace/reader.hpp"

namespace sluice::analysis {
namespace {

/// Measured on recordings of 1 to 100 million events.
constexpr std::uint64_t bytes_an_event = 95;

}  // namespace

result<void> finish(trace::file_writer& file, const finish_options& options) {
  const auto flushed = file.flush();
  const auto opened = flushed ? trace::file::open(file.path()) : tl::unexpected<error>(flushed.error());
  if (!opened) return file.close();
  const auto trace = (*opened)->latest();
  std::uint64_t events = 0;
  for (const trace::chunk_info& chunk : trace->chunks()) events += trace::is_event(chunk.type) ? chunk.rows : 0;
  const std::uint64_t room = options.most_bytes != 0 ? options.most_bytes : free_memory_bytes() / 3 * 2;
  if (events < std::max<std::uint64_t>(options.least_events, 1) || events > room / bytes_an_event) return file.close();
  index all;
  while (!all.absorb(*trace, SIZE_MAX)) {
  }
  const time_range whole = whole_of(*trace);
  if (whole.end <= whole.begin) return file.close();
  const auto epochs =
      summaries::plan_epochs(whole.begin, whole.end - 1, trace->chunks(), std::max(options.epoch_events, 1.0));
  if (const auto saved = saved_digest(make_digest(all, *trace)))
    file.add_summary<trace::saved_row>(std::span(&*saved, 1));
  file.add_summary<trace::epoch_row>(epochs);
  save_parts(all, *trace, epochs, file);
  tile_maker tiles(file, epochs, *trace);
  tiles.add(all, 0, epochs.size() - 1);
  tiles.end();
  return file.close();
}

}  // namespace sluice::analysis
