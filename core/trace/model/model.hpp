#pragma once

#include <cstdint>
#include <string>

#include "core/trace/model/ids.hpp"
#include "core/trace/model/kinds.hpp"

/// The data model of a recording: plain structs, one for each kind of row. `schema.hpp` defines how they are stored.
/// Times are in nanoseconds, sizes in bytes. A row is either an event (something that happened) or a table row
/// (something that exists, such as a device).
namespace sluice::trace {

// --- events ---------------------------------------------------------------------------------------------------------

/// The members of all events. Events are ordered by (time, id). For an event with a duration, `time` is its start.
struct event_base {
  event_id id{};
  time_ns time = 0;
  process_id process{};
  thread_id thread{};  ///< The host thread that requested the event; none if only the device reported it.
  provenance source = provenance::exact;
};

/// The allocation of a block. `time` is when the call on the host returned, because before that, another thread may
/// still hold a live block at the same address.
struct alloc_event : event_base {
  block_id block{};
  block_id parent{};  ///< The segment, in the layer below, that contains the block; none if unknown.
  trace::layer layer = trace::layer::driver;
  memory_kind kind = memory_kind::unknown;
  device_id device{};
  context_id context{};
  stream_id stream{};  ///< The stream that orders the allocation; none for a synchronous call.
  pool_id pool{};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;             ///< The requested size.
  std::uint64_t reserved_bytes = 0;    ///< The size taken from the pool, at least `bytes`; 0: the same as `bytes`.
  time_ns call_begin = unknown_time;   ///< When the call was entered.
  time_ns device_time = unknown_time;  ///< For a stream-ordered allocation: when the stream reached the call.
  std::uint64_t correlation = 0;
  std::uint64_t flags = 0;  ///< A combination of `alloc_flag` bits.
  stack_id stack{};
  string_id name{};  ///< The API function that allocated the block, or a tag.
};
enum alloc_flag : std::uint64_t {
  born_before = 1,  ///< The block existed when the recording began.
  ipc_import = 2,   ///< Another process owns the memory.
  registered = 4,   ///< The block is existing host memory that was pinned (cudaHostRegister).
  write_combined = 8,
  graph_memory = 16,  ///< The block is a memory node of a CUDA graph. It has an address from its definition until the
                      ///< graph is destroyed.
  freed_after = 32,   ///< The block was freed after the end of this recording, which was cut out of a longer one.
};

/// The free of a block. `time` is when the call was entered: from then on, the address of the block may be reused.
struct free_event : event_base {
  block_id block{};
  trace::layer layer = trace::layer::driver;
  std::uint64_t address = 0;
  stream_id stream{};
  time_ns completed = unknown_time;  ///< When the stream reached the free; for a synchronous free, when the call
                                     ///< returned.
  std::uint64_t correlation = 0;
};

/// An allocation that failed.
struct alloc_failed_event : event_base {
  trace::layer layer = trace::layer::driver;
  memory_kind kind = memory_kind::unknown;
  device_id device{};
  stream_id stream{};
  pool_id pool{};
  std::uint64_t bytes = 0;
  std::int64_t error = 0;  ///< The result code of the API.
  string_id name{};        ///< The API function that failed.
  stack_id stack{};
};

/// The size of a pool, after it has changed or when it was sampled.
struct pool_event : event_base {
  pool_id pool{};
  pool_operation operation = pool_operation::sample;
  std::uint64_t reserved = 0;   ///< Bytes that the pool holds.
  std::uint64_t used = 0;       ///< Bytes that the pool has handed out.
  std::uint64_t threshold = 0;  ///< Bytes that the pool keeps although they are unused; 0 also if unknown.
};

/// A sample of `cuMemGetInfo`: the memory of the whole device, whichever process uses it.
struct device_memory_event : event_base {
  device_id device{};
  std::uint64_t free = 0;
  std::uint64_t total = 0;
  std::uint64_t recorder = 0;  ///< Estimated device memory used by the recorder itself.
};

/// A copy on the device's timeline. Its bandwidth is bytes / (end - time).
struct transfer_event : event_base {
  time_ns end = unknown_time;
  trace::direction direction = trace::direction::unknown;
  memory_kind source_kind = memory_kind::unknown;  ///< `host`: pageable memory; `pinned`: page-locked memory.
  memory_kind destination_kind = memory_kind::unknown;
  std::uint64_t bytes = 0;
  std::uint64_t source_address = 0;
  std::uint64_t destination_address = 0;
  block_id source_block{};
  block_id destination_block{};
  device_id device{};
  device_id peer{};  ///< The source device of a peer copy.
  context_id context{};
  stream_id stream{};
  event_id call{};                  ///< The API call that requested the copy.
  time_ns enqueued = unknown_time;  ///< When the call that requested the copy was entered.
  std::uint64_t correlation = 0;
  std::uint64_t graph_node = 0;
  bool asynchronous = false;
  std::uint32_t channel = 0;  ///< Number of the hardware channel, from 1 (a copy engine has several channels); 0:
                              ///< unknown.
  std::uint32_t copies = 1;   ///< Number of copies that share this interval: a whole batch may be recorded as one
                              ///< transfer.
  content_check content = content_check::none;
  /// Hash of the source's content when the copy was requested. Copies with the same length, check and hash moved the
  /// same data.
  std::uint64_t content_hash = 0;
  std::uint64_t content_bytes = 0;  ///< Number of bytes that were hashed.
};

/// One copy of a batch that is recorded as a single transfer. The copies of a batch share its interval on the device.
/// Only these events have addresses and blocks; the transfer has none. `time` is when the call was entered.
struct transfer_part_event : event_base {
  event_id transfer{};
  event_id call{};
  std::uint64_t index = 0;  ///< Position in the batch, from 0.
  std::uint64_t count = 0;  ///< Number of copies in the batch.
  std::uint64_t bytes = 0;  ///< 0: unknown.
  trace::direction direction = trace::direction::unknown;
  memory_kind source_kind = memory_kind::unknown;
  memory_kind destination_kind = memory_kind::unknown;
  std::uint64_t source_address = 0;
  std::uint64_t destination_address = 0;
  block_id source_block{};
  block_id destination_block{};
};

/// A migration of pages of managed memory by the driver.
struct migration_event : event_base {
  time_ns end = unknown_time;
  trace::direction direction = trace::direction::unknown;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;
  device_id device{};
  migration_cause cause = migration_cause::unknown;
};

/// A memset on the device's timeline.
struct memset_event : event_base {
  time_ns end = unknown_time;
  memory_kind kind = memory_kind::unknown;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;
  std::uint64_t value = 0;
  block_id block{};
  device_id device{};
  context_id context{};
  stream_id stream{};
  event_id call{};
  time_ns enqueued = unknown_time;  ///< When the call was entered. Since format 4.3.
  std::uint64_t correlation = 0;
  std::uint64_t graph_node = 0;
};

/// The execution of a kernel on the device's timeline.
struct kernel_event : event_base {
  time_ns end = unknown_time;
  string_id name{};
  device_id device{};
  context_id context{};
  stream_id stream{};
  event_id call{};
  time_ns enqueued = unknown_time;
  std::uint64_t correlation = 0;
  std::uint64_t graph_node = 0;
  std::uint32_t grid_x = 0, grid_y = 0, grid_z = 0;
  std::uint32_t block_x = 0, block_y = 0, block_z = 0;
  std::uint32_t registers = 0;
  std::uint64_t static_shared = 0;   ///< Bytes.
  std::uint64_t dynamic_shared = 0;  ///< Bytes.
};

/// A call into the driver or the runtime, on the host thread that made it.
struct api_call_event : event_base {
  time_ns end = unknown_time;
  string_id name{};
  std::int64_t status = 0;  ///< The result that the call returned; 0: success.
  std::uint64_t correlation = 0;
  context_id context{};
  stream_id stream{};
  std::uint64_t bytes = 0;  ///< Bytes that the call moved or requested; 0 if neither applies.
  stack_id stack{};
};

/// The capture or construction of a CUDA graph. When the graph is instantiated, a second row with its id sets `nodes`.
struct graph_definition_event : event_base {
  graph_id graph{};
  std::uint64_t nodes = 0;
  string_id name{};
};

/// The launch of a CUDA graph. If its time on the device was not recorded, `time` is when the call was entered, and
/// `end` is unknown.
struct graph_launch_event : event_base {
  time_ns end = unknown_time;
  graph_id graph{};
  device_id device{};
  stream_id stream{};
  std::uint64_t correlation = 0;
};

/// A CUDA event is recorded in a stream.
struct event_record_event : event_base {
  std::uint64_t handle = 0;
  stream_id stream{};
};

/// A stream waits for a CUDA event. `record` is the `event_record_event` that it waits for.
struct event_wait_event : event_base {
  std::uint64_t handle = 0;
  stream_id stream{};
  event_id record{};
};

/// A wait of the host for the device.
struct sync_event : event_base {
  time_ns end = unknown_time;
  sync_kind kind = sync_kind::unknown;
  stream_id stream{};
  stack_id stack{};
};

/// A sample of what a host thread was doing. It stands for the time from `time` to `time + length`. A long time in one
/// state is stored as several samples, none longer than a second, so that a reader needs to look back only a second.
struct host_sample_event : event_base {
  time_ns length = 0;
  host_state state = host_state::unknown;
  stack_id stack{};               ///< Native and Python frames, merged; none if neither is known.
  std::int64_t system_call = -1;  ///< The number of the system call in which the thread was; -1: none, or unknown.
  /// The frames of Python were read at another time than the native frames. This is the distance between the two times;
  /// -1: the stack has no Python frames that were read separately.
  time_ns python_distance = -1;
};

/// A named scope in the program, marked through NVTX or the runtime.
struct host_range_event : event_base {
  time_ns end = unknown_time;
  string_id name{};
  string_id domain{};
};

/// A named point in time, marked by the program. `step` counts from 0; -1: the marker does not mark a step.
struct marker_event : event_base {
  string_id name{};
  std::int64_t step = -1;
};

/// An operation of the program on a file.
struct file_io_event : event_base {
  time_ns end = unknown_time;
  file_operation operation = file_operation::unknown;
  string_id file{};
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct counter_event : event_base {
  counter_id counter{};
  double value = 0;
};

/// The use of a block by a kernel that has the block's address among its arguments. `time` is when the kernel was
/// enqueued. The kernel's execution is the event `work` or, if that is none, the kernel event with the same
/// correlation. Either may be missing from the recording. Touches of one launch have the same time, thread and
/// correlation. A copy or memset has touch rows only during stream capture. Otherwise, the members `source_block`,
/// `destination_block` and `block` of its own row name the blocks that it uses.
struct touch_event : event_base {
  block_id block{};
  stream_id stream{};
  event_id work{};
  std::uint64_t correlation = 0;
  string_id name{};  ///< The name of the kernel or, during stream capture, of a copy call.
  /// Set for a launch during stream capture. The launch then defines a node of this graph, and each
  /// `graph_launch_event` of the graph touches the block once, at its launch.
  graph_id graph{};
};

/// A loss: events in [time, end] that the recorder dropped.
struct loss_event : event_base {
  time_ns end = unknown_time;
  std::uint64_t events = 0;
  std::uint64_t memory_events = 0;  ///< Allocations and frees among `events`. Totals are inexact until the next
                                    ///< checkpoint.
};

/// The set of the blocks that are live at `time`. The blocks follow, as `live_block` rows that refer to this event.
struct checkpoint_event : event_base {
  std::uint64_t blocks = 0;
  bool exact = true;  ///< False if blocks may be missing because events were lost.
};

struct live_block_event : alloc_event {
  event_id checkpoint{};
  time_ns born = 0;
  event_id alloc{};  ///< The event that allocated the block, which may not be in this file; none: unknown.
};

/// Simultaneous readings of three clocks. The writer uses them to convert times from one clock to another.
struct clock_anchor_event : event_base {
  std::uint64_t tsc = 0;
  std::int64_t monotonic = 0;
  std::int64_t realtime = 0;
};

/// A watermark: the device times of `process` are complete up to `complete_until`. Later times are provisional.
struct watermark_event : event_base {
  time_ns complete_until = 0;
};

/// A message for the user, for example about a partial success, another profiler, or a missing library.
struct message_event : event_base {
  trace::severity severity = trace::severity::info;
  string_id text{};
};

/// A typed attribute of any event. An attribute has one value or, for some keys, both `text` and `integer`.
struct attribute_event : event_base {
  event_id target{};
  string_id key{};
  string_id text{};
  std::int64_t integer = 0;
  double real = 0;
};

/// A link between two events that no member of either expresses.
struct link_event : event_base {
  link_kind kind = link_kind::call_to_work;
  event_id from{};
  event_id to{};
};

// --- tables ---------------------------------------------------------------------------------------------------------
// A row may be written again with the same id, for example when a thread gets its name or a process ends. It then
// replaces the earlier row.

struct string_row {
  string_id id{};
  std::string text;
};

struct host_row {
  host_id id{};
  string_id name{};
  string_id boot_id{};
  string_id system{};  ///< The kernel and the distribution.
};

struct process_row {
  process_id id{};
  host_id host{};
  process_id parent{};
  std::uint64_t pid = 0;
  std::uint64_t container_pid = 0;
  std::int64_t rank = -1;
  string_id command{};
  time_ns begin = unknown_time;
  time_ns end = unknown_time;
  std::int64_t exit_status = -1;                  ///< 0..255, or 128 + n if signal n ended the process; -1: unknown.
  recording_mode mode = recording_mode::unknown;  ///< `memory`: kernels are not recorded, so a lack of kernels means
                                                  ///< nothing.
};

struct thread_row {
  thread_id id{};
  process_id process{};
  std::uint64_t tid = 0;
  string_id name{};
};

/// A device. The same UUID means the same device.
struct device_row {
  device_id id{};
  std::uint64_t uuid_high = 0, uuid_low = 0;
  string_id name{};
  device_kind kind = device_kind::unknown;
  std::int64_t ordinal = -1;
  std::uint64_t memory_bytes = 0;
  std::uint32_t link_generation = 0;  ///< The generation of PCIe; 0: unknown.
  std::uint32_t link_width = 0;       ///< The number of PCIe lanes.
  std::uint64_t link_peak = 0;        ///< The theoretical peak in one direction, in bytes per second.
  std::uint64_t attainable_h2d = 0;   ///< As measured, in bytes per second; 0: not measured.
  std::uint64_t attainable_d2h = 0;
  std::uint32_t compute_major = 0, compute_minor = 0;
  std::uint64_t peer_peak = 0;  ///< The theoretical peak over NVLink to another device, in one direction, in bytes per
                                ///< second; 0: no link, or unknown.
};

struct context_row {
  context_id id{};
  process_id process{};
  device_id device{};
  std::uint64_t handle = 0;
};

struct stream_row {
  stream_id id{};
  process_id process{};
  context_id context{};
  device_id device{};
  std::uint64_t handle = 0;      ///< The number that the recorder uses for the stream (CUPTI's stream id).
  std::uint64_t generation = 0;  ///< Distinguishes streams that had the same handle one after another.
  std::int64_t priority = 0;
  bool is_default = false;
  string_id name{};
};

struct pool_row {
  pool_id id{};
  process_id process{};
  device_id device{};
  trace::layer layer =
      trace::layer::driver;  ///< The layer that manages the pool. Memory of a driver's pool is not part of any
                             ///< driver-layer block; segments of other pools are driver-layer blocks. Blocks allocated
                             ///< from a pool have the layer `pool`.
  memory_kind kind = memory_kind::device;
  std::uint64_t handle = 0;
  string_id name{};
};

struct counter_row {
  counter_id id{};
  process_id process{};
  device_id device{};
  counter_unit unit = counter_unit::none;
  string_id name{};
};

/// A code file that a process has loaded. Stack frames in this file have an `address` relative to it, for symbol
/// lookup.
struct module_row {
  module_id id{};
  process_id process{};
  string_id path{};
  string_id build_id{};     ///< In lower-case hexadecimal; none if the file has no build id.
  std::uint64_t base = 0;   ///< The load bias: the offset that is added to the virtual addresses in the file.
  std::uint64_t bytes = 0;  ///< The size of the range from the lowest to the highest mapped address.
};

/// Source text that is stored in the recording, so that stacks can be read on other machines.
struct source_row {
  source_id id{};
  string_id file{};
  std::uint64_t first_line = 0;  ///< Line number of the first line of `text`, from 1.
  string_id text{};
};

/// A node of the prefix tree of all stacks. `parent` is the caller's node.
struct stack_row {
  stack_id id{};
  stack_id parent{};
  frame_id frame{};
};

struct frame_row {
  frame_id id{};
  frame_kind kind = frame_kind::unknown;
  string_id function{};
  string_id file{};
  string_id module{};  ///< The `path` of the frame's `module_row`.
  std::uint64_t line = 0;
  std::uint64_t address =
      0;  ///< In the module's file: the program counter minus the load bias. For the frame of a caller, the return
          ///< address (the address after the call).
};

}  // namespace sluice::trace
