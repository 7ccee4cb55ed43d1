#pragma once

#include <string>
#include <string_view>

#include "core/metrics/idle/gap_causes.hpp"
#include "core/query/types/gap_words.hpp"

/// Texts about idle gaps that panels share. Names must be printable.
namespace sluice::gui {

/// Describes the cause of a gap as findings do: "Synchronization (cuStreamSynchronize), at train.py:12 (step)".
/// `is_next`: `place` belongs to what ran after the gap.
[[nodiscard]] std::string describe_cause(metrics::gap_cause cause, std::string_view call, const std::string& place,
                                         bool is_next);

/// What samples say that the host did: "builds a plan for new shapes (cuDNN)"; empty without samples.
[[nodiscard]] std::string describe_samples(const query::gap_words& words);

/// The best known description of a gap: what samples say, with the line, if they name a reason; else the cause.
[[nodiscard]] std::string describe_gap(metrics::gap_cause cause, std::string_view call, const query::gap_words& words);

/// A few words for a box: the library, or the cause.
[[nodiscard]] std::string make_gap_label(metrics::gap_cause cause, const query::gap_words& words);

}  // namespace sluice::gui
