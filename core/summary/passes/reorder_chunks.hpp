#pragma once

#include <functional>
#include <span>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Sorts a finished recording. It was written as events came, in small chunks every tenth of a second; afterwards its
/// chunks can be few and full, and group what is read together.
namespace sluice::analysis {

/// Writes the rows of `from` to `to`, which is empty: tables first, then events, section by section, in order of (time,
/// id). For types with enough events, those that begin in a section get chunks of their own, and those that extend
/// beyond it separate ones. So a query about a section reads little else. Rare types share chunks across sections.
/// Attributes and links, where the last row counts, keep their order. Ids do not change.
///
/// Calls `goes_on` before each chunk. O(events * log(events of a type that came together)). Holds a section and its
/// chunks per type, up to 131,072 rows and a chunk; later rows stay unsorted. Errors: io, corrupt, no_space, cancelled.
[[nodiscard]] result<void> reorder_chunks(const trace::snapshot& from, std::span<const trace::section_row> sections,
                                          trace::file_writer& to, const std::function<bool()>& goes_on);

}  // namespace sluice::analysis
