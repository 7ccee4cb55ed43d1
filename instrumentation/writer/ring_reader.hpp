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

namespace sluice::collector {

/// Who sent a ring, in the reader's own words: bounded, printable, independent of the shared memory.
struct producer_identity {
  std::uint64_t start_time = 0;
  std::uint64_t image = 0;
  std::int64_t rank = -1;
  std::uint64_t pid = 0;  ///< As the process sees itself.
  std::uint64_t parent_pid = 0;
  std::uint32_t copy = 0;  ///< As in `ring_identity`.
  std::string boot_id;
  std::string host;
  std::string command;
};

/// The writer process's end of a ring. Trusts nothing in it: a hostile or torn ring yields an error, never a crash, an
/// endless loop or a read outside. Not thread-safe.
class ring_reader {
 public:
  /// Maps the ring behind `memory_file`, which it closes in any case. Errors: corrupt, with what is wrong; io.
  [[nodiscard]] static result<ring_reader> adopt(int memory_file);

  ring_reader(ring_reader&& other) noexcept;
  ring_reader& operator=(ring_reader&& other) noexcept;
  ~ring_reader();

  [[nodiscard]] const producer_identity& identity() const { return identity_; }
  [[nodiscard]] clock_kind clock() const { return clock_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  /// Appends what was published since the last call to `into`, whole records and about `most` bytes at most, and frees their room in
  /// the ring. Returns the bytes appended. What is more than a piece is looked at as it is copied: past a record whose length cannot be
  /// right nothing is read. Error: corrupt; the ring is then useless, and further calls append nothing. O(bytes).
  [[nodiscard]] result<std::size_t> drain(std::vector<std::byte>& into, std::size_t most = maximum_ring_bytes);

  /// The last `drain` left something in the ring for the next.
  [[nodiscard]] bool has_more() const { return has_more_; }

  /// The producer will write nothing more. Ask before a last `drain`.
  [[nodiscard]] bool closed() const;

  /// Records lost in total, as the producer last said.
  struct losses {
    std::uint64_t events = 0, memory_events = 0;
    std::uint64_t first = 0, last = 0;  ///< Of the unreported ones; in the ring's clock.
    std::uint64_t layers = 0;           ///< Of memory events among those, a bit each; 0: not told.
    std::uint64_t ringless_events = 0,
                  ringless_memory_events = 0;  ///< Of threads that had no ring; as in `ring_header`.
  };
  [[nodiscard]] losses lost() const;

  /// Makes `closed` true: the producer is known to be dead.
  void end() { ended_ = true; }

  /// Tells the producer that nobody reads any more.
  void say_gone();

 private:
  ring_reader(ring_header* header, std::size_t capacity);
  void copy_out(std::uint64_t from, std::size_t bytes, std::vector<std::byte>& into) const;
  std::size_t copy_whole_records(std::uint64_t from, std::size_t bytes, std::vector<std::byte>& into,
                                 bool& sound) const;

  ring_header* header_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t tail_ = 0;
  clock_kind clock_ = clock_kind::tsc;
  bool useless_ = false;
  bool has_more_ = false;
  bool ended_ = false;
  producer_identity identity_;
};

/// One record of a drained span.
struct record_view {
  record_type type{};
  std::uint32_t flags = 0;
  std::uint64_t time = 0;
  std::span<const std::byte> bytes;  ///< The whole record, header included.
};

/// What each record begins with, padding too.
struct record_head {
  record_type type{};
  std::uint32_t flags = 0;
  std::size_t bytes = 0;  ///< Of the whole record.
};
[[nodiscard]] inline record_head head_at(const std::byte* record) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, record, sizeof word);
  return {static_cast<record_type>(word & UINT16_MAX), static_cast<std::uint32_t>(word >> 32),
          static_cast<std::size_t>(word >> 16 & UINT16_MAX) * 8};
}

/// The same where less than a record may be there; of no bytes if its length cannot be right, after which nothing can be trusted.
[[nodiscard]] inline record_head head_at(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) return {};
  record_head head = head_at(bytes.data());
  const std::size_t least = head.type == record_type::padding ? sizeof(std::uint64_t) : sizeof(record_header);
  if (head.bytes < least || head.bytes > bytes.size()) head.bytes = 0;
  return head;
}

/// The record at `bytes`, whose length was found right before.
[[nodiscard]] inline record_view sound_record_at(const std::byte* bytes) {
  const record_head head = head_at(bytes);
  record_view record{head.type, head.flags, 0, {bytes, head.bytes}};
  std::memcpy(&record.time, bytes + offsetof(record_header, time), sizeof record.time);
  return record;
}

/// Walks the records in `bytes`, which `drain` gave; padding is left out. Returns false at the first record whose length
/// cannot be right.
template <class Visit>
[[nodiscard]] bool for_each_record(std::span<const std::byte> bytes, Visit&& visit) {
  while (!bytes.empty()) {
    const record_head head = head_at(bytes);
    if (head.bytes == 0) return false;
    if (head.type != record_type::padding) visit(sound_record_at(bytes.data()));
    bytes = bytes.subspan(head.bytes);
  }
  return true;
}

/// The record as its struct. Fields that a shorter (older) record lacks are zero; what a longer (newer) one adds is
/// left out.
template <class Record>
[[nodiscard]] inline Record decode(const record_view& record) {
  Record copy;
  if (record.bytes.size() >= sizeof copy) [[likely]] {
    std::memcpy(static_cast<void*>(&copy), record.bytes.data(), sizeof copy);  // Of a length that is known here.
  } else {
    copy = Record{};
    std::memcpy(static_cast<void*>(&copy), record.bytes.data(), record.bytes.size());
  }
  return copy;
}

/// The same without a copy, of a record at a multiple of 8 bytes; `spare` is where it goes if it is shorter.
template <class Record>
[[nodiscard]] inline const Record& view(const record_head& head, const std::byte* record, Record& spare) {
  static_assert(alignof(Record) <= 8);
  if (head.bytes >= sizeof spare) [[likely]]
    return *std::launder(reinterpret_cast<const Record*>(record));
  return spare = decode<Record>(sound_record_at(record));
}

}  // namespace sluice::collector
