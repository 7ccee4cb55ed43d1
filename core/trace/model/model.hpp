#pragma once

#include <cstdint>
#include <string>

#include "core/trace/model/ids.hpp"
#include "core/trace/model/kinds.hpp"

/// The data model: what a trace says. Plain rows, one struct a kind; `schema.hpp` says how each is stored.
/// Times are ns, sizes are bytes. A row is either an event (something that happened) or a table row (something that
/// is).
namespace sluice::trace {

// --- events ---------------------------------------------------------------------------------------------------------

/// What every event has. Order is (time, id). `time` is the begin of an event that lasts.
struct event_base {
  event_id id{};
  time_ns time = 0;
  process_id process{};
  thread_id thread{};  ///< The host thread that asked; none for what only the device saw.
  provenance source = provenance::exact;
};

/// A block is born. `time` is when the host had it (the exit of the call): another thread cannot have the same
/// address live before.
struct alloc_event : event_base {
  block_id block{};
  block_id parent{};  ///< The segment of the layer below that holds it, when known.
  trace::layer layer = trace::layer::driver;
  memory_kind kind = memory_kind::unknown;
  device_id device{};
  context_id context{};
  stream_id stream{};  ///< The stream it is ordered on; none for a synchronous call.
  pool_id pool{};
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;             ///< Requested.
  std::uint64_t reserved_bytes = 0;    ///< What it takes in its pool, >= bytes; 0: same as `bytes`.
  time_ns call_begin = unknown_time;   ///< Entry of the call.
  time_ns device_time = unknown_time;  ///< When the stream reached it, for stream-ordered allocations.
  std::uint64_t correlation = 0;
  std::uint64_t flags = 0;  ///< `alloc_flag` bits.
  stack_id stack{};
  string_id name{};  ///< The API or the tag that made it.
};
enum alloc_flag : std::uint64_t {
  born_before = 1,  ///< Existed when the recording began.
  ipc_import = 2,   ///< Another process owns the bytes.
  registered = 4,   ///< Host memory of the program, pinned in place (cudaHostRegister).
  write_combined = 8,
  graph_memory = 16,  ///< A graph's memory node: its address from definition to the end of the graph.
  freed_after = 32,   ///< Freed after the end of the recording, which is a part of a longer one.
};

/// A block dies. `time` is the request (entry of the call): the address may be reused from then on.
struct free_event : event_base {
  block_id block{};
  trace::layer layer = trace::layer::driver;
  std::uint64_t address = 0;
  stream_id stream{};
  time_ns completed = unknown_time;  ///< When the stream reached it; the host's exit for a synchronous free.
  std::uint64_t correlation = 0;
};

/// An attempt that got nothing.
struct alloc_failed_event : event_base {
  trace::layer layer = trace::layer::driver;
  memory_kind kind = memory_kind::unknown;
  device_id device{};
  stream_id stream{};
  pool_id pool{};
  std::uint64_t bytes = 0;
  std::int64_t error = 0;  ///< The API's result code.
  string_id name{};        ///< The call.
  stack_id stack{};
};

/// A pool's size, at a change or as sampled.
struct pool_event : event_base {
  pool_id pool{};
  pool_operation operation = pool_operation::sample;
  std::uint64_t reserved = 0;   ///< Bytes the pool holds, after.
  std::uint64_t used = 0;       ///< Bytes given out, after.
  std::uint64_t threshold = 0;  ///< Bytes it keeps when nobody uses them; 0 also when not known.
};

/// `cuMemGetInfo` as sampled: what the whole device has, whoever uses it.
struct device_memory_event : event_base {
  device_id device{};
  std::uint64_t free = 0;
  std::uint64_t total = 0;
  std::uint64_t recorder = 0;  ///< Device memory the recorder itself takes, estimated.
};

/// A copy on the device's timeline. Its bandwidth is bytes / (end - time).
struct transfer_event : event_base {
  time_ns end = unknown_time;
  trace::direction direction = trace::direction::unknown;
  memory_kind source_kind = memory_kind::unknown;  ///< `host` is pageable, `pinned` page-locked.
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
  event_id call{};                  ///< The API call that asked for it.
  time_ns enqueued = unknown_time;  ///< When the call was entered.
  std::uint64_t correlation = 0;
  std::uint64_t graph_node = 0;
  bool asynchronous = false;
  std::uint32_t channel = 0;  ///< The hardware channel (a copy engine has several), counted from 1; 0: not known.
  std::uint32_t copies = 1;   ///< A batch may come as one: how many copies share this interval.
  content_check content = content_check::none;
  /// Of the source's bytes as they were when the copy was asked for: copies of the same length, check and hash moved the same.
  std::uint64_t content_hash = 0;
  std::uint64_t content_bytes = 0;  ///< Bytes that were hashed.
};

/// One copy of a batch that is one transfer: its interval on the device is the whole's. The transfer has no addresses and no
/// blocks then; its parts have. `time` is when the call was entered.
struct transfer_part_event : event_base {
  event_id transfer{};
  event_id call{};
  std::uint64_t index = 0;  ///< In the batch, from 0.
  std::uint64_t count = 0;  ///< Copies in the batch.
  std::uint64_t bytes = 0;  ///< 0: not known.
  trace::direction direction = trace::direction::unknown;
  memory_kind source_kind = memory_kind::unknown;
  memory_kind destination_kind = memory_kind::unknown;
  std::uint64_t source_address = 0;
  std::uint64_t destination_address = 0;
  block_id source_block{};
  block_id destination_block{};
};

/// Pages of managed memory that moved by themselves.
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
  std::int64_t status = 0;  ///< What it returned; 0 is success.
  std::uint64_t correlation = 0;
  context_id context{};
  stream_id stream{};
  std::uint64_t bytes = 0;  ///< What it moved or asked for, 0 if that means nothing.
  stack_id stack{};
};

/// A graph was captured or built, or (again, with `nodes`) an executable one was made of it: both are the same graph here.
struct graph_definition_event : event_base {
  graph_id graph{};
  std::uint64_t nodes = 0;
  string_id name{};
};

/// `end` is unknown, and `time` the call's entry, where the device's interval is not recorded.
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

/// The host waited.
struct sync_event : event_base {
  time_ns end = unknown_time;
  sync_kind kind = sync_kind::unknown;
  stream_id stream{};
};

/// A named scope of the program: NVTX or the runtime's own.
struct host_range_event : event_base {
  time_ns end = unknown_time;
  string_id name{};
  string_id domain{};
};

/// A point in time the program named; `step` counts from 0, or -1 for a mark that is no step.
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

/// A kernel names a block. `time` is when it was enqueued; the device interval is that of `work`, or of the kernel
/// with this correlation, when those are recorded. Touches of one launch share time, thread and correlation.
/// A copy or memset that is a row of its own touches its blocks (`source_block`, `destination_block`, `block`) and has no
/// touch rows beside it: whoever asks what touched a block asks those rows too. Under capture it has them.
struct touch_event : event_base {
  block_id block{};
  stream_id stream{};
  event_id work{};
  std::uint64_t correlation = 0;
  string_id name{};  ///< The kernel; under capture also the call that copies.
  /// Launched under capture: a node's definition in this graph. Each `graph_launch_event` of the graph touches the block
  /// once, when it is launched.
  graph_id graph{};
};

/// What the recording lost: events dropped in [time, end].
struct loss_event : event_base {
  time_ns end = unknown_time;
  std::uint64_t events = 0;
  std::uint64_t memory_events = 0;  ///< Of those, allocs and frees: totals after this are not exact until a checkpoint.
};

/// The live set at `time` follows as `live_block` rows with this event's id.
struct checkpoint_event : event_base {
  std::uint64_t blocks = 0;
  bool exact = true;  ///< False while a loss may have left blocks unknown.
};

struct live_block_event : alloc_event {
  event_id checkpoint{};
  time_ns born = 0;
  event_id alloc{};  ///< Its allocation, which other rows may be about, in the file or not; none: not said.
};

/// One reading of the three clocks; the writer converts by these.
struct clock_anchor_event : event_base {
  std::uint64_t tsc = 0;
  std::int64_t monotonic = 0;
  std::int64_t realtime = 0;
};

/// Device times of `process` are complete up to `complete_until`; what is above it is provisional.
struct watermark_event : event_base {
  time_ns complete_until = 0;
};

/// Something the user should read: partial success, a rival profiler, a missing library.
struct message_event : event_base {
  trace::severity severity = trace::severity::info;
  string_id text{};
};

/// A typed attribute of any event. One of the values means something; `integer` beside `text` what the key says.
struct attribute_event : event_base {
  event_id target{};
  string_id key{};
  string_id text{};
  std::int64_t integer = 0;
  double real = 0;
};

/// A link between two events that no column of theirs holds.
struct link_event : event_base {
  link_kind kind = link_kind::call_to_work;
  event_id from{};
  event_id to{};
};

// --- tables ---------------------------------------------------------------------------------------------------------
// A row may be written again with the same id: the later one replaces it (a thread learns its name, a process ends).

struct string_row {
  string_id id{};
  std::string text;
};

struct host_row {
  host_id id{};
  string_id name{};
  string_id boot_id{};
  string_id system{};  ///< Kernel and distribution, as text.
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
  std::int64_t exit_status = -1;                  ///< 0..255, 128 + n for a signal; -1: not known.
  recording_mode mode = recording_mode::unknown;  ///< `memory`: that there are no kernels says nothing of the program.
};

struct thread_row {
  thread_id id{};
  process_id process{};
  std::uint64_t tid = 0;
  string_id name{};
};

/// A device is its UUID.
struct device_row {
  device_id id{};
  std::uint64_t uuid_high = 0, uuid_low = 0;
  string_id name{};
  device_kind kind = device_kind::unknown;
  std::int64_t ordinal = -1;
  std::uint64_t memory_bytes = 0;
  std::uint32_t link_generation = 0;  ///< PCIe generation; 0: not known.
  std::uint32_t link_width = 0;       ///< Lanes.
  std::uint64_t link_peak = 0;        ///< Theoretical bytes/s one way, from the link record.
  std::uint64_t attainable_h2d = 0;   ///< Measured bytes/s, 0: never measured.
  std::uint64_t attainable_d2h = 0;
  std::uint32_t compute_major = 0, compute_minor = 0;
  std::uint64_t peer_peak = 0;  ///< Theoretical bytes/s one way to another device over NVLink; 0: none, or not known.
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
  std::uint64_t handle = 0;      ///< The recorder's number for it (CUPTI's stream id).
  std::uint64_t generation = 0;  ///< Handles are reused.
  std::int64_t priority = 0;
  bool is_default = false;
  string_id name{};
};

struct pool_row {
  pool_id id{};
  process_id process{};
  device_id device{};
  trace::layer layer =
      trace::layer::driver;  ///< Who manages it. A driver's pool holds memory that no driver-layer block accounts for;
                             ///< any other pool's segments are blocks of the driver layer. Blocks inside: layer pool.
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

/// A file of code that a process has loaded. A frame of it holds `address`, an offset that symbols are looked up by.
struct module_row {
  module_id id{};
  process_id process{};
  string_id path{};
  string_id build_id{};     ///< Lower-case hexadecimal; none if the file has none.
  std::uint64_t base = 0;   ///< What was added to the file's virtual addresses (the load bias).
  std::uint64_t bytes = 0;  ///< From the lowest to the highest mapped address.
};

/// Source text kept in the trace, so that a stack can be read on another machine.
struct source_row {
  source_id id{};
  string_id file{};
  std::uint64_t first_line = 0;  ///< Of `text`; counts from 1.
  string_id text{};
};

/// Stacks are a prefix tree: `parent` is the caller.
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
  string_id module{};  ///< The path of a `module_row`.
  std::uint64_t line = 0;
  std::uint64_t address =
      0;  ///< In the module's file: the program counter less the load bias. For a caller it is where it
          ///< goes on, one past the call.
};

}  // namespace sluice::trace
