#pragma once

#include <cstdint>

/// The types of the records in a ring, and the header with which each record begins. `records.hpp` includes this header
/// and describes the record format. Most types have a struct of the same name, such as `alloc_record`:
/// definitions of keys are in table_records.hpp, memory in memory_records.hpp, calls and device work in
/// work_records.hpp, and ranges, markers, files and messages in host_records.hpp.
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
  recorder_threads = 11,  ///< The threads of the process that belong to the recorder.
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
  watermark = 33,  ///< All device times up to this record's time have been written.
  message = 34,    ///< A text for the user, with a severity.
  loss = 35,
  graph_launch = 36,
  free_completed = 37,
  touch = 38,  ///< Parameter words of a launch that may be addresses of blocks.
  tag = 39,    ///< The category or the name that the program gives a block.
  graph_definition = 40,
  live_set = 41,  ///< The live blocks of the process, sent after a loss.
  mode = 42,      ///< The recording mode of the process. 43 is not used.
  range_begin = 44,
  range_end = 45,
  thread_name = 46,
  context_end = 47,
  graph_end = 48,
  fault = 49,       ///< A GPU fault, and the launches before it.
  copy_parts = 50,  ///< Some of the copies that one batch call requests.
  content = 51,     ///< A hash of the data that a call copies.
  node_touch = 52,
  graph_call = 53,
  share = 54,  ///< Memory was exported to or imported from another process.
  child_graph = 55,
  node_switch = 56,
  pool_stream = 57,
  pool_stream_alloc = 58,
  pool_stream_free = 59,
  pool_live_set = 60,
  live_sets_complete = 61,
  framework_alloc = 62,
  framework_free = 63,
  python_sample = 64,  ///< The Python frames of a thread, which another thread has read.
  library_call = 65,   ///< A thread entered or left a long call of a library.
  sampling = 66,       ///< Whether the process's host threads are to be sampled.
};

struct record_header {
  std::uint16_t type;   ///< `record_type`.
  std::uint16_t words;  ///< Length in units of 8 bytes, including the header; never 0.
  std::uint32_t flags;  ///< `record_flag` bits.
  std::uint64_t time;   ///< On the ring's clock (`clock_kind`).
};
static_assert(sizeof(record_header) == 16);

enum record_flag : std::uint32_t {
  flag_sampled = 1,          ///< The value was read at intervals.
  flag_estimated = 2,        ///< The times are estimates. For a `live_set_record`: the set may be incomplete.
  flag_inferred = 4,         ///< The times were derived from those of other events.
  flag_asynchronous = 8,     ///< The call did not wait for its work, or is ordered on a stream.
  flag_born_before = 16,     ///< The block existed when the recording began.
  flag_default_stream = 32,  ///< The stream is the default stream of its context.
  flag_registered = 64,      ///< The block is existing host memory that was pinned (cudaHostRegister).
  flag_ipc = 128,            ///< Another process owns the memory.
  /// All times in this record are CLOCK_MONOTONIC ns, whatever the ring's
  /// clock is. CUPTI's activity records use CLOCK_MONOTONIC.
  flag_monotonic = 256,
  /// For a `loss_record`: the ring itself lost these records, so the counters in its header include them.
  flag_of_ring = 512,
  /// For an allocation: if the block is already live, its use count grows by one, so one more free is needed to end it.
  flag_shared = 1024,
  /// For an allocation: a graph's memory node. The graph, and any graph made from it, owns the address while it exists.
  flag_graph = 2048,
  /// For a `thread_record`: the thread belongs to the recorder, not to the program.
  flag_of_recorder = 4096,
};

}  // namespace sluice::ring
