#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "instrumentation/ring/clock.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/record_classes.hpp"

/// A ring of records in memory that two processes share. A thread of the recorded program (the producer) writes
/// records, and the writer process (the consumer) reads them. Published records stay readable if either process is
/// killed. The producer uses no C++ library and no locks, and allocates nothing. Whatever the other process stores in
/// the ring, the worst effect is a dropped record.
///
///   byte 0        64          128             192                    256      320          4096       4096 + capacity
///   | format     | head      | tail, gone    | lost: total, memory, | closed | process    |  ...     | records ...   |
///   |            |           |               | first, last, layers  | lost   | identity   |          |               |
///   | written    | by the    | by the        | by the producer      | by its | once       |
///   | once       | producer  | consumer      |                      | process|
///
/// `head` and `tail` count bytes and never wrap. A record is at `position & (capacity - 1)` and is contiguous: if it
/// would cross the end, a padding record fills the space before the end. If only 8 bytes are left there, the padding
/// record consists of `type` and `words` only. `head` is stored with release after the record, so a reader that loads
/// `head` with acquire sees only complete records.
namespace sluice::ring {

inline constexpr std::uint64_t ring_magic = 0x676e'6972'6563'6c73;  // "slcering" in a dump.
inline constexpr std::uint32_t ring_version = 4;
/// The oldest ring version that the current code can read.
inline constexpr std::uint32_t oldest_ring_version = 2;
inline constexpr std::size_t ring_data_offset = 4096;
inline constexpr std::size_t minimum_ring_bytes = std::size_t{1} << 14;
inline constexpr std::size_t maximum_ring_bytes = std::size_t{1} << 28;
inline constexpr std::size_t maximum_record_bytes = 8192;
inline constexpr std::size_t maximum_text_bytes = 4096;

/// Identity of the process that writes a ring. The reader copies it once and trusts none of it.
struct ring_identity {
  std::uint64_t start_time;  ///< Process start, in clock ticks since boot (/proc/PID/stat, field 22).
  std::uint64_t image;       ///< Changes with each exec: a hash of the kernel's random bytes (AT_RANDOM).
  std::int64_t rank;         ///< From the launcher's environment; -1: no rank.
  std::uint32_t pid;         ///< As seen by the process; may differ outside its container.
  std::uint32_t parent_pid;
  std::uint32_t command_bytes;
  std::uint32_t copy;  ///< Number of the producer copy in the process; 0: unknown.
  char boot_id[40];
  char host[64];
  char command[2048];  ///< The arguments, separated by spaces.
};

struct ring_header {
  alignas(64) std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t clock;     ///< `clock_kind`.
  std::uint64_t capacity;  ///< Size of the record area in bytes, a power of two.

  alignas(64) std::atomic<std::uint64_t> head;

  alignas(64) std::atomic<std::uint64_t> tail;
  std::atomic<std::uint32_t> writer_gone;  ///< The recording has ended; the producer may stop.

  alignas(64) std::atomic<std::uint64_t> lost_events;  ///< Total; `loss_record`s report them in parts.
  std::atomic<std::uint64_t> lost_memory_events;
  std::atomic<std::uint64_t> first_lost;   ///< Time of the first loss that is not yet reported.
  std::atomic<std::uint64_t> last_lost;    ///< Time of the latest loss.
  std::atomic<std::uint64_t> lost_layers;  ///< Layers of the unreported lost memory events; 0: unknown.

  alignas(64) std::atomic<std::uint32_t> closed;  ///< The producer has finished: no more records.
  /// Total losses of this process's threads without a ring, per producer copy. In one ring only; any thread may add.
  std::atomic<std::uint64_t> ringless_events;
  std::atomic<std::uint64_t> ringless_memory_events;

  alignas(64) ring_identity identity;
};
static_assert(sizeof(ring_header) <= ring_data_offset);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

[[nodiscard]] constexpr std::size_t round_up_to_words(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

/// The producer's end of a ring. Only one thread at a time may use it. Passing it to another thread needs release and
/// acquire.
class ring_producer {
 public:
  ring_producer() = default;

  /// Formats `memory`: `ring_data_offset + capacity` zeroed bytes, which must outlive this object.
  void format(void* memory, std::size_t capacity, clock_kind clock) noexcept {
    header_ = static_cast<ring_header*>(memory);
    data_ = static_cast<char*>(memory) + ring_data_offset;
    capacity_ = capacity;
    clock_ = clock;
    head_ = 0;
    tail_ = 0;
    next_look_ = capacity / 2;
    wants_reader_ = false;
    lost_ = reported_ = lost_memory_ = reported_memory_ = 0;
    reconsider();
    header_->version = ring_version;
    header_->clock = static_cast<std::uint32_t>(clock);
    header_->capacity = capacity;
    header_->magic = ring_magic;
  }

  [[nodiscard]] ring_header* header() const noexcept { return header_; }

  /// Writes one record: `bytes` bytes of `record` (a multiple of 8), then `extra_bytes` bytes of `extra`, padded with
  /// zeros. Fills in type and length. If there is no space, counts the record as lost and returns false. Takes about
  /// 5 ns for a record of 100 bytes.
  SLUICE_INLINE bool put(record_header* record, record_type type, std::size_t bytes, const void* extra = nullptr,
                         std::size_t extra_bytes = 0) noexcept {
    return put_simply(record, type, bytes, extra, extra_bytes) || put_slowly(record, type, bytes, extra, extra_bytes);
  }

  /// The fast path of `put`, sufficient in nearly all cases. Returns false if nothing was written; the caller then uses
  /// `put_slowly`. If it returns true, the reader need not be woken.
  [[nodiscard]] SLUICE_INLINE bool put_simply(record_header* record, record_type type, std::size_t bytes,
                                              const void* extra, std::size_t extra_bytes) noexcept {
    const std::size_t length = bytes + round_up_to_words(extra_bytes);
    if (length > maximum_record_bytes || head_ + length > simple_until_) [[unlikely]]
      return false;
    write_at(data_ + (head_ & (capacity_ - 1)), record, type, bytes, extra, extra_bytes);
    return true;
  }

  /// `put_simply` for memory events without flags that consist of words only; the words are stored directly from
  /// registers. `rest`: the words after the time.
  template <class... Words>
  [[nodiscard]] SLUICE_INLINE bool put_words_simply(record_type type, std::uint64_t time, Words... rest) noexcept {
    constexpr std::size_t length = sizeof(record_header) + sizeof...(rest) * sizeof(std::uint64_t);
    const std::uint64_t head = head_;
    if (head + length > memory_simple_until_) [[unlikely]]
      return false;
    char* const begin = data_ + (head & (capacity_ - 1));
    // One store each: if combined on the stack, wider loads would have to wait for the preceding stores.
    auto* place = reinterpret_cast<std::uint64_t*>(begin);
    const auto write = [&](std::uint64_t word) { __atomic_store_n(place++, word, __ATOMIC_RELAXED); };
    write(first_word(type, length, 0));
    write(time);
    (write(rest), ...);
    publish(begin, head + length, length);
    return true;
  }

  /// Like `put_words_simply`, for a record that ends with `count` words of `more` and for which `uses_reserve` is
  /// false. The record has at most `maximum_record_bytes` bytes.
  template <class... Words>
  [[nodiscard]] SLUICE_INLINE bool put_words_and_more_simply(record_type type, std::uint64_t time,
                                                             const std::uint64_t* more, std::size_t count,
                                                             Words... rest) noexcept {
    constexpr std::size_t fixed = sizeof(record_header) + sizeof...(rest) * sizeof(std::uint64_t);
    const std::size_t length = fixed + count * sizeof *more;
    const std::uint64_t head = head_;
    if (head + length > simple_until_) [[unlikely]]
      return false;
    char* const begin = data_ + (head & (capacity_ - 1));
    auto* place = reinterpret_cast<std::uint64_t*>(begin);
    const auto write = [&](std::uint64_t word) { __atomic_store_n(place++, word, __ATOMIC_RELAXED); };
    write(first_word(type, length, 0));
    write(time);
    (write(rest), ...);
    copy_words(place, more, count * sizeof *more);
    publish(begin, head + length, length);
    return true;
  }

  SLUICE_RARE bool put_slowly(record_header* record, record_type type, std::size_t bytes, const void* extra,
                              std::size_t extra_bytes) noexcept {
    if (lost_ != reported_) report_loss();
    const bool written = write(record, type, bytes, extra, extra_bytes);
    if (!written) count_loss(type, record);
    if (head_ >= next_look_) look_at_level();
    reconsider();
    return written;
  }

  /// Call shortly before writing a record: prefetches the cache lines to which it will be written.
  SLUICE_INLINE void expect_record() const noexcept {
    const char* place = data_ + (head_ & (capacity_ - 1));
    expect_write(place);
    expect_write(place + 64);
    expect_write(place + 128);  // Harmless past the end of the ring.
    expect_write(&header_->head);
  }

  /// True if a record of `bytes` bytes for which `uses_reserve` is false would fit now.
  [[nodiscard]] bool fits(std::size_t bytes) noexcept {
    const std::size_t to_end = capacity_ - (head_ & (capacity_ - 1));
    return has_room(bytes <= to_end ? bytes : to_end + bytes, ordinary_limit());
  }

  /// Returns true once each time the ring becomes half full. The reader should then be woken, because it only polls at
  /// intervals.
  [[nodiscard]] bool wants_reader() noexcept {
    const bool wants = wants_reader_;
    wants_reader_ = false;
    return wants;
  }

  /// The number of lost records that no `loss_record` has reported yet. The ring's header also contains the losses, in
  /// case the process is killed.
  [[nodiscard]] std::uint64_t unreported_loss() const noexcept { return lost_ - reported_; }

 private:
  /// Call after changing `tail_`, `lost_`, `reported_` or `next_look_`, and each time `head_` passes the ring's end.
  /// Combines three limits into one, so that each record needs only one comparison.
  void reconsider() noexcept {
    simple_until_ = simple_up_to(ordinary_limit());
    memory_simple_until_ = simple_up_to(capacity_);
  }

  [[nodiscard]] std::uint64_t simple_up_to(std::size_t limit) const noexcept {
    if (lost_ != reported_) return 0;
    const std::uint64_t lap_ends = (head_ | (capacity_ - 1)) + 1, room_ends = tail_ + limit;
    const std::uint64_t until = lap_ends < room_ends ? lap_ends : room_ends;
    // The record that reaches `next_look_` must take the slow path.
    return next_look_ <= until ? next_look_ - 1 : until;
  }

  void look_at_level() noexcept {
    const std::uint64_t half = capacity_ / 2;
    look_at_tail();
    const bool half_full = head_ - tail_ >= half;
    next_look_ = half_full ? head_ + half : tail_ + half;
    wants_reader_ = wants_reader_ || half_full;
  }

  [[nodiscard]] SLUICE_INLINE static std::uint64_t first_word(record_type type, std::size_t length,
                                                              std::uint32_t flags) noexcept {
    return static_cast<std::uint64_t>(type) | (static_cast<std::uint64_t>(length / 8) << 16) |
           (static_cast<std::uint64_t>(flags) << 32);
  }

  bool write(record_header* record, record_type type, std::size_t bytes, const void* extra,
             std::size_t extra_bytes) noexcept {
    const std::size_t length = bytes + round_up_to_words(extra_bytes);
    if (length > maximum_record_bytes) return false;
    const std::size_t offset = head_ & (capacity_ - 1);
    const std::size_t to_end = capacity_ - offset;
    const std::size_t needed = length <= to_end ? length : to_end + length;
    if (!has_room(needed, uses_reserve(type) ? capacity_ : ordinary_limit())) return false;

    char* place = data_ + offset;
    if (length > to_end) [[unlikely]] {
      // Only 8 bytes may be left before the end of the ring, so only type and length are written.
      const std::uint16_t padding[4] = {static_cast<std::uint16_t>(record_type::padding),
                                        static_cast<std::uint16_t>(to_end / 8), 0, 0};
      std::memcpy(place, padding, sizeof padding);
      head_ += to_end;
      place = data_;
    }
    write_at(place, record, type, bytes, extra, extra_bytes);
    return true;
  }

  SLUICE_INLINE void write_at(char* place, record_header* record, record_type type, std::size_t bytes,
                              const void* extra, std::size_t extra_bytes) noexcept {
    const std::size_t length = bytes + round_up_to_words(extra_bytes);
    // A single store, because a load that spans several smaller recent stores would wait until they reach the cache.
    const std::uint64_t first = first_word(type, length, record->flags);
    std::memcpy(place, &first, sizeof first);
    copy_words(place + sizeof first, reinterpret_cast<const char*>(record) + sizeof first, bytes - sizeof first);
    const std::size_t whole = extra_bytes / 8 * 8;
    copy_words(place + bytes, extra, whole);
    if (whole != extra_bytes) {
      std::memset(place + bytes + whole, 0, 8);
      std::memcpy(place + bytes + whole, static_cast<const char*>(extra) + whole, extra_bytes - whole);
    }
    publish(place, head_ + length, length);
  }

  /// Publishes the record of `length` bytes at `place`; the new head is `head`.
  SLUICE_INLINE void publish(const char* place, std::uint64_t head, std::size_t length) noexcept {
    head_ = head;
    header_->head.store(head, std::memory_order_release);
    // The next cache lines are in the reader's core. Prefetching them now makes them available in time for writing.
    // The first lines of a lap are not prefetched: there, the address is past the ring's end, which is harmless.
    expect_write(place + write_ahead);
    if (length > 64) expect_write(place + write_ahead + 64);
  }

  /// How far ahead of `head_` lines are prefetched, in bytes. Fetching a line takes as long as writing a few records.
  /// Prefetching further ahead (2 KiB) is not faster.
  static constexpr std::size_t write_ahead = 768;

  /// Records for which `uses_reserve` is false must leave the last quarter of the ring free.
  [[nodiscard]] std::size_t ordinary_limit() const noexcept { return capacity_ - capacity_ / 4; }

  [[nodiscard]] bool has_room(std::size_t needed, std::size_t limit) noexcept {
    if (head_ - tail_ + needed <= limit) [[likely]]
      return true;
    look_at_tail();
    return head_ - tail_ + needed <= limit;
  }

  /// Reads the consumer's tail. A tail outside [tail_, head_] is invalid and ignored, so that no unread record is
  /// overwritten.
  void look_at_tail() noexcept {
    const std::uint64_t tail = header_->tail.load(std::memory_order_acquire);
    if (tail - tail_ > head_ - tail_) return;
    tail_ = tail;
    reconsider();
  }

  void count_loss(record_type type, const record_header* record) noexcept {
    note_lost_span(time_of_loss(record->time), get_layers(type, record));
    ++lost_;
    reconsider();
    if (is_memory_event(type)) ++lost_memory_;
    publish_loss();
  }

  /// The time of a loss: the current time on the ring's clock, because a record's own time may be device time or on
  /// another clock. With the simulated clock, it is the record's own time.
  [[nodiscard]] std::uint64_t time_of_loss(std::uint64_t record_time) const noexcept {
    switch (clock_) {
      case clock_kind::tsc:
        return read_tsc();
      case clock_kind::monotonic_ns:
        return read_clock(CLOCK_MONOTONIC);
      case clock_kind::simulated_ns:
        break;
    }
    return record_time;
  }

  void note_lost_span(std::uint64_t time, layer_bits layers) noexcept {
    const bool first = lost_ == reported_;
    if (first) header_->first_lost.store(time, std::memory_order_relaxed);
    header_->last_lost.store(time, std::memory_order_relaxed);
    const layer_bits before = first ? 0 : header_->lost_layers.load(std::memory_order_relaxed);
    header_->lost_layers.store(before | layers, std::memory_order_relaxed);
  }

  void publish_loss() noexcept {
    header_->lost_memory_events.store(lost_memory_, std::memory_order_relaxed);
    header_->lost_events.store(lost_, std::memory_order_release);
  }

  /// Reports only if there is space below the ordinary limit, because reports must not use up the reserve of a full
  /// ring.
  SLUICE_RARE void report_loss() noexcept {
    if (!has_room(maximum_record_bytes < capacity_ / 4 ? maximum_record_bytes : capacity_ / 4, ordinary_limit()))
      return;
    loss_record loss{};
    loss.header.flags = flag_of_ring;
    loss.header.time = header_->first_lost.load(std::memory_order_relaxed);
    loss.end = header_->last_lost.load(std::memory_order_relaxed);
    loss.events = lost_ - reported_;
    loss.memory_events = lost_memory_ - reported_memory_;
    loss.layers = header_->lost_layers.load(std::memory_order_relaxed);
    if (!write(&loss.header, record_type::loss, sizeof loss, nullptr, 0)) return;
    reported_ = lost_;
    reported_memory_ = lost_memory_;
    reconsider();
  }

  // Members that each record needs: one cache line.
  ring_header* header_ = nullptr;
  char* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t simple_until_ = 0;         ///< Limit of `head_` for the fast path. 0: a loss must be reported first.
  std::uint64_t memory_simple_until_ = 0;  ///< Limit of `head_` for memory events, which may use the whole ring.
  // Members that only some records need.
  std::uint64_t next_look_ = 0;  ///< When `head_` reaches this, check the fill level.
  std::uint64_t tail_ = 0;       ///< Last known value of `tail`, which may have advanced since.
  std::uint64_t lost_ = 0, reported_ = 0;
  std::uint64_t lost_memory_ = 0, reported_memory_ = 0;
  clock_kind clock_ = clock_kind::tsc;
  bool wants_reader_ = false;
};

}  // namespace sluice::ring
