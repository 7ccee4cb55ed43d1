#pragma once

#include <optional>
#include <vector>

#include "core/metrics/base/stack_use.hpp"
#include "core/query/sources/sources.hpp"
#include "core/query/types/result_types.hpp"

/// Selects the memory for a query about stacks. The query counts only one layer (driver, pool, framework or user),
/// because layers contain one another.
namespace sluice::query {

/// The requested memory. A member that is not set accepts any value.
struct memory_wanted {
  std::optional<trace::layer> layer;
  std::optional<trace::device_id> device;
  std::optional<trace::memory_kind> kind;
};

/// Returns the choice for one listed memory, with its label.
[[nodiscard]] memory_choice make_choice(const metrics::listed_memory& listed, const trace::tables& tables);
/// Returns all memory of the recording, sorted by descending peak.
[[nodiscard]] std::vector<memory_choice> list_choices(const sources& source);

/// Returns the index in `choices` of the requested memory. By default, selects device memory, unless its peak is less
/// than a hundredth of the host's. Prefers memory with stacks, then the innermost layer whose peak is at least a
/// quarter of the largest one: blocks of a framework show which line needs memory, blocks of the driver only where the
/// framework ran out of memory. `choices` must be sorted by descending peak.
[[nodiscard]] std::optional<std::size_t> choose(const std::vector<memory_choice>& choices, const memory_wanted& wanted);

}  // namespace sluice::query
