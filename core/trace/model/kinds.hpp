#pragma once

#include <cstddef>
#include <cstdint>

/// The enumerations of the data model. They have a separate header because the code inside the recorded process, which
/// is built without the C++ library, writes these numbers, too.
namespace sluice::trace {

/// How a fact was obtained. Views must be able to show this.
enum class provenance : std::uint8_t { exact, sampled, estimated, inferred };

/// The software layer that manages a block. Never add the totals of different layers, because blocks of one layer
/// contain blocks of another.
enum class layer : std::uint8_t { driver, pool, framework, user };
inline constexpr std::size_t layer_count = 4;

/// The kind of memory. `reservation` is address space without memory.
enum class memory_kind : std::uint8_t { unknown, device, pinned, managed, host, array, reservation, physical, mapping };
inline constexpr std::size_t memory_kind_count = 9;

enum class direction : std::uint8_t { unknown, h2d, d2h, d2d, p2p, h2h };
inline constexpr std::size_t direction_count = 6;

enum class pool_operation : std::uint8_t { sample, grow, shrink, trim };
enum class sync_kind : std::uint8_t { unknown, event, stream, context, stream_wait };
/// What a host thread was doing when it was sampled. `running`: code in user space; `in_kernel`: code of the operating
/// system, on a CPU; `blocked`: waiting, off the CPU; `runnable`: ready to run, but another thread had the CPU.
enum class host_state : std::uint8_t { unknown, running, in_kernel, blocked, runnable };
inline constexpr std::size_t host_state_count = 5;
enum class file_operation : std::uint8_t { unknown, open, read, write, flush, map };
enum class migration_cause : std::uint8_t { unknown, page_fault, prefetch, eviction, access_counter };
enum class severity : std::uint8_t { info, warning, error };
enum class device_kind : std::uint8_t { unknown, cuda, simulated };
enum class frame_kind : std::uint8_t { unknown, native, python, kernel };
enum class counter_unit : std::uint8_t { none, bytes, bytes_per_second, nanoseconds, fraction };
/// How the content of a copy was checked. `none`: it was not checked, or this is not a copy from the host; `exact`: all
/// bytes were hashed; `sampled`: some bytes were hashed; `over_budget`: it was not hashed, to save time; `unreadable`:
/// the host could not read it.
enum class content_check : std::uint8_t { none, exact, sampled, over_budget, unreadable };
/// What a recording of a process contains. `memory`: allocations, copies and touches; `timeline`: also kernels, waits
/// and ranges; `all`: also the stacks of launches. `unknown`: the recording was made before modes existed, or by
/// Sluice's C++ runtime, which records everything it does.
enum class recording_mode : std::uint8_t { unknown, memory, timeline, all };
/// `import_to_owner`: from the allocation that imports memory of another process to the owner's allocation. `flow`: an
/// arrow that another tool draws, for example from a forward operation to its backward operation.
enum class link_kind : std::uint8_t {
  call_to_work,
  record_to_wait,
  block_to_touch,
  node_to_definition,
  import_to_owner,
  flow
};

/// The number of values of an enum. A stored value that is not below this number reads as 0, so that files of newer
/// writers stay readable. 0: every value is valid, as for ids.
template <class Enum>
inline constexpr std::uint64_t enum_values = 0;
template <>
inline constexpr std::uint64_t enum_values<provenance> = 4;
template <>
inline constexpr std::uint64_t enum_values<layer> = layer_count;
template <>
inline constexpr std::uint64_t enum_values<memory_kind> = memory_kind_count;
template <>
inline constexpr std::uint64_t enum_values<direction> = direction_count;
template <>
inline constexpr std::uint64_t enum_values<pool_operation> = 4;
template <>
inline constexpr std::uint64_t enum_values<sync_kind> = 5;
template <>
inline constexpr std::uint64_t enum_values<host_state> = host_state_count;
template <>
inline constexpr std::uint64_t enum_values<file_operation> = 6;
template <>
inline constexpr std::uint64_t enum_values<migration_cause> = 5;
template <>
inline constexpr std::uint64_t enum_values<severity> = 3;
template <>
inline constexpr std::uint64_t enum_values<device_kind> = 3;
template <>
inline constexpr std::uint64_t enum_values<frame_kind> = 4;
template <>
inline constexpr std::uint64_t enum_values<counter_unit> = 5;
template <>
inline constexpr std::uint64_t enum_values<link_kind> = 6;
template <>
inline constexpr std::uint64_t enum_values<recording_mode> = 4;
template <>
inline constexpr std::uint64_t enum_values<content_check> = 5;

}  // namespace sluice::trace
