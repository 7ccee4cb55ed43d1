#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "instrumentation/ring/clock.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/record_classes.hpp"

/// A ring of records in memory that two processes share: one thread writes, the writer process reads. What has been
/// published survives the death of either. This side is part of the recorded program: no C++ library, no locks, no
/// allocation, and nothing that the other side writes can make it do more than drop a record.
///
///   byte 0        64          128             192                    256      320          4096       4096 + capacity
///   | what it is | head      | tail, gone    | lost: total, memory, | closed | who it is  |  ...     | records ...   |
///   |            |           |               | first, last, layers  | lost   | (identity) |          |               |
///   | written    | by the    | by the        | by the producer      | by its | once       |
///   | once       | producer  | consumer      |                      | process|
///
/// `head` and `tail` count bytes for ever; a record lies at `position & (capacity - 1)` and never wraps: when it would,
/// a padding record fills the end (of padding, only type and words are there if 8 bytes are left). `head` is stored with
/// release after the record, so a reader that loads it with acquire sees whole records only.
namespace sluice::collector {

inline constexpr std::uint64_t ring_magic = 0x676e'6972'6563'6c73;  // "slcering" in a dump.
inline constexpr std::uint32_t ring_version = 3;
/// A ring of this version or a later one means what it means now.
inline constexpr std::uint32_t oldest_ring_version = 2;
inline constexpr std::size_t ring_data_offset = 4096;
inline constexpr std::size_t minimum_ring_bytes = std::size_t{1} << 14;
inline constexpr std::size_t maximum_ring_bytes = std::size_t{1} << 28;
inline constexpr std::size_t maximum_record_bytes = 8192;
inline constexpr std::size_t maximum_text_bytes = 4096;

/// Who writes this ring; copied once by the reader, which trusts none of it.
struct ring_identity {
  std::uint64_t start_time;  ///< Of the process, in clock ticks since boot (/proc/PID/stat, field 22).
  std::uint64_t image;       ///< Differs after an exec: the kernel's random bytes for this image (AT_RANDOM), folded.
  std::int64_t rank;         ///< From the environment of the launcher; -1: none.
  std::uint32_t pid;         ///< As the process sees itself; a container has its own.
  std::uint32_t parent_pid;
  std::uint32_t command_bytes;
  std::uint32_t copy;  ///< Which of the producers in this process, which may have several; 0: it does not say.
  char boot_id[40];
  char host[64];
  char command[2048];  ///< The arguments, with spaces between.
};

struct ring_header {
  alignas(64) std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t clock;     ///< `clock_kind`.
  std::uint64_t capacity;  ///< Bytes of records, a power of two.

  alignas(64) std::atomic<std::uint64_t> head;

  alignas(64) std::atomic<std::uint64_t> tail;
  std::atomic<std::uint32_t> writer_gone;  ///< The recording has ended; the producer may stop.

  alignas(64) std::atomic<std::uint64_t> lost_events;  ///< Ever; `loss_record`s report them piece by piece.
  std::atomic<std::uint64_t> lost_memory_events;
  std::atomic<std::uint64_t> first_lost;  ///< Times of the losses not yet reported.
  std::atomic<std::uint64_t> last_lost;
  std::atomic<std::uint64_t> lost_layers;  ///< Of memory events among these; 0: the producer does not say.

  alignas(64) std::atomic<std::uint32_t> closed;  ///< The producer said goodbye: nothing follows.
  /// Lost by threads of this process and copy that had no ring, ever; in one of its rings only. Any thread adds to them.
  std::atomic<std::uint64_t> ringless_events;
  std::atomic<std::uint64_t> ringless_memory_events;

  alignas(64) ring_identity identity;
};
static_assert(sizeof(ring_header) <= ring_data_offset);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

[[nodiscard]] constexpr std::size_t round_up_to_words(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

/// The producer's end. One thread at a time; handing it to another thread needs a release and an acquire.
class ring_producer {
 public:
  ring_producer() = default;

  /// `memory`: `ring_data_offset + capacity` zeroed bytes, which outlive this.
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

  /// Writes `bytes` of `record` (a multiple of 8), then `extra_bytes` of `extra` padded with zeros, as one record, and
  /// fills in its type and length. False: no room, counted as lost. About 5 ns for a record of 100 bytes.
  SLUICE_INLINE bool put(record_header* record, record_type type, std::size_t bytes, const void* extra = nullptr,
                         std::size_t extra_bytes = 0) noexcept {
    return put_simply(record, type, bytes, extra, extra_bytes) || put_slowly(record, type, bytes, extra, extra_bytes);
  }

  /// `put` where that takes no thought, which is nearly always. False: nothing was done, and `put_slowly` is for it. After a true
  /// there is nothing to tell the reader.
  [[nodiscard]] SLUICE_INLINE bool put_simply(record_header* record, record_type type, std::size_t bytes,
                                              const void* extra, std::size_t extra_bytes) noexcept {
    const std::size_t length = bytes + round_up_to_words(extra_bytes);
    if (length > maximum_record_bytes || head_ + length > simple_until_) [[unlikely]]
      return false;
    write_at(data_ + (head_ & (capacity_ - 1)), record, type, bytes, extra, extra_bytes);
    return true;
  }

  /// The same of a memory event without flags that is words throughout, `rest` what follows its time: from registers to its place.
  template <class... Words>
  [[nodiscard]] SLUICE_INLINE bool put_words_simply(record_type type, std::uint64_t time, Words... rest) noexcept {
    constexpr std::size_t length = sizeof(record_header) + sizeof...(rest) * sizeof(std::uint64_t);
    const std::uint64_t head = head_;
    if (head + length > memory_simple_until_) [[unlikely]]
      return false;
    char* const begin = data_ + (head & (capacity_ - 1));
    // One at a time: gathered on the stack they would be loaded again as wider ones, which wait for the stores before them.
    auto* place = reinterpret_cast<std::uint64_t*>(begin);
    const auto write = [&](std::uint64_t word) { __atomic_store_n(place++, word, __ATOMIC_RELAXED); };
    write(first_word(type, length, 0));
    write(time);
    (write(rest), ...);
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

  /// A record comes soon: asks for the lines that it will be written to.
  SLUICE_INLINE void expect_record() const noexcept {
    const char* place = data_ + (head_ & (capacity_ - 1));
    expect_write(place);
    expect_write(place + 64);
    expect_write(place + 128);  // Past the end lies nothing, which does no harm.
    expect_write(&header_->head);
  }

  /// An ordinary record of `bytes` would be taken now.
  [[nodiscard]] bool fits(std::size_t bytes) noexcept {
    const std::size_t to_end = capacity_ - (head_ & (capacity_ - 1));
    return has_room(bytes <= to_end ? bytes : to_end + bytes, ordinary_limit());
  }

  /// True once each time the ring has become half full since it was last looked at: time to tell the reader, who looks
  /// every so often only.
  [[nodiscard]] bool wants_reader() noexcept {
    const bool wants = wants_reader_;
    wants_reader_ = false;
    return wants;
  }

  /// Records lost since the last report; they are in the header too, where the reader finds them if we die.
  [[nodiscard]] std::uint64_t unreported_loss() const noexcept { return lost_ - reported_; }

 private:
  /// After a change of `tail_`, `lost_`, `reported_` or `next_look_`, and on each lap. Three limits in one, so that a record is
  /// held against one.
  void reconsider() noexcept {
    simple_until_ = simple_up_to(ordinary_limit());
    memory_simple_until_ = simple_up_to(capacity_);
  }

  [[nodiscard]] std::uint64_t simple_up_to(std::size_t limit) const noexcept {
    if (lost_ != reported_) return 0;
    const std::uint64_t lap_ends = (head_ | (capacity_ - 1)) + 1, room_ends = tail_ + limit;
    const std::uint64_t until = lap_ends < room_ends ? lap_ends : room_ends;
    // A record that ends there is the first to be looked at.
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
      // The end of the ring may have 8 bytes only, so no more than the type and the length are written.
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
    // In one piece: a load that spans smaller stores, which have only just been made, waits until they are in the cache.
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

  /// The record of `length` at `place` is there, up to `head`.
  SLUICE_INLINE void publish(const char* place, std::uint64_t head, std::size_t length) noexcept {
    head_ = head;
    header_->head.store(head, std::memory_order_release);
    // The reader's core has had the lines that come next: asked for now, they are here when they are written. Those at the begin
    // of a lap are not: past the ring's end lies nothing, or something that can be asked for as well.
    expect_write(place + write_ahead);
    if (length > 64) expect_write(place + write_ahead + 64);
  }

  /// A line takes as long to come as some records take to be written; further ahead (2 KiB) brings no more.
  static constexpr std::size_t write_ahead = 768;

  /// The last quarter is for records that `uses_reserve`.
  [[nodiscard]] std::size_t ordinary_limit() const noexcept { return capacity_ - capacity_ / 4; }

  [[nodiscard]] bool has_room(std::size_t needed, std::size_t limit) noexcept {
    if (head_ - tail_ + needed <= limit) [[likely]]
      return true;
    look_at_tail();
    return head_ - tail_ + needed <= limit;
  }

  /// A tail outside [tail_, head_] is no tail: stay full rather than write over what was not read.
  void look_at_tail() noexcept {
    const std::uint64_t tail = header_->tail.load(std::memory_order_acquire);
    if (tail - tail_ > head_ - tail_) return;
    tail_ = tail;
    reconsider();
  }

  void count_loss(record_type type, const record_header* record) noexcept {
    note_lost_span(time_of_loss(record->time), layers_of(type, record));
    ++lost_;
    reconsider();
    if (is_memory_event(type)) ++lost_memory_;
    publish_loss();
  }

  /// When it was dropped; the record's own time may be the device's, and on another clock.
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

  /// Waits for room below the ordinary limit, so that reports do not eat the reserve while the ring stays full.
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

  // What each record needs: a cache line's worth.
  ring_header* header_ = nullptr;
  char* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t simple_until_ = 0;  ///< Up to here `head_` may go without a thought. 0: a loss is to be reported first.
  std::uint64_t memory_simple_until_ = 0;  ///< The same for memory events, which may use all of the ring.
  // And what some need.
  std::uint64_t next_look_ = 0;  ///< Where `head_` makes the fill level interesting.
  std::uint64_t tail_ = 0;       ///< As last seen; the real one is at or past it.
  std::uint64_t lost_ = 0, reported_ = 0;
  std::uint64_t lost_memory_ = 0, reported_memory_ = 0;
  clock_kind clock_ = clock_kind::tsc;
  bool wants_reader_ = false;
};

}  // namespace sluice::collector
