#pragma once

#include <cstdint>

/// The number each kind of row has in a file. Numbers are never reused; readers skip the ones they do not know.
namespace sluice::trace {

enum class row_type : std::uint16_t {
  // Tables.
  string = 1,
  host = 2,
  process = 3,
  thread = 4,
  device = 5,
  context = 6,
  stream = 7,
  pool = 8,
  counter_definition = 9,
  stack = 10,
  frame = 11,
  // Events.
  alloc = 64,
  free = 65,
  alloc_failed = 66,
  pool_state = 67,
  device_memory = 68,
  transfer = 69,
  migration = 70,
  memset = 71,
  kernel = 72,
  api_call = 73,
  graph_definition = 74,
  graph_launch = 75,
  event_record = 76,
  event_wait = 77,
  sync = 78,
  host_range = 79,
  marker = 80,
  file_io = 81,
  counter = 82,
  touch = 83,
  loss = 84,
  checkpoint = 85,
  live_block = 86,
  clock_anchor = 87,
  watermark = 88,
  message = 89,
  attribute = 90,
  link = 91,
  // The file's own.
  index = 1024,
};

[[nodiscard]] constexpr bool is_table(row_type type) { return static_cast<std::uint16_t>(type) < 64; }
[[nodiscard]] constexpr bool is_event(row_type type) {
  return static_cast<std::uint16_t>(type) >= 64 && static_cast<std::uint16_t>(type) < 1024;
}

}  // namespace sluice::trace
