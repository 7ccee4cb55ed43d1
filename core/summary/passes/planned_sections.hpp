#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

/// Plans the sections of a recording for its summary.
namespace sluice::summary {

/// True for chunks whose rows are events that have their own times.
[[nodiscard]] bool has_times(const trace::chunk_info& chunk);

/// Returns the number of events in a recording. O(chunks).
[[nodiscard]] std::uint64_t events_in(const trace::snapshot& trace);

/// Returns the latest start time of a row, estimated from the start times of `chunks`, so that a single row with a time
/// far in the future does not make all other rows look late. If no chunk has a time, returns the smallest possible
/// time. O(chunks).
[[nodiscard]] trace::time_ns newest_begin(std::span<const trace::chunk_info> chunks);

/// Plans sections of about `events` events each. Sections are larger where many blocks are live or if there are many
/// processes. `settled`: sections of an earlier plan, which are kept (`timeline::plan_sections`). O(chunks *
/// log(time)).
[[nodiscard]] std::vector<trace::section_row> planned_sections(const trace::snapshot& trace, double events,
                                                               std::span<const trace::section_row> settled = {});

/// Plans the sections that follow `settled` in a growing recording, up to time `until`
/// (`timeline::plan_next_sections`).
[[nodiscard]] std::vector<trace::section_row> next_sections(const trace::snapshot& growing, double events,
                                                            std::span<const trace::section_row> settled,
                                                            trace::time_ns until);

}  // namespace sluice::summary
