#include "core/query/sql/columns_about.hpp"

#include <string>
#include <unordered_map>

namespace sluice::query {
namespace {

struct column_about {
  std::string_view
      /// "table", "table.column", or "*.column". The last is the default for all columns of that name that have no
      /// entry.
      name;
  std::string_view about;
  text_role role = text_role::plain;
};

constexpr column_about entries[] = {
    // These columns are in many tables.
    {"*.id", "The row's own id"},
    {"*.time", "Time of the event; the start of events with a duration"},
    {"*.end", "End time"},
    {"*.duration", "end - time"},
    {"*.bandwidth", "bytes / (end - time), in bytes/s; null if the duration is 0"},
    {"*.process", "Its process"},
    {"*.thread", "The host thread that requested it; null: recorded on the device only"},
    {"*.source", "Reliability: exact, sampled, estimated or inferred"},
    {"*.device", "Its device"},
    {"*.context", "The driver's context"},
    {"*.stream", "The stream it is ordered on"},
    {"*.pool", "The pool"},
    {"*.block", "The block of memory"},
    {"*.correlation", "The driver's number that links calls to device work; not unique to an event"},
    {"*.graph_node", "The graph node that it came from; 0: none"},
    {"*.bytes", "Size in bytes"},
    {"*.address", "Address of the memory"},
    {"*.layer", "Allocator: driver, pool, framework or user. Layers contain one another, so do not add them"},
    {"*.kind", "The kind of memory"},
    {"*.stack", "The call stack that requested it"},
    {"*.call", "The API call that requested it"},
    {"*.direction", "Direction of the copy: h2d, d2h, d2d, p2p or h2h"},
    {"*.graph", "The graph"},
    {"*.handle", "The recorder's number for it"},
    {"*.generation", "Number of earlier uses of the handle"},

    {"host", "Machines of the recorded processes"},
    {"host.name", "The machine's name", text_role::host},
    {"host.boot_id", "Id of the boot: clocks of the same boot are comparable", text_role::host},
    {"host.system", "Kernel and distribution"},

    {"process", "Recorded processes"},
    {"process.host", "The machine it ran on"},
    {"process.parent", "The recorded process that started it"},
    {"process.pid", "Process id"},
    {"process.container_pid", "Process id in its container"},
    {"process.rank", "Rank from torchrun, mpirun or srun; null: none"},
    {"process.command", "Its command line", text_role::arguments},
    {"process.begin", "Start of its recording"},
    {"process.end", "End of its recording"},
    {"process.exit_status", "0 to 255, 128 + n for a signal; null: unknown"},
    {"process.mode", "What was recorded: memory, timeline or all"},

    {"thread", "Host threads"},
    {"thread.tid", "Thread id"},
    {"thread.name", "Its name"},

    {"device", "GPUs"},
    {"device.uuid_high", "The upper half of its UUID"},
    {"device.uuid_low", "The lower half of its UUID"},
    {"device.name", "Its product name"},
    {"device.kind", "cuda, or simulated (its times are not real)"},
    {"device.ordinal", "The number that programs use"},
    {"device.memory_bytes", "Total memory in bytes"},
    {"device.link_generation", "PCIe generation; 0: unknown"},
    {"device.link_width", "PCIe lanes; 0: unknown"},
    {"device.link_peak", "Theoretical bytes/s to or from the host, one way; 0: unknown"},
    {"device.attainable_h2d", "Measured bytes/s from the host; 0: not measured"},
    {"device.attainable_d2h", "Measured bytes/s to the host; 0: not measured"},
    {"device.compute_major", "Major compute capability"},
    {"device.compute_minor", "Minor compute capability"},
    {"device.peer_peak", "Theoretical bytes/s one way to another device over NVLink; 0: none, or unknown"},

    {"context", "The driver's contexts"},

    {"stream", "Streams"},
    {"stream.priority", "Lower is more urgent"},
    {"stream.is_default", "1 for the default stream"},
    {"stream.name", "The program's name for it"},

    {"pool", "Memory pools"},
    {"pool.layer", "Allocator that manages it"},
    {"pool.name", "Its name"},

    {"counter_definition", "Definitions of the counters in counter"},
    {"counter_definition.unit", "Unit of its values"},
    {"counter_definition.name", "Name of the counter"},

    {"stack", "Call stacks as a tree; call_stack has them as text"},
    {"stack.parent", "The caller's row"},
    {"stack.frame", "The frame that runs"},

    {"frame", "Code locations in stacks"},
    {"frame.kind", "native, python or kernel"},
    {"frame.function", "As recorded; null for native code, whose symbols are looked up on display", text_role::code},
    {"frame.file", "Source file, as recorded", text_role::path},
    {"frame.module", "The file of native code", text_role::path},
    {"frame.line", "Line in the source file; 0: unknown"},
    {"frame.address", "Address in the module; for a caller, the return address"},

    {"module", "Files of native code that processes loaded"},
    {"module.path", "Path of the file", text_role::path},
    {"module.build_id", "Build id in hexadecimal; null: the file has none"},
    {"module.base", "Offset of its addresses after loading"},
    {"module.bytes", "From its lowest to its highest mapped address"},

    {"source_text", "Source lines kept in the recording"},
    {"source_text.file", "The source file", text_role::path},
    {"source_text.first_line", "First line of the text, counted from 1"},
    {"source_text.text", "The lines", text_role::source},

    {"alloc", "Allocations of blocks; block has them with their frees"},
    {"alloc.time", "Time of the call's exit, when the host has the block"},
    {"alloc.parent", "The segment of the layer below that contains it, if known"},
    {"alloc.bytes", "Requested size"},
    {"alloc.reserved_bytes", "Size in its pool; 0: same as bytes"},
    {"alloc.call_begin", "Entry of the call"},
    {"alloc.device_time", "Time when the stream reached it, for stream-ordered allocations"},
    {"alloc.flags",
     "Sum of 1: allocated before the recording, 2: another process owns the bytes, 4: host memory pinned in "
     "place, 8: write-combined, 16: a graph's, 32: freed after the end of the recording, which is part of a longer "
     "one, 64: mapped piece by piece, adjacent mappings form one segment, 128: the rest of a block of which a "
     "part was freed"},
    {"alloc.name", "The API that allocated it, or its tag"},

    {"free", "Frees of blocks"},
    {"free.time", "Time of the request: the entry of the call"},
    {"free.completed", "Time when the stream reached it; for a synchronous free, the call's exit"},

    {"alloc_failed", "Failed allocations"},
    {"alloc_failed.bytes", "Requested size"},
    {"alloc_failed.error", "The API's result code"},
    {"alloc_failed.name", "The call"},

    {"pool_state", "Sizes of pools, at changes and as sampled"},
    {"pool_state.operation", "sample, grow, shrink or trim"},
    {"pool_state.reserved", "Bytes reserved by the pool afterwards"},
    {"pool_state.used", "Bytes in use afterwards"},
    {"pool_state.threshold", "Unused bytes that it keeps; 0 also if unknown"},

    {"device_memory", "Free memory of whole devices, sampled; the rest may be used by any process"},
    {"device_memory.free", "Free bytes"},
    {"device_memory.total", "Total bytes"},
    {"device_memory.recorder", "Bytes used by the recorder, estimated"},

    {"transfer", "Copies on the device's timeline; transfers adds rates, names and the call's stack"},
    {"transfer.source_kind", "Source memory; host is pageable, pinned is page-locked"},
    {"transfer.destination_kind", "Destination memory; host is pageable, pinned is page-locked"},
    {"transfer.source_address", "Source address"},
    {"transfer.destination_address", "Destination address"},
    {"transfer.source_block", "The source block"},
    {"transfer.destination_block", "The destination block"},
    {"transfer.peer", "The source device of a peer copy"},
    {"transfer.enqueued", "Time when the call was entered"},
    {"transfer.asynchronous", "1 if the call was asynchronous"},
    {"transfer.channel", "The hardware channel, from 1; 0: unknown"},
    {"transfer.copies", "Number of copies of a batch in this interval"},
    {"transfer.content", "Knowledge about the bytes: none, exact, sampled, over_budget or unreadable"},
    {"transfer.content_hash",
     "XXH3 (64 bits) of the bytes, or of samples if more than 32 KiB; if these are all zero, with the first value "
     "found in up to 4 MiB. Copies with equal hashes and lengths moved the same data"},
    {"transfer.content_bytes", "Bytes read for the hash"},

    {"transfer_part", "The copies of a batch, which is one transfer"},
    {"transfer_part.time", "Time when the call was entered"},
    {"transfer_part.transfer", "The batch's transfer"},
    {"transfer_part.position", "Position in the batch, from 0"},
    {"transfer_part.count", "Copies in the batch"},
    {"transfer_part.bytes", "Size in bytes; 0: unknown"},
    {"transfer_part.source_kind", "Source memory; host is pageable, pinned is page-locked"},
    {"transfer_part.destination_kind", "Destination memory; host is pageable, pinned is page-locked"},
    {"transfer_part.source_address", "Source address"},
    {"transfer_part.destination_address", "Destination address"},
    {"transfer_part.source_block", "The source block"},
    {"transfer_part.destination_block", "The destination block"},

    {"host_sample", "Samples of what host threads did; host_samples adds names and stacks"},
    {"host_sample.time", "Start of the time that the sample stands for"},
    {"host_sample.thread", "The thread"},
    {"host_sample.length", "The time that the sample stands for, ns; at most a second"},
    {"host_sample.state",
     "running: code in user space; in_kernel: code of the operating system, on a CPU; blocked: waiting, off the CPU; "
     "runnable: ready to run, but another thread had the CPU"},
    {"host_sample.stack", "Its call stack, Python's frames merged with native ones; null: unknown"},
    {"host_sample.system_call", "Number of the system call that it was in; null: none, or unknown"},
    {"host_sample.python_distance",
     "Time between the reading of Python's frames and that of native frames, ns; null: not read separately"},
    {"host_sample.end", "time + length"},
    {"host_sample.system_call_name", "Name of the system call"},

    {"migration", "Automatic migrations of managed memory"},
    {"migration.cause", "page_fault, prefetch, eviction or access_counter"},

    {"memset", "Memory set on a device"},
    {"memset.value", "The value written"},

    {"kernel", "Kernels on the device's timeline"},
    {"kernel.name", "As recorded: C++ symbols are not demangled", text_role::code},
    {"memset.enqueued", "Time when the call was entered; unknown before version 4.3"},
    {"kernel.enqueued", "Time when the call was entered"},
    {"kernel.grid_x", "Blocks in the grid"},
    {"kernel.grid_y", "Blocks in the grid"},
    {"kernel.grid_z", "Blocks in the grid"},
    {"kernel.block_x", "Threads in a block"},
    {"kernel.block_y", "Threads in a block"},
    {"kernel.block_z", "Threads in a block"},
    {"kernel.registers", "Registers per thread"},
    {"kernel.static_shared", "Bytes of shared memory declared by the kernel"},
    {"kernel.dynamic_shared", "Bytes of shared memory requested by the launch"},

    {"api_call", "Calls into the driver or the runtime, on their host threads"},
    {"api_call.name", "Name of the function", text_role::code},
    {"api_call.status", "Its result; 0 is success"},
    {"api_call.bytes", "Bytes copied or requested; 0 if not applicable"},

    {"graph_definition", "Captured or built graphs"},
    {"graph_definition.nodes", "Number of nodes"},
    {"graph_definition.name", "The call that created it"},

    {"graph_launch", "Launches of graphs"},
    {"graph_launch.time", "Start on the device, or the call's entry if that was not recorded"},

    {"event_record", "Events recorded in streams"},

    {"event_wait", "Waits of streams for events"},
    {"event_wait.record", "The event_record it waits for"},

    {"sync", "Waits of the host"},
    {"sync.kind", "Wait for an event, a stream or a context"},

    {"host_range", "Named scopes of the program: NVTX, a framework's, or the runtime's own"},
    {"host_range.name", "Name of the scope"},
    {"host_range.domain", "The library that defined the scope; for NVTX, the domain"},

    {"marker", "Times that the program marked, and its steps"},
    {"marker.name", "Text of the mark"},
    {"marker.step", "Step number from 0; null: not a step"},

    {"file_io", "File operations"},
    {"file_io.operation", "open, read, write, flush or map"},
    {"file_io.file", "The file's path", text_role::path},
    {"file_io.offset", "Offset in the file"},

    {"counter", "Values of counters"},
    {"counter.counter", "The row of counter_definition"},
    {"counter.value", "Value from this time on"},

    {"touch", "Uses of blocks: by kernels with the block in their arguments, and others that are known"},
    {"touch.time", "Time when the work was enqueued"},
    {"touch.work", "The kernel, if it was recorded"},
    {"touch.name", "Name of the kernel, or of the call that copies"},
    {"touch.graph", "The graph whose launches touch the block; null: none"},

    {"loss", "Times in which the recorder dropped events"},
    {"loss.events", "Number of events"},
    {"loss.memory_events", "Allocations and frees among them: totals are not exact until the next checkpoint"},

    {"checkpoint", "Times at which all live blocks were listed"},
    {"checkpoint.blocks", "Number of live blocks"},
    {"checkpoint.exact", "0 if blocks may be missing after a loss"},

    {"live_block", "The blocks listed by checkpoints"},
    {"live_block.parent", "The segment of the layer below that contains it, if known"},
    {"live_block.bytes", "Requested size"},
    {"live_block.reserved_bytes", "Size in its pool; 0: same as bytes"},
    {"live_block.call_begin", "Entry of the call that allocated it"},
    {"live_block.device_time", "Time when the stream reached its allocation"},
    {"live_block.flags", "As in alloc"},
    {"live_block.name", "The API that allocated it, or its tag"},
    {"live_block.checkpoint", "The checkpoint"},
    {"live_block.born", "Time of its allocation"},
    {"live_block.alloc", "The event of its allocation, which may be missing in the file; other rows may refer to it"},

    {"clock_anchor", "Simultaneous readings of three clocks"},
    {"clock_anchor.tsc", "The processor's counter"},
    {"clock_anchor.monotonic", "CLOCK_MONOTONIC, ns"},
    {"clock_anchor.realtime", "CLOCK_REALTIME, ns"},

    {"watermark", "Times up to which the device times of a process are complete"},
    {"watermark.complete_until", "Later device times may be missing"},

    {"message", "Messages of the recorder"},
    {"message.severity", "info, warning or error"},
    {"message.text", "Text of the message", text_role::message},

    {"attribute", "Values of an event beyond its columns"},
    {"attribute.target", "The event"},
    {"attribute.key", "Name of the value"},
    {"attribute.text", "Value as text", text_role::message},
    {"attribute.integer", "Value as an integer"},
    {"attribute.real", "Value as a real number"},

    {"link", "Pairs of events that are not linked by a column"},
    {"link.kind", "Type of the link"},
    {"link.from_event", "The first event"},
    {"link.to_event", "The second event"},
};

using word_map = std::unordered_map<std::string_view, const column_about*>;

const word_map& by_name() {
  static const word_map map = [] {
    word_map output;
    for (const column_about& each : entries) output.emplace(each.name, &each);
    return output;
  }();
  return map;
}

const column_about* look_up(const std::string& name) {
  const auto found = by_name().find(name);
  return found == by_name().end() ? nullptr : found->second;
}

}  // namespace

column_words words_about(std::string_view table, std::string_view column) {
  const std::string own = column.empty() ? std::string(table) : std::string(table) + "." + std::string(column);
  const column_about* found = look_up(own);
  if (found == nullptr && !column.empty()) found = look_up("*." + std::string(column));
  if (found == nullptr) return {};
  return {found->about, found->role};
}

}  // namespace sluice::query
