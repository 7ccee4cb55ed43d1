#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "instrumentation/ring/clock.hpp"
#include "instrumentation/ring/records.hpp"

/// The recorded process's side of a recording: one ring per thread, in shared memory that the writer process also maps,
/// so that written records survive `kill -9`. The producer uses no C++ library and no exceptions. The capture library
/// and the runtime each link their own copy. Two copies in one process use separate rings; the writer merges their
/// records by time.
///
/// The library that contains this code must not be unloaded (link with -z nodelete): ending threads call into it.
///
/// Thread-safety: any thread may call any function. If a signal handler interrupts `emit` and emits,
/// its record is dropped and counted. errno does not change. A typical call takes no lock and
/// allocates nothing. A thread's first call makes the thread's ring: a memfd, sent over the Unix socket that
/// the environment variable `SLUICE_SOCKET` names. If a ring is full, records are dropped and counted, and
/// a `loss_record` follows when there is space. After a fork, the child's first call opens a new connection.
namespace sluice::ring {

/// The environment variable with the writer's sockets and the secret. protocol.hpp describes its format.
inline constexpr const char* socket_variable = "SLUICE_SOCKET";

struct producer_options {
  clock_kind clock = clock_kind::tsc;
  std::size_t ring_bytes = std::size_t{1} << 20;  ///< Ring size per thread; a power of two.
};

/// Connects to the writer that `socket_variable` names. If that fails, this call and all later ones in this
/// process return false; then each `emit` costs one load and a branch. Does nothing if already connected.
bool start(const producer_options& options = {});

/// Connects to the writer at `socket_name`, for example if the program records itself. Ends any earlier connection.
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

/// Ends the connection; the writer drains the remaining records. Later calls are ignored until the next `start`.
void stop() noexcept;

/// The current time on the clock chosen at `start`; 0 for `simulated_ns`, because only the simulated device knows that
/// time.
[[nodiscard]] inline std::uint64_t now() noexcept {
  const clock_kind clock = detail::current_clock.load(std::memory_order_relaxed);
  if (clock == clock_kind::tsc) [[likely]]
    return read_tsc();
  return clock == clock_kind::monotonic_ns ? read_clock(CLOCK_MONOTONIC) : 0;
}

/// The current CLOCK_MONOTONIC time in ns, for records with `flag_monotonic`.
[[nodiscard]] std::uint64_t monotonic_now() noexcept;

/// Writes a record to the calling thread's ring. The caller sets `record->time`; this function fills in type and
/// length. Returns false if the record was dropped (and counted), or if nothing is recorded.
bool emit_bytes(record_header* record, record_type type, std::size_t bytes) noexcept;

/// Like `emit_bytes`, but appends `words` words to the record; at most maximum_record_bytes (8 KiB) in total.
bool emit_with(record_header* record, record_type type, std::size_t bytes, const std::uint64_t* extra,
               std::size_t words) noexcept;

/// Sends the properties that many pool blocks share, in the calling thread's ring. Returns their key, which is valid
/// for this thread and forked children until the next `start`; 0 if the record was not sent, or nothing is recorded.
std::uint64_t introduce_pool_stream(pool_stream_record pool_stream) noexcept;

/// True if the calling thread has recorded something since `start`.
[[nodiscard]] bool has_ring() noexcept;

/// True if the calling thread's ring could take an ordinary record of `bytes` now, or if nothing is recorded. Only the
/// recorder's own threads use this function, because they can wait for space. The program's threads must not wait.
[[nodiscard]] bool has_room(std::size_t bytes) noexcept;

/// Makes a record with this time and these flags; all other members are 0.
template <class Record>
[[nodiscard]] Record record_at(std::uint64_t time, std::uint32_t flags = 0) noexcept {
  Record output{};
  output.header.time = time;
  output.header.flags = flags;
  return output;
}

template <class Record>
bool emit(Record record) noexcept {
  return emit_bytes(&record.header, type_of_record<Record>::value, sizeof(Record));
}

/// The key of a text: its hash. Sends a `string_record` the first time this process uses the text. O(length),
/// lock-free. Texts are cut off at 4 KiB. The key of a null or empty text is 0. Keys are only valid until the next
/// `start`, because a new writer does not know the texts. A forked child may use its parent's keys.
std::uint64_t intern(const char* text) noexcept;
std::uint64_t intern(const char* text, std::size_t length) noexcept;

inline constexpr std::size_t maximum_frames = 256;

/// The key of a call stack, innermost frame first; frames are words as in `stack_record`. 0 for an empty stack. Sends
/// a `stack_record` at the first use in this process. O(count), lock-free. Ignores frames beyond `maximum_frames`.
std::uint64_t intern_stack(const std::uint64_t* frames, std::size_t count) noexcept;

/// Like `intern_stack`, for the stack `frames` continued by the stack with key `base` (0: none).
std::uint64_t intern_stack_on(const std::uint64_t* frames, std::size_t count, std::uint64_t base) noexcept;

/// The key that `intern_stack_on` gives this stack, which must have between 1 and `maximum_frames` frames. Sends
/// nothing: use `knows_frame` to find out whether the stack was sent.
[[nodiscard]] std::uint64_t stack_key(const std::uint64_t* frames, std::size_t count, std::uint64_t base) noexcept;

/// Sends a `stack_record` with a key that the caller computed, of at most
/// `maximum_frames` frames. Returns the key, or 0 for an empty stack. Lock-free.
std::uint64_t introduce_stack(std::uint64_t key, const std::uint64_t* frames, std::size_t count) noexcept;

/// True if the record of the frame or stack `key` was sent, or if nothing is recorded. O(1), lock-free.
[[nodiscard]] bool knows_frame(std::uint64_t key) noexcept;

/// Call shortly before an event on this thread: prefetches the memory for the event's record, without waiting.
void expect_event() noexcept;

/// Sends the frame's record and marks its key as sent. Two threads may both send the same frame.
void introduce_frame(frame_record frame) noexcept;

/// Sends a `module_record`, unless this process already sent an equal record with this `round` (a number that the
/// caller chooses). Returns true if the record has been sent, now or earlier, or if nothing is recorded. O(1),
/// lock-free.
bool introduce_module(module_record module, std::uint64_t round) noexcept;

/// Interns `text` and sends a `message_record`; `level` is a trace::severity.
void message(unsigned level, const char* text) noexcept;

}  // namespace sluice::ring
