#pragma once

#include "instrumentation/writer/rings/ring_reader.hpp"

namespace sluice::ring {

/// Calls visit(record) for each record in `bytes`, which must come from `drain`.
/// Skips padding. Returns false at the first record with an invalid length.
template <class Visit>
[[nodiscard]] bool for_each_record(std::span<const std::byte> bytes, Visit&& visit) {
  while (!bytes.empty()) {
    const writer::record_head head = writer::head_at(bytes);
    if (head.bytes == 0) return false;
    if (head.type != record_type::padding) visit(writer::sound_record_at(bytes.data()));
    bytes = bytes.subspan(head.bytes);
  }
  return true;
}

}  // namespace sluice::ring
