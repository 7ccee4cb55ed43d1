#pragma once
// Reads a journal (journal.hpp) back into values. For tests: a damaged file throws an exception.

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tests/instrumentation/capture/journal.hpp"

namespace sluice::journal {

struct api_edge {
  std::uint32_t thread = 0, cbid = 0;
  std::uint8_t site = 0;
  std::uint32_t correlation = 0, context_uid = 0;
  std::uint64_t context = 0;
  std::int64_t time_ns = 0;
  std::int32_t result = 0;
  std::uint32_t name = 0;
  block params;
};
struct resource_edge {
  std::uint32_t thread = 0, cbid = 0;
  std::uint64_t context = 0;
  std::uint32_t context_uid = 0, device = 0;
  std::uint64_t stream = 0;
  std::uint32_t stream_id = 0;
  std::int64_t time_ns = 0;
};
struct activity_record {
  std::uint32_t kind = 0;
  block bytes;
};
using entry = std::variant<api_edge, resource_edge, activity_record>;

struct journal {
  std::uint32_t cupti_version = 0, driver_version = 0;
  std::vector<entry> entries;  ///< In recorded order.
  std::map<std::uint32_t, std::string> strings;
};

/// `path` may be gzipped. Throws std::runtime_error on failure.
[[nodiscard]] journal read(const std::string& path);

/// The field at `offset` of a record or a parameter struct; 0 if the struct is too short.
template <class T>
[[nodiscard]] T field(const block& b, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= b.bytes.size()) std::memcpy(&value, b.bytes.data() + offset, sizeof value);
  return value;
}
template <class T>
void set_field(block& b, std::size_t offset, T value) {
  if (offset + sizeof value <= b.bytes.size()) std::memcpy(b.bytes.data() + offset, &value, sizeof value);
}

/// Offsets of the fields that a replay needs; 0 if records of this kind do not have the field.
struct record_layout {
  std::size_t start = 0, end = 0, correlation = 0, name = 0;
};
[[nodiscard]] record_layout get_layout(std::uint32_t kind);

}  // namespace sluice::journal
