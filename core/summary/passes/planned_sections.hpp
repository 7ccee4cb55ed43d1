#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

/// The sections of a recording, for its summary.
namespace sluice::analysis {

/// True for chunks of events that have a time of their own.
[[nodiscard]] bool has_times(const trace::chunk_info& chunk);

/// The number of events in a recording. O(chunks).
[[nodiscard]] std::uint64_t events_in(const trace::snapshot& trace);

/// The latest begin of a row, by the begins of `chunks`: one row with a time far in the future must not make everything look late.
/// The least time there is, if none has a time. O(chunks).
[[nodiscard]] trace::time_ns newest_begin(std::span<const trace::chunk_info> chunks);

/// Plans sections of about `events` events each, more where many blocks live or of many processes. `settled`: sections
/// of an earlier plan, which stay (`timeline::plan_sections`). O(chunks * log(time)).
[[nodiscard]] std::vector<trace::section_row> planned_sections(const trace::snapshot& trace, double events,
                                                               std::span<const trace::section_row> settled = {});

/// The sections behind `settled` of a recording that grows, up to time `until` (`timeline::plan_next_sections`).
[[nodiscard]] std::vector<trace::section_row> next_sections(const trace::snapshot& growing, double events,
                                                            std::span<const trace::section_row> settled,
                                                            trace::time_ns until);

}  // namespace sluice::analysis
