#pragma once

#include <cstdint>
#include <functional>

#include "core/base/time/time_range.hpp"

/// The ids in a recording: 64-bit numbers that the writer assigns. An id does not change while the file grows, and is
/// unique in the file across all processes. Handles of CUDA and of the system are stored as members of the rows that
/// describe their objects.
namespace sluice::trace {

using sluice::time_ns;

/// The value of a time that was not recorded, such as the end of a kernel that was still running when the recording
/// ended.
inline constexpr time_ns unknown_time = INT64_MIN;

/// For every id type, 0 means "none".
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

/// Returns the number in an id, for printing and hashing.
template <class Id>
requires std::is_enum_v<Id>
[[nodiscard]] constexpr std::uint64_t raw(Id id) { return static_cast<std::uint64_t>(id); }

}  // namespace sluice::trace
