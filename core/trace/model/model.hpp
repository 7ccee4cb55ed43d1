#pragma once

#include <cstdint>
#include <string>

#include "core/trace/model/ids.hpp"
#include "core/trace/model/kinds.hpp"

/// The data model of a recording: plain structs, one for each kind of row; `schema.hpp` defines how they are stored.
/// Times are in ns, sizes in bytes. A row is either an event (something that happened) or a table row (something that
/// exists, such as a device).
namespace sluice::trace {

// --- events ---------------------------------------------------------------------------------------------------------

/// Members common to all events. Events are ordered by (time, id). `time` is the begin of an event with a duration.
struct event_base {
  event_id id{};
  time_ns time = 0;
  process_id process{};
  thread_id thread{};  ///< The host thread that requested the event; none if only the device reported it.
  provenance source = provenance::exact;
};

/// A block is allocated. `time` is the exit of the call on the host: before it, another thread may still hold the same
/// address live.
struct alloc_event : event_base {
  block_id block{};
  block_id parent{};  ///< The segment of the layer below that contains the block, if known.
  trace::layer layer = trace::layer::driver;
  memory_kind kind = memory_kind::unknown;
  device_id device{};
  context_id context{};
  stream_id stream{};  ///< The stream that orders the allocation; none for a synchronous call.
  pool_id pool{};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;             ///< Requested bytes.
  std::uint64_t reserved_bytes = 0;    ///< Bytes taken in the pool, >= bytes; 0: same as `bytes`.
  time_ns call_begin = unknown_time;   ///< Entry of the call.
  time_ns device_time = unknown_time;  ///< For stream-ordered allocations: when the stream reached the call.
  std::uint64_t correlation = 0;
  std::uint64_t flags = 0;  ///< `alloc_flag` bits.
  stack_id stack{};
  string_id name{};  ///< The API function or tag that allocated the block.
};
enum alloc_flag : std::uint64_t {
  born_before = 1,  ///< Existed when the recording began.
  ipc_import = 2,   ///< Another process owns the bytes.
  registered = 4,   ///< Existing host memory that was pinned (cudaHostRegister).
  write_combined = 8,
  graph_memory = 16,  ///< Memory node of a CUDA graph: has an address from definition to the graph's end.
  freed_after = 32,   ///< Freed after the end of this recording, which was cut out of a longer one.
};

/// A block is freed. `time` is the request (entry of the call): from then on the block's address may be reused.
struct free_event : event_base {
  block_id block{};
  trace::layer layer = trace::layer::driver;
  std::uint64_t address = 0;
  stream_id stream{};
  time_ns completed = unknown_time;  ///< When the stream reached the free; for a synchronous free the exit of the call.
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
  std::int64_t error = 0;  ///< The API's result code.
  string_id name{};        ///< The API function.
  stack_id stack{};
};

/// The size of a pool, after a change or as sampled.
struct pool_event : event_base {
  pool_id pool{};
  pool_operation operation = pool_operation::sample;
  std::uint64_t reserved = 0;   ///< Bytes held by the pool, after the change.
  std::uint64_t used = 0;       ///< Bytes handed out, after the change.
  std::uint64_t threshold = 0;  ///< Unused bytes that the pool keeps; 0 also if unknown.
};

/// A sample of `cuMemGetInfo`: memory of the whole device, used by any process.
struct device_memory_event : event_base {
  device_id device{};
  std::uint64_t free = 0;
  std::uint64_t total = 0;
  std::uint64_t recorder = 0;  ///< Estimated device memory of the recorder itself.
};

/// A copy on the device's timeline. Its bandwidth is bytes / (end - time).
struct transfer_event : event_base {
  time_ns end = unknown_time;
  trace::direction direction = trace::direction::unknown;
  memory_kind source_kind = memory_kind::unknown;  ///< `host`: pageable, `pinned`: page-locked.
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
  time_ns enqueued = unknown_time;  ///< Entry of the call that requested the copy.
  std::uint64_t correlation = 0;
  std::uint64_t graph_node = 0;
  bool asynchronous = false;
  std::uint32_t channel = 0;  ///< Hardware channel, from 1 (a copy engine has several); 0: unknown.
  std::uint32_t copies = 1;   ///< Number of copies that share this interval: a batch may be one transfer.
  content_check content = content_check::none;
  /// Hash of the source at the time of the request. Copies of equal length, check and hash had the same data.
  std::uint64_t content_hash = 0;
  std::uint64_t content_bytes = 0;  ///< Number of hashed bytes.
};

/// One copy of a batch that is recorded as one transfer and shares its interval on the device. The addresses and blocks
/// are in these parts only, not in the transfer. `time` is the entry of the call.
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

/// A migration of managed memory pages, by the driver.
struct migration_event : event_base {
  time_ns end = unknown_time;
  trace::direction direction = trace::direction::unknown;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;
  device_id device{};
  migration_cause cause = migration_cause::unknown;
};

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
  time_ns enqueued = unknown_time;  ///< Entry of the call; since format 4.3.
  std::uint64_t correlation = 0;
  std::uint64_t graph_node = 0;
};

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

/// A call into the driver or the runtime, on its host thread.
struct api_call_event : event_base {
  time_ns end = unknown_time;
  string_id name{};
  std::int64_t status = 0;  ///< Returned result; 0 is success.
  std::uint64_t correlation = 0;
  context_id context{};
  stream_id stream{};
  std::uint64_t bytes = 0;  ///< Bytes that the call moved or requested; 0 if not applicable.
  stack_id stack{};
};

/// A CUDA graph was captured or built. When it is instantiated, a second row with the same graph id gives `nodes`.
struct graph_definition_event : event_base {
  graph_id graph{};
  std::uint64_t nodes = 0;
  string_id name{};
};

/// A CUDA graph was launched. If its time on the device was not recorded, `time` is the call's entry, `end` unknown.
struct graph_launch_event : event_base {
  time_ns end = unknown_time;
  graph_id graph{};
  device_id device{};
  stream_id stream{};
  std::uint64_t correlation = 0;
};

struct event_record_event : event_base {
  std::uint64_t handle = 0;
  stream_id stream{};
};

struct event_wait_event : event_base {
  std::uint64_t handle = 0;
  stream_id stream{};
  event_id record{};
};

/// The host waited for the device.
struct sync_event : event_base {
  time_ns end = unknown_time;
  sync_kind kind = sync_kind::unknown;
  stream_id stream{};
  stack_id stack{};
};

/// A named scope of the program, from NVTX or the runtime.
struct host_range_event : event_base {
  time_ns end = unknown_time;
  string_id name{};
  string_id domain{};
};

/// A named point in time of the program. `step` counts from 0; -1: the mark is not a step.
struct marker_event : event_base {
  string_id name{};
  std::int64_t step = -1;
};

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

/// A kernel has the address of a block among its arguments. `time` is when the kernel was enqueued. When it ran is in
/// the event `work`, or in the kernel event with this correlation, if recorded. Touches of one launch share time,
/// thread and correlation. A copy or memset has no touch rows: its row's members `source_block`, `destination_block`
/// and `block` say what it touches. Only during stream capture a copy or memset has touch rows.
struct touch_event : event_base {
  block_id block{};
  stream_id stream{};
  event_id work{};
  std::uint64_t correlation = 0;
  string_id name{};  ///< The kernel's name; during stream capture also the name of a copying call.
  /// Set for a launch during stream capture: the touch then defines a node of this graph. Each `graph_launch_event` of
  /// the graph touches the block once, at launch.
  graph_id graph{};
};

/// Events in [time, end] that the recorder dropped.
struct loss_event : event_base {
  time_ns end = unknown_time;
  std::uint64_t events = 0;
  std::uint64_t memory_events = 0;  ///< Of these, allocations and frees: totals are inexact until the next checkpoint.
};

/// The set of live blocks at `time`. The blocks follow as `live_block` rows that refer to this event.
struct checkpoint_event : event_base {
  std::uint64_t blocks = 0;
  bool exact = true;  ///< False if blocks may be missing because of a loss.
};

struct live_block_event : alloc_event {
  event_id checkpoint{};
  time_ns born = 0;
  event_id alloc{};  ///< The block's allocation event, which may be missing in this file; none: unknown.
};

/// A simultaneous reading of three clocks, from which the writer converts times.
struct clock_anchor_event : event_base {
  std::uint64_t tsc = 0;
  std::int64_t monotonic = 0;
  std::int64_t realtime = 0;
};

/// Device times of `process` are complete up to `complete_until`; later ones are provisional.
struct watermark_event : event_base {
  time_ns complete_until = 0;
};

/// A message for the user: partial success, another profiler, a missing library.
struct message_event : event_base {
  trace::severity severity = trace::severity::info;
  string_id text{};
};

/// A typed attribute of any event. Has one value; for some keys `integer` accompanies `text`.
struct attribute_event : event_base {
  event_id target{};
  string_id key{};
  string_id text{};
  std::int64_t integer = 0;
  double real = 0;
};

/// A link between two events that none of their members expresses.
struct link_event : event_base {
  link_kind kind = link_kind::call_to_work;
  event_id from{};
  event_id to{};
};

// --- tables ---------------------------------------------------------------------------------------------------------
// A row may be written again with the same id and replaces the earlier one (a thread gets its name, a process ends).

struct string_row {
  string_id id{};
  std::string text;
};

struct host_row {
  host_id id{};
  string_id name{};
  string_id boot_id{};
  string_id system{};  ///< Kernel and distribution.
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
  std::int64_t exit_status = -1;                  ///< 0..255, or 128 + n for signal n; -1: unknown.
  recording_mode mode = recording_mode::unknown;  ///< `memory`: missing kernels do not mean that none ran.
};

struct thread_row {
  thread_id id{};
  process_id process{};
  std::uint64_t tid = 0;
  string_id name{};
};

/// A device, identified by its UUID.
struct device_row {
  device_id id{};
  std::uint64_t uuid_high = 0, uuid_low = 0;
  string_id name{};
  device_kind kind = device_kind::unknown;
  std::int64_t ordinal = -1;
  std::uint64_t memory_bytes = 0;
  std::uint32_t link_generation = 0;  ///< PCIe generation; 0: unknown.
  std::uint32_t link_width = 0;       ///< Number of lanes.
  std::uint64_t link_peak = 0;        ///< Theoretical one-way peak in bytes/s.
  std::uint64_t attainable_h2d = 0;   ///< Measured in bytes/s; 0: never measured.
  std::uint64_t attainable_d2h = 0;
  std::uint32_t compute_major = 0, compute_minor = 0;
  std::uint64_t peer_peak = 0;  ///< Theoretical one-way bytes/s over NVLink to another device; 0: no link, or unknown.
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
  std::uint64_t handle = 0;      ///< The recorder's number for the stream (CUPTI's stream id).
  std::uint64_t generation = 0;  ///< Distinguishes streams that reuse a handle.
  std::int64_t priority = 0;
  bool is_default = false;
  string_id name{};
};

struct pool_row {
  pool_id id{};
  process_id process{};
  device_id device{};
  trace::layer layer =
      trace::layer::driver;  ///< Who manages the pool. Memory of a driver's pool is in no block of the driver layer;
                             ///< segments of other pools are driver-layer blocks. Blocks from any pool: layer `pool`.
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

/// A code file loaded by a process. Stack frames in this file store an `address` in the file, to look up symbols with.
struct module_row {
  module_id id{};
  process_id process{};
  string_id path{};
  string_id build_id{};     ///< Lower-case hexadecimal; none if the file has no build id.
  std::uint64_t base = 0;   ///< Load bias: the offset added to the file's virtual addresses.
  std::uint64_t bytes = 0;  ///< Size of the range from the lowest to the highest mapped address.
};

/// Source text stored in the recording, so that stacks can be read on other machines.
struct source_row {
  source_id id{};
  string_id file{};
  std::uint64_t first_line = 0;  ///< Line number of the first line of `text`, from 1.
  string_id text{};
};

/// A node of the prefix tree of stacks; `parent` is the caller.
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
  string_id module{};  ///< Path of the `module_row`.
  std::uint64_t line = 0;
  std::uint64_t address =
      0;  ///< In the module's file: program counter minus load bias. For a caller frame it is the return
          ///< address, one past the call.
};

}  // namespace sluice::trace
