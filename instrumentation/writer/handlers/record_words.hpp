#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "instrumentation/writer/rings/ring_reader.hpp"

/// The data that follows the struct in a record of variable length.
namespace sluice::writer {

/// The bytes after the struct `Record`.
template <class Record>
[[nodiscard]] std::span<const std::byte> bytes_after(const record_view& record) {
  return record.bytes.subspan(std::min(record.bytes.size(), sizeof(Record)));
}

/// The number of groups of `Words` words after the struct. `count`: the number that the record states; the result is
/// smaller if the record is too short for that number.
template <class Record, std::size_t Words = 1>
[[nodiscard]] std::size_t count_groups_after(const record_view& record, std::uint64_t count) {
  return std::min<std::uint64_t>(count, bytes_after<Record>(record).size() / (Words * sizeof(std::uint64_t)));
}

/// Calls `use(const std::array<std::uint64_t, Words>&)` for each of these groups. `use` gets a copy, because a group
/// may be unaligned.
template <class Record, std::size_t Words = 1, class Use>
void for_each_group_after(const record_view& record, std::uint64_t count, Use&& use) {
  const std::byte* bytes = bytes_after<Record>(record).data();
  for (std::size_t left = count_groups_after<Record, Words>(record, count); left != 0; --left) {
    std::array<std::uint64_t, Words> words;
    std::memcpy(words.data(), bytes, sizeof words);
    bytes += sizeof words;
    use(words);
  }
}

}  // namespace sluice::writer
