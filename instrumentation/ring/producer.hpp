#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "instrumentation/ring/clock.hpp"
#include "instrumentation/ring/records.hpp"

/// The recorded process's side: one ring a thread, in shared memory that the writer process holds too, so that what was
/// written survives `kill -9`. Built without the C++ library and without exceptions; the capture library and the
/// runtime each link their own copy (two copies in one process are two sets of rings of one process; the writer merges
/// by time).
///
/// The library that holds this must not be unloaded (link it with -z nodelete): threads that end call into it.
///
/// Thread-safety: every function may be called from any thread; what a signal handler emits while it interrupts `emit` is
/// dropped and counted. errno is left alone. A hot call takes no lock
/// and allocates nothing; the first call of a thread makes its ring (a memfd sent over the Unix socket that the
/// environment variable `SLUICE_SOCKET` names). A full ring drops the record, counts it, and leaves a `loss_record`
/// when there is room again. After fork the child's first call connects anew.
namespace sluice::collector {

/// The environment variable that names the writer's socket: "@name" in the abstract namespace, else a path.
inline constexpr const char* socket_variable = "SLUICE_SOCKET";

struct producer_options {
  clock_kind clock = clock_kind::tsc;
  std::size_t ring_bytes = std::size_t{1} << 20;  ///< Per thread; a power of two.
};

/// Connects to the writer that `socket_variable` names. Returns false, once and for all in this process, when nobody is
/// recording; then every `emit` is a load and a branch. Idempotent.
bool start(const producer_options& options = {});

/// Connects to a given writer instead of the environment's (a recording of one's own). Ends any earlier connection.
bool start(const char* socket_name, const producer_options& options);

namespace detail {
enum class phase : std::uint32_t { off, active };
extern std::atomic<phase> current_phase;
extern std::atomic<clock_kind> current_clock;
}  // namespace detail

/// True between a successful `start` and `stop`.
[[nodiscard]] inline bool active() noexcept {
  return detail::current_phase.load(std::memory_order_relaxed) == detail::phase::active;
}

/// Says goodbye; the writer drains what is left. Calls after it are ignored until the next `start`.
void stop() noexcept;

/// Now, in the clock chosen at `start` (not for `simulated_ns`: the simulated device tells the time itself).
[[nodiscard]] inline std::uint64_t now() noexcept {
  const clock_kind clock = detail::current_clock.load(std::memory_order_relaxed);
  if (clock == clock_kind::tsc) [[likely]]
    return read_tsc();
  return clock == clock_kind::monotonic_ns ? read_clock(CLOCK_MONOTONIC) : 0;
}

/// Now in CLOCK_MONOTONIC ns, for records with `flag_monotonic`.
[[nodiscard]] std::uint64_t monotonic_now() noexcept;

/// Writes one record to the calling thread's ring. `record.header.time` must be set; type and length are filled in.
/// Returns false if it was dropped (and counted) or nobody records.
bool emit_bytes(record_header* record, record_type type, std::size_t bytes) noexcept;

/// As `emit_bytes`, with `words` words after the record. The two are one record: at most 65535 words together.
bool emit_with(record_header* record, record_type type, std::size_t bytes, const std::uint64_t* extra,
               std::size_t words) noexcept;

/// Sends what many blocks have in common (the key is filled in) on the calling thread's ring. Returns the key, by which this thread,
/// and a fork's child, may call it until the next `start`; 0 if it could not be sent, or nobody records.
std::uint64_t introduce_pool_stream(pool_stream_record pool_stream) noexcept;

/// An ordinary record of `bytes` would be taken from this thread now. For the recorder's own threads: they can wait where the
/// program's must not. True as well when nobody records: there is nothing to wait for.
[[nodiscard]] bool has_room(std::size_t bytes) noexcept;

/// A record with this time and these flags, and zeros otherwise.
template <class Record>
[[nodiscard]] Record record_at(std::uint64_t time, std::uint32_t flags = 0) noexcept {
  Record made{};
  made.header.time = time;
  made.header.flags = flags;
  return made;
}

template <class Record>
bool emit(Record record) noexcept {
  return emit_bytes(&record.header, type_of<Record>::value, sizeof(Record));
}

/// The key of a text: its hash. Sends a `string_record` the first time this process sees it (O(length), lock-free);
/// texts longer than 4 KiB are cut there. Null and empty give 0. Do not keep keys from one `start` to the next: only
/// `intern` knows whether the present writer has the text. (A fork's child may use its parent's.)
std::uint64_t intern(const char* text) noexcept;
std::uint64_t intern(const char* text, std::size_t length) noexcept;

inline constexpr std::size_t maximum_frames = 256;

/// The key of a call stack, innermost frame first, each a word as `stack_record` has it; 0 for an empty one. Sends a
/// `stack_record` the first time this process sees it. O(count), lock-free. Frames beyond `maximum_frames` are left out.
std::uint64_t intern_stack(const std::uint64_t* frames, std::size_t count) noexcept;

/// The same of a stack that goes on, beyond the last of `frames`, as that of key `base` does; 0: it ends there.
std::uint64_t intern_stack_on(const std::uint64_t* frames, std::size_t count, std::uint64_t base) noexcept;

/// Sends a `stack_record` of frames whose key the caller has made itself, at most `maximum_frames`. Returns it, or 0 for an empty
/// stack. Lock-free.
std::uint64_t introduce_stack(std::uint64_t key, const std::uint64_t* frames, std::size_t count) noexcept;

/// A frame's or a stack's record has been sent with `key`; or nobody records. O(1), lock-free.
[[nodiscard]] bool knows_frame(std::uint64_t key) noexcept;

/// An event is about to be recorded on this thread: asks for the memory that it will be written to, and does not wait for it.
void expect_event() noexcept;

/// Sends it; its key is known from then on. Two threads at once may both send it.
void introduce_frame(frame_record frame) noexcept;

/// Sends a `module_record` unless this process has sent the same in this `round`. True: it is out, or nobody records. O(1),
/// lock-free.
bool introduce_module(module_record module, std::uint64_t round) noexcept;

/// `intern` and a `message_record` in one; `level` is a trace::severity.
void message(unsigned level, const char* text) noexcept;

}  // namespace sluice::collector
