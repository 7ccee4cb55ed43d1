#pragma once

#include <functional>
#include <span>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Sorts the chunks of a finished recording. The recorder writes a small chunk every tenth of a second, as events come;
/// the sorted file has few, full chunks with rows that are read together.
namespace sluice::analysis {

class recording_scan;

/// Writes the rows of `from` to `to`, which is empty: tables first, then events, section by section, in order of (time,
/// id). A row type with enough rows in a section gets chunks for rows that end in the section, and separate chunks for
/// rows that end later, so that a query about a section reads little else. Rare types share chunks across sections.
/// Attributes and links, where the last row counts, keep their order. Ids do not change.
///
/// `scan`, if not null, gets the events as they are written; `recording_scan::end` is up to the caller.
///
/// Calls `goes_on` before each chunk. O(events * log(events in memory)). Of each row type, holds a section's rows in
/// memory, at most 131,072 and a chunk; larger sections are sorted in pieces. Errors: io, corrupt, no_space, cancelled.
[[nodiscard]] result<void> reorder_chunks(const trace::snapshot& from, std::span<const trace::section_row> sections,
                                          trace::file_writer& to, const std::function<bool()>& goes_on,
                                          recording_scan* scan = nullptr);

}  // namespace sluice::analysis
