#pragma once

#include <atomic>
#include <cstdint>

#include "core/index/event_store.hpp"
#include "core/query/sources/stored_sources.hpp"
#include "core/symbols/frames.hpp"

/// The data from which results are computed. Private to core/query.
namespace sluice::query {

/// The data that a drawing may read from the file. Where data is not in memory and may not be read, the drawing is
/// coarser.
enum class drawn_from : std::uint8_t { memory, tiles, sections };

/// The input of one query.
struct sources {
  const index::event_store& index;  ///< The index of the whole recording, or of the sections in the query's range.
  const trace::snapshot& trace;
  const std::atomic<bool>& cancelled;  ///< Set when the result is no longer wanted.
  symbols::frame_cache& frames;
  symbols::frame_cache::lookup lookup = symbols::frame_cache::lookup::at_once;  ///< How native symbols are resolved.
  const stored_sources* stored = nullptr;  ///< The file's summaries, or null. If they suffice, `index` may be empty.
  summary::bin_detail* detail = nullptr;   ///< If set, raised when a drawing is coarser than requested.
  bool& provisional;  ///< Set to true if the symbols of some frames in the result are not resolved yet.
  drawn_from draws = drawn_from::sections;
};

[[nodiscard]] inline bool has_sections(const sources& source) {
  return source.stored != nullptr && source.stored->sections != nullptr;
}

/// Returns sources that have only the index `part`.
[[nodiscard]] inline sources with_index(const sources& source, const index::event_store& part, bool& provisional) {
  return {part, source.trace, source.cancelled, source.frames, source.lookup, nullptr, nullptr, provisional};
}

/// True if the metrics in `from.stored` are those of `range`. In a growing recording, `range` may also contain newer
/// events, which the metrics lack.
[[nodiscard]] inline bool has_metrics_of(time_range range, const sources& source) {
  const time_range asked = bounded(range), known = source.stored->metrics->span;
  return asked == known || (source.trace.growing() && asked.begin == known.begin && asked.end >= known.end);
}

/// The largest `width` of a query, in pixels, which bounds its cost. No view is wider.
inline constexpr std::uint32_t widest_view = 16384;

/// Returns the steps, and the categories if known. `tensor_facts::steps` is always set.
[[nodiscard]] inline std::shared_ptr<const index::tensor_facts> get_facts(const sources& source) {
  return source.stored != nullptr ? source.stored->facts : source.index.tensors(source.trace);
}

}  // namespace sluice::query
