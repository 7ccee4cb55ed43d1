#pragma once

#include <array>
#include <string_view>

#include "core/trace/model/kinds.hpp"

/// The names of the data model's enumeration values in SQL, JSON and CSV. Users write these names in queries, so never
/// change one.
namespace sluice::trace {

/// The names of an enum's values, indexed by value.
template <class Enum>
inline constexpr std::array<std::string_view, 0> get_words{};

#define SLUICE_WORDS(name, ...)                                                         \
  template <>                                                                           \
  inline constexpr auto get_words<name> = std::to_array<std::string_view>(__VA_ARGS__); \
  static_assert(get_words<name>.size() == enum_values<name>);
SLUICE_WORDS(provenance, {"exact", "sampled", "estimated", "inferred"})
SLUICE_WORDS(layer, {"driver", "pool", "framework", "user"})
SLUICE_WORDS(memory_kind,
             {"unknown", "device", "pinned", "managed", "host", "array", "reservation", "physical", "mapping"})
SLUICE_WORDS(direction, {"unknown", "h2d", "d2h", "d2d", "p2p", "h2h"})
SLUICE_WORDS(pool_operation, {"sample", "grow", "shrink", "trim"})
SLUICE_WORDS(sync_kind, {"unknown", "event", "stream", "context", "stream_wait"})
SLUICE_WORDS(host_state, {"unknown", "running", "in_kernel", "blocked", "runnable"})
SLUICE_WORDS(file_operation, {"unknown", "open", "read", "write", "flush", "map"})
SLUICE_WORDS(migration_cause, {"unknown", "page_fault", "prefetch", "eviction", "access_counter"})
SLUICE_WORDS(severity, {"info", "warning", "error"})
SLUICE_WORDS(device_kind, {"unknown", "cuda", "simulated"})
SLUICE_WORDS(frame_kind, {"unknown", "native", "python", "kernel"})
SLUICE_WORDS(counter_unit, {"none", "bytes", "bytes_per_second", "nanoseconds", "fraction"})
SLUICE_WORDS(link_kind,
             {"call_to_work", "record_to_wait", "block_to_touch", "node_to_definition", "import_to_owner", "flow"})
SLUICE_WORDS(recording_mode, {"unknown", "memory", "timeline", "all"})
SLUICE_WORDS(content_check, {"none", "exact", "sampled", "over_budget", "unreadable"})
#undef SLUICE_WORDS

/// Returns the name of `value`; the name of value 0 if the enum does not have `value`.
template <class Enum>
[[nodiscard]] constexpr std::string_view get_word(Enum value) {
  const auto number = static_cast<std::size_t>(value);
  return get_words<Enum>[number < get_words<Enum>.size() ? number : 0];
}

}  // namespace sluice::trace
