#pragma once

#include <cstdint>
#include <functional>

/// Identities of the trace. They are ours: 64 bits, given by the writer, stable while a trace grows, and unique in a
/// file (so a process never needs to be named beside them). Foreign handles are attributes of the rows they name.
namespace sluice::trace {

/// Nanoseconds on the trace's one clock; 0 is the start of the recording. May be negative (born before it).
using time_ns = std::int64_t;

/// "Not known": a time that the recording never learned, such as the end of a kernel that outlived it.
inline constexpr time_ns unknown_time = INT64_MIN;

/// Zero is "none" for every id.
enum class string_id : std::uint64_t { none = 0 };
enum class event_id : std::uint64_t { none = 0 };
enum class block_id : std::uint64_t { none = 0 };
enum class host_id : std::uint64_t { none = 0 };
enum class process_id : std::uint64_t { none = 0 };
enum class thread_id : std::uint64_t { none = 0 };
enum class device_id : std::uint64_t { none = 0 };
enum class context_id : std::uint64_t { none = 0 };
enum class stream_id : std::uint64_t { none = 0 };
enum class pool_id : std::uint64_t { none = 0 };
enum class counter_id : std::uint64_t { none = 0 };
enum class stack_id : std::uint64_t { none = 0 };
enum class frame_id : std::uint64_t { none = 0 };
enum class module_id : std::uint64_t { none = 0 };
enum class source_id : std::uint64_t { none = 0 };
enum class graph_id : std::uint64_t { none = 0 };

/// The number behind an id, for printing and for hashing.
template <class Id>
requires std::is_enum_v<Id>
[[nodiscard]] constexpr std::uint64_t raw(Id id) { return static_cast<std::uint64_t>(id); }

}  // namespace sluice::trace
