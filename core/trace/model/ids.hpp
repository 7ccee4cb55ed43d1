#pragma once

#include <cstdint>
#include <functional>

/// Ids of a recording: 64-bit numbers assigned by the writer, stable while the file grows and unique within it (so no
/// process is needed to qualify them). Handles of CUDA and the system are stored as attributes of the rows they name.
namespace sluice::trace {

/// Nanoseconds on the recording's single clock; 0 is its start. Negative for things that existed before.
using time_ns = std::int64_t;

/// A time that was never recorded, such as the end of a kernel that outlived the recording.
inline constexpr time_ns unknown_time = INT64_MIN;

/// 0 means "none" for every id.
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

/// The number of an id, for printing and hashing.
template <class Id>
requires std::is_enum_v<Id>
[[nodiscard]] constexpr std::uint64_t raw(Id id) { return static_cast<std::uint64_t>(id); }

}  // namespace sluice::trace
