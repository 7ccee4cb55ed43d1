#include "core/analysis/finish.hpp"

#include <algorithm>

#include "core/analysis/curves.hpp"
#include "core/analysis/digest.hpp"
#include "core/analysis/part_store.hpp"
#include "core/analysis/tensors.hpp"
#include "core/analysis/tile_bins.hpp"
#include "core/free_memory.hpp"
#include "core/summary/tiles.hpp"
#include "core/trace/reader.hpp"

namespace sluice::analysis {
namespace {

using summaries::tile;

/// Measured on recordings of 1 to 100 million events.
constexpr std::uint64_t bytes_an_event = 95;

/// Fills and writes the tiles of a recording, the epochs first, those over them as soon as their parts are there.
class tiler {
 public:
  tiler(trace::file_writer& to, std::span<const trace::epoch_row> epochs, std::span<const index_curve> curves,
        std::span<const index_slices> slices, time_ns end)
      : to_(to), epochs_(epochs), curves_(curves), slices_(slices), end_(end) {}

  filled_tile make(const tile& where) {
    filled_tile made;
    const auto epoch = std::lower_bound(epochs_.begin(), epochs_.end(), where.begin,
                                        [](const trace::epoch_row& row, time_ns time) { return row.time < time; });
    if (epoch->end == where.end()) {
      made = fill_tile(where, curves_, slices_, end_);
    } else {
      const unsigned level = where.level - trace::tile_fan_out_log2;
      std::vector<filled_tile> parts;
      for (time_ns begin = where.begin; begin < where.end(); begin += time_ns{1} << level)
        parts.push_back(make({begin, level}));
      made = join_tiles(parts);
    }
    write_tile(to_, where, made);
    return made;
  }

 private:
  trace::file_writer& to_;
  std::span<const trace::epoch_row> epochs_;
  std::span<const index_curve> curves_;
  std::span<const index_slices> slices_;
  time_ns end_;
};

void add_tiles(trace::file_writer& to, const index& all, const trace::snapshot& trace,
               std::span<const trace::epoch_row> epochs) {
  const time_range whole = whole_of(trace);
  const auto facts = all.tensors(trace);
  const std::vector<index_curve> curves = curves_of(all, facts.get(), whole);
  const std::vector<index_slices> slices = slices_of(all);
  std::vector<trace::curve_row> curve_rows;
  for (const index_curve& curve : curves) curve_rows.push_back(curve.about);
  to.add_summary<trace::curve_row>(curve_rows);
  to.add_summary<trace::lane_row>(lane_rows(slices));
  tiler tiles(to, epochs, curves, slices, whole.end);
  for (const tile& root : summaries::root_tiles(whole.begin, whole.end - 1)) tiles.make(root);
}

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
  add_tiles(file, all, *trace, epochs);
  return file.close();
}

}  // namespace sluice::analysis
