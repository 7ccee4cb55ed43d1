#pragma once

#include <cstdint>

/// The types of the records in a ring, and the header with which each record begins. `records.hpp` includes this header
/// and describes the record format.
namespace sluice::ring {

enum class record_type : std::uint16_t {
  padding = 0,  ///< Fills the space before the end of the ring.
  string = 1,
  thread = 2,
  device = 3,
  context = 4,
  stream = 5,
  pool = 6,
  counter = 7,
  frame = 8,
  stack = 9,
  module = 10,
  alloc = 16,
  free = 17,
  alloc_failed = 18,
  pool_state = 19,
  device_memory = 20,
  api_call = 21,
  copy = 22,
  memset = 23,
  kernel = 24,
  migration = 25,
  event_record = 26,
  event_wait = 27,
  sync = 28,
  range = 29,
  marker = 30,
  counter_value = 31,
  file_io = 32,
  watermark = 33,
  message = 34,
  loss = 35,
  graph_launch = 36,
  free_completed = 37,
  touch = 38,
  tag = 39,
  graph_definition = 40,
  live_set = 41,
  mode = 42,
  range_begin = 44,
  range_end = 45,
  thread_name = 46,
  context_end = 47,
  graph_end = 48,
  fault = 49,
  copy_parts = 50,
  content = 51,
  node_touch = 52,
  graph_call = 53,
  share = 54,
  child_graph = 55,
  node_switch = 56,
  pool_stream = 57,
  pool_stream_alloc = 58,
  pool_stream_free = 59,
  pool_live_set = 60,
  live_sets_complete = 61,
  framework_alloc = 62,
  framework_free = 63,
};

struct record_header {
  std::uint16_t type;   ///< `record_type`.
  std::uint16_t words;  ///< Length in units of 8 bytes, including the header; never 0.
  std::uint32_t flags;  ///< `record_flag` bits.
  std::uint64_t time;   ///< On the ring's clock (`clock_kind`).
};
static_assert(sizeof(record_header) == 16);

enum record_flag : std::uint32_t {
  flag_sampled = 1,
  flag_estimated = 2,
  flag_inferred = 4,
  flag_asynchronous = 8,
  flag_born_before = 16,
  flag_default_stream = 32,
  flag_registered = 64,
  flag_ipc = 128,
  /// All times in this record are CLOCK_MONOTONIC ns, whatever the ring's
  /// clock is. CUPTI's activity records use CLOCK_MONOTONIC.
  flag_monotonic = 256,
  /// For a `loss_record`: the ring itself lost these records, so the counters in its header include them.
  flag_of_ring = 512,
  /// For an allocation: if the block is already live, its use count grows by one, so one more free is needed to end it.
  flag_shared = 1024,
  /// For an allocation: a graph's memory node. The graph, and any graph made from it, owns the address while it exists.
  flag_graph = 2048,
};

}  // namespace sluice::ring
