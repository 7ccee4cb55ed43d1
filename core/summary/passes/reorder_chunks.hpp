#pragma once

#include <functional>
#include <span>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Compaction: a recording is written as it comes, every tenth of a second, in chunks that hold whatever there was then; once it is
/// over, its chunks can be few and full, and hold what is looked at together.
namespace sluice::analysis {

/// Writes the rows of `from` into `to`, which is empty: tables first, then the events, section after section in order of (time, id). Of a
/// kind that has enough of them the events that begin in a section are in chunks of their own, and apart from those that reach beyond
/// it: so who asks about a section reads hardly anything that lies elsewhere. What kinds have few of is in chunks that go on over sections.
/// Attributes and links, of which the last word counts, stay in the order in which they came. Ids stay.
///
/// `goes_on` is asked before each chunk that is read. O(events * log(those of a kind that came together)); of each kind it holds what one section and the chunks
/// that begin in it hold, but no more than 131,072 rows and a chunk: what comes later than that is not put in order. Errors: io, corrupt, no_space; cancelled.
[[nodiscard]] result<void> reorder_chunks(const trace::snapshot& from, std::span<const trace::section_row> sections,
                                          trace::file_writer& to, const std::function<bool()>& goes_on);

}  // namespace sluice::analysis
