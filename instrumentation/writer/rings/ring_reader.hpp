#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "instrumentation/ring/ring.hpp"

namespace sluice::writer {

/// Identity of the process that sent a ring: a copy that is independent of the shared memory, with printable texts of
/// limited length.
struct producer_identity {
  std::uint64_t start_time = 0;
  std::uint64_t image = 0;
  std::int64_t rank = -1;
  std::uint64_t pid = 0;  ///< As seen by the process.
  std::uint64_t parent_pid = 0;
  std::uint32_t copy = 0;  ///< See `ring_identity::copy`.
  std::string boot_id;
  std::string host;
  std::string command;
};

/// The writer's end of a ring. Does not trust the ring's contents: a hostile or damaged ring causes
/// an error, but never a crash, an endless loop or an out-of-bounds read. Not thread-safe.
class ring_reader {
 public:
  /// Maps the ring in `memory_file`, and closes the descriptor in any case. Errors: corrupt, with the reason; io.
  [[nodiscard]] static result<ring_reader> adopt(int memory_file);

  ring_reader(ring_reader&& other) noexcept;
  ring_reader& operator=(ring_reader&& other) noexcept;
  ~ring_reader();

  [[nodiscard]] const producer_identity& identity() const { return identity_; }
  [[nodiscard]] ring::clock_kind clock() const { return clock_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  /// Appends newly published whole records to `into`, at most about `most` bytes, and frees their space in the
  /// ring. Returns the number of bytes appended. Large amounts are copied in pieces. Nothing after an invalid record
  /// length is read. Error: corrupt; then the ring is unusable and later calls append nothing. O(bytes).
  [[nodiscard]] result<std::size_t> drain(std::vector<std::byte>& into, std::size_t most = ring::maximum_ring_bytes);

  /// True if the last `drain` left data in the ring.
  [[nodiscard]] bool has_more() const { return has_more_; }

  /// True if the producer will write no more records. Call this before the last `drain`.
  [[nodiscard]] bool closed() const;

  /// The losses, as last stored in the ring's header by the producer. The numbers of events are totals.
  struct losses {
    std::uint64_t events = 0, memory_events = 0;
    std::uint64_t first = 0, last = 0;  ///< Times of unreported losses, on the ring's clock.
    std::uint64_t layers = 0;           ///< Layers of unreported lost memory events, one bit each; 0: unknown.
    std::uint64_t ringless_events = 0,
                  ringless_memory_events = 0;  ///< Losses of threads without a ring; see `ring_header`.
  };
  [[nodiscard]] losses lost() const;

  /// Makes `closed` return true, because the producer is known to have ended.
  void end() { ended_ = true; }

  /// Informs the producer that the ring no longer has a reader.
  void say_gone();

 private:
  ring_reader(ring::ring_header* header, std::size_t capacity);
  void copy_out(std::uint64_t begin, std::size_t bytes, std::vector<std::byte>& into) const;
  std::size_t copy_whole_records(std::uint64_t begin, std::size_t bytes, std::vector<std::byte>& into,
                                 bool& sound) const;

  ring::ring_header* header_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t tail_ = 0;
  ring::clock_kind clock_ = ring::clock_kind::tsc;
  bool useless_ = false;
  bool has_more_ = false;
  bool ended_ = false;
  producer_identity identity_;
};

/// One record among the bytes that `ring_reader::drain` returned.
struct record_view {
  ring::record_type type{};
  std::uint32_t flags = 0;
  std::uint64_t time = 0;
  std::span<const std::byte> bytes;  ///< The whole record, header included.
};

/// Type, flags and length of any record (including padding), decoded from the record's first word.
struct record_head {
  ring::record_type type{};
  std::uint32_t flags = 0;
  std::size_t bytes = 0;  ///< Length of the whole record.
};
[[nodiscard]] inline record_head head_at(const std::byte* record) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, record, sizeof word);
  return {static_cast<ring::record_type>(word & UINT16_MAX), static_cast<std::uint32_t>(word >> 32),
          static_cast<std::size_t>(word >> 16 & UINT16_MAX) * 8};
}

/// Decodes the first word of the record in `bytes`. If the length is invalid, the result's `bytes` is 0: then trust
/// nothing from here on.
[[nodiscard]] inline record_head head_at(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) return {};
  record_head head = head_at(bytes.data());
  const std::size_t least =
      head.type == ring::record_type::padding ? sizeof(std::uint64_t) : sizeof(ring::record_header);
  if (head.bytes < least || head.bytes > bytes.size()) head.bytes = 0;
  return head;
}

/// The record at `bytes`. The caller must have checked its length.
[[nodiscard]] inline record_view sound_record_at(const std::byte* bytes) {
  const record_head head = head_at(bytes);
  record_view record{head.type, head.flags, 0, {bytes, head.bytes}};
  std::memcpy(&record.time, bytes + offsetof(ring::record_header, time), sizeof record.time);
  return record;
}

/// Decodes the record as a struct. Members that a shorter (older) record
/// lacks are zero; extra bytes of a longer (newer) record are ignored.
template <class Record>
[[nodiscard]] inline Record decode(const record_view& record) {
  Record copy;
  if (record.bytes.size() >= sizeof copy) [[likely]] {
    std::memcpy(static_cast<void*>(&copy), record.bytes.data(), sizeof copy);  // The compiler knows this length.
  } else {
    copy = Record{};
    std::memcpy(static_cast<void*>(&copy), record.bytes.data(), record.bytes.size());
  }
  return copy;
}

/// The record as a struct, in place if possible; a record shorter than the struct is decoded into `spare`. The record
/// must be 8-byte aligned.
template <class Record>
[[nodiscard]] inline const Record& view(const record_head& head, const std::byte* record, Record& spare) {
  static_assert(alignof(Record) <= 8);
  if (head.bytes >= sizeof spare) [[likely]]
    return *std::launder(reinterpret_cast<const Record*>(record));
  return spare = decode<Record>(sound_record_at(record));
}

}  // namespace sluice::writer
