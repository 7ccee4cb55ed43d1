#include "core/query/sql/columns_about.hpp"

#include <string>
#include <unordered_map>

namespace sluice::query {
namespace {

struct entry {
  std::string_view
      of;  ///< "table", "table.column", or "*.column", the default for all columns of that name without an entry.
  std::string_view about;
  text_role role = text_role::plain;
};

constexpr entry entries[] = {
    // Columns of many tables.
    {"*.id", "The row's own id"},
    {"*.time", "When it happened; of what lasts, its begin"},
    {"*.end", "When it ended"},
    {"*.duration", "end - time"},
    {"*.bandwidth", "bytes / (end - time), in bytes/s; null where it took no time"},
    {"*.process", "The process it belongs to"},
    {"*.thread", "The host thread that asked for it; null for what only the device saw"},
    {"*.source", "How far to trust it: exact, sampled, estimated or inferred"},
    {"*.device", "The device it is about"},
    {"*.context", "The driver's context"},
    {"*.stream", "The stream it is ordered on"},
    {"*.pool", "The pool"},
    {"*.block", "The block of memory"},
    {"*.correlation", "The number that the driver joins calls and device work by; not unique to an event"},
    {"*.graph_node", "The node of a graph that this came from; 0: of none"},
    {"*.bytes", "Size in bytes"},
    {"*.address", "Where the memory is"},
    {"*.layer", "Who manages the memory: driver, pool, framework or user. Layers hold one another: never add two"},
    {"*.kind", "The kind of memory"},
    {"*.stack", "The call stack that asked for it"},
    {"*.call", "The API call that asked for it"},
    {"*.direction", "Which way bytes moved: h2d, d2h, d2d, p2p or h2h"},
    {"*.graph", "The graph"},
    {"*.handle", "The recorder's number for it"},
    {"*.generation", "How often the handle had been used before"},

    {"host", "Machines that recorded processes ran on"},
    {"host.name", "The machine's name", text_role::host},
    {"host.boot_id", "Of the boot, so that clocks of one boot can be told", text_role::host},
    {"host.system", "Kernel and distribution"},

    {"process", "Recorded processes"},
    {"process.host", "The machine it ran on"},
    {"process.parent", "The recorded process that started it"},
    {"process.pid", "The system's number for it"},
    {"process.container_pid", "The same as its container sees it"},
    {"process.rank", "That torchrun, mpirun or srun gave it; null: none"},
    {"process.command", "Its command line", text_role::arguments},
    {"process.begin", "When recording it began"},
    {"process.end", "When it ended"},
    {"process.exit_status", "0 to 255, 128 + n for a signal; null: not known"},
    {"process.mode", "What was recorded: memory, timeline or all"},

    {"thread", "Host threads"},
    {"thread.tid", "The system's number for it"},
    {"thread.name", "Its name"},

    {"device", "GPUs"},
    {"device.uuid_high", "The upper half of its UUID"},
    {"device.uuid_low", "The lower half of its UUID"},
    {"device.name", "Its product name"},
    {"device.kind", "cuda, or simulated: no time of it is real"},
    {"device.ordinal", "The number that programs call it by"},
    {"device.memory_bytes", "What it has"},
    {"device.link_generation", "PCIe generation; 0: not known"},
    {"device.link_width", "PCIe lanes; 0: not known"},
    {"device.link_peak", "Theoretical bytes/s to or from the host, one way; 0: not known"},
    {"device.attainable_h2d", "Measured bytes/s from the host; 0: never measured"},
    {"device.attainable_d2h", "Measured bytes/s to the host; 0: never measured"},
    {"device.compute_major", "Of its compute capability"},
    {"device.compute_minor", "Of its compute capability"},
    {"device.peer_peak", "Theoretical bytes/s one way to another device over NVLink; 0: none, or not known"},

    {"context", "The driver's contexts"},

    {"stream", "Streams"},
    {"stream.priority", "The lower, the more urgent"},
    {"stream.is_default", "1 for the default stream"},
    {"stream.name", "What the program called it"},

    {"pool", "Memory pools"},
    {"pool.layer", "Who manages it"},
    {"pool.name", "What it is called"},

    {"counter_definition", "What the values of counter are values of"},
    {"counter_definition.unit", "Of its values"},
    {"counter_definition.name", "What it counts"},

    {"stack", "Call stacks as a tree; call_stack has them as text"},
    {"stack.parent", "The caller's row"},
    {"stack.frame", "What runs"},

    {"frame", "Places in code that stacks lead through"},
    {"frame.kind", "native, python or kernel"},
    {"frame.function", "As recorded; null for native code, whose symbols are looked up when it is shown",
     text_role::code},
    {"frame.file", "Source file, as recorded", text_role::path},
    {"frame.module", "The file of native code", text_role::path},
    {"frame.line", "In the source file; 0: not known"},
    {"frame.address", "In the module; of a caller, where it goes on"},

    {"module", "Files of native code that processes loaded"},
    {"module.path", "Of the file", text_role::path},
    {"module.build_id", "In hexadecimal; null: the file has none"},
    {"module.base", "What was added to its addresses when it was loaded"},
    {"module.bytes", "From its lowest to its highest mapped address"},

    {"source_text", "Source lines kept in the recording"},
    {"source_text.file", "The file they are of", text_role::path},
    {"source_text.first_line", "Of the text; counts from 1"},
    {"source_text.text", "The lines", text_role::source},

    {"alloc", "Births of blocks; block has each with its death"},
    {"alloc.time", "When the host had the block: the exit of the call"},
    {"alloc.parent", "The segment of the layer below that holds it, when known"},
    {"alloc.bytes", "What was asked for"},
    {"alloc.reserved_bytes", "What it takes in its pool; 0: the same as bytes"},
    {"alloc.call_begin", "Entry of the call"},
    {"alloc.device_time", "When the stream reached it, for stream-ordered allocations"},
    {"alloc.flags",
     "Sum of 1: was there before the recording, 2: another process owns the bytes, 4: host memory pinned in "
     "place, 8: write-combined, 16: a graph's, 32: freed after the end of the recording, which is a part of a longer "
     "one, 64: mapped piece by piece, what lies beside it is the same segment, 128: the rest of a block of which a "
     "part was given back"},
    {"alloc.name", "The API or the tag that made it"},

    {"free", "Deaths of blocks"},
    {"free.time", "When it was asked for: the entry of the call"},
    {"free.completed", "When the stream reached it; of a synchronous free, the call's exit"},

    {"alloc_failed", "Allocations that got nothing"},
    {"alloc_failed.bytes", "What was asked for"},
    {"alloc_failed.error", "The API's result code"},
    {"alloc_failed.name", "The call"},

    {"pool_state", "Sizes of pools, at changes and as sampled"},
    {"pool_state.operation", "sample, grow, shrink or trim"},
    {"pool_state.reserved", "Bytes the pool holds, after"},
    {"pool_state.used", "Bytes given out, after"},
    {"pool_state.threshold", "Bytes it keeps when nobody uses them; 0 also when not known"},

    {"device_memory", "What whole devices have free, as sampled, whoever uses the rest"},
    {"device_memory.free", "Free bytes"},
    {"device_memory.total", "All bytes"},
    {"device_memory.recorder", "Bytes that the recorder itself takes, estimated"},

    {"transfer", "Copies on the device's timeline; transfers adds rates, names and the call's stack"},
    {"transfer.source_kind", "Memory copied from; host is pageable, pinned page-locked"},
    {"transfer.destination_kind", "Memory copied to; host is pageable, pinned page-locked"},
    {"transfer.source_address", "Copied from"},
    {"transfer.destination_address", "Copied to"},
    {"transfer.source_block", "The block copied from"},
    {"transfer.destination_block", "The block copied to"},
    {"transfer.peer", "The source device of a peer copy"},
    {"transfer.enqueued", "When the call was entered"},
    {"transfer.asynchronous", "1 if the call did not wait"},
    {"transfer.channel", "The hardware channel, from 1; 0: not known"},
    {"transfer.copies", "How many copies of a batch share this interval"},
    {"transfer.content", "What is known of the bytes: none, exact, sampled, over_budget or unreadable"},
    {"transfer.content_hash",
     "XXH3 (64 bits) of the bytes, of more than 32 KiB that of samples; if those are all zero, with the first value "
     "found in up to 4 MiB. Equal hashes of equal lengths moved the same"},
    {"transfer.content_bytes", "Bytes that were read for the hash"},

    {"transfer_part", "The copies of a batch that is one transfer"},
    {"transfer_part.time", "When the call was entered"},
    {"transfer_part.transfer", "The batch's transfer"},
    {"transfer_part.position", "In the batch, from 0"},
    {"transfer_part.count", "Copies in the batch"},
    {"transfer_part.bytes", "Size in bytes; 0: not known"},
    {"transfer_part.source_kind", "Memory copied from; host is pageable, pinned page-locked"},
    {"transfer_part.destination_kind", "Memory copied to; host is pageable, pinned page-locked"},
    {"transfer_part.source_address", "Copied from"},
    {"transfer_part.destination_address", "Copied to"},
    {"transfer_part.source_block", "The block copied from"},
    {"transfer_part.destination_block", "The block copied to"},

    {"migration", "Pages of managed memory that moved by themselves"},
    {"migration.cause", "page_fault, prefetch, eviction or access_counter"},

    {"memset", "Memory set on a device"},
    {"memset.value", "What it was set to"},

    {"kernel", "Kernels on the device's timeline"},
    {"kernel.name", "As recorded: C++ symbols are not demangled", text_role::code},
    {"memset.enqueued", "When the call was entered; not known before version 4.3"},
    {"kernel.enqueued", "When the call was entered"},
    {"kernel.grid_x", "Blocks in the grid"},
    {"kernel.grid_y", "Blocks in the grid"},
    {"kernel.grid_z", "Blocks in the grid"},
    {"kernel.block_x", "Threads in a block"},
    {"kernel.block_y", "Threads in a block"},
    {"kernel.block_z", "Threads in a block"},
    {"kernel.registers", "Of a thread"},
    {"kernel.static_shared", "Bytes of shared memory the kernel declares"},
    {"kernel.dynamic_shared", "Bytes of shared memory the launch asked for"},

    {"api_call", "Calls into the driver or the runtime, on their host threads"},
    {"api_call.name", "Of the function", text_role::code},
    {"api_call.status", "What it returned; 0 is success"},
    {"api_call.bytes", "What it moved or asked for; 0 if that means nothing"},

    {"graph_definition", "Graphs as they were captured or built"},
    {"graph_definition.nodes", "How many it has"},
    {"graph_definition.name", "What made it"},

    {"graph_launch", "Launches of graphs"},
    {"graph_launch.time", "Begin on the device, or the call's entry where that is not recorded"},

    {"event_record", "Events that were recorded into streams"},

    {"event_wait", "Waits of streams for events"},
    {"event_wait.record", "The event_record it waits for"},

    {"sync", "Times in which the host waited"},
    {"sync.kind", "For an event, a stream, a context"},

    {"host_range", "Named scopes of the program: NVTX, a framework's, or the runtime's own"},
    {"host_range.name", "Of the scope"},
    {"host_range.domain", "Of the library that named it"},

    {"marker", "Points in time that the program named, and its steps"},
    {"marker.name", "What it said"},
    {"marker.step", "Counts from 0; null: no step"},

    {"file_io", "File operations"},
    {"file_io.operation", "open, read, write, flush or map"},
    {"file_io.file", "The file's path", text_role::path},
    {"file_io.offset", "In the file"},

    {"counter", "Values of counters"},
    {"counter.counter", "The row of counter_definition"},
    {"counter.value", "From this time on"},

    {"touch", "Kernels that named a block in their arguments, and whatever else is known to have used it"},
    {"touch.time", "When the work was enqueued"},
    {"touch.work", "The kernel, if it was recorded"},
    {"touch.name", "Of the kernel, or of the call that copies"},
    {"touch.graph", "The graph whose launches touch the block; null: none"},

    {"loss", "Times in which the recorder dropped events"},
    {"loss.events", "How many"},
    {"loss.memory_events", "Of those, births and deaths: totals are not exact until the next checkpoint"},

    {"checkpoint", "Moments at which all live blocks were written down"},
    {"checkpoint.blocks", "How many there were"},
    {"checkpoint.exact", "0 while a loss may have left blocks unknown"},

    {"live_block", "The blocks that checkpoints wrote down"},
    {"live_block.parent", "The segment of the layer below that holds it, when known"},
    {"live_block.bytes", "What was asked for"},
    {"live_block.reserved_bytes", "What it takes in its pool; 0: the same as bytes"},
    {"live_block.call_begin", "Entry of the call that made it"},
    {"live_block.device_time", "When the stream reached its allocation"},
    {"live_block.flags", "As in alloc"},
    {"live_block.name", "The API or the tag that made it"},
    {"live_block.checkpoint", "The checkpoint"},
    {"live_block.born", "When it was allocated"},
    {"live_block.alloc", "Its allocation, which other rows may be about, in the file or not"},

    {"clock_anchor", "Readings of three clocks at one moment"},
    {"clock_anchor.tsc", "The processor's counter"},
    {"clock_anchor.monotonic", "CLOCK_MONOTONIC, ns"},
    {"clock_anchor.realtime", "CLOCK_REALTIME, ns"},

    {"watermark", "Up to when the device times of a process are complete"},
    {"watermark.complete_until", "Later ones may still lack"},

    {"message", "What the recorder has to say"},
    {"message.severity", "info, warning or error"},
    {"message.text", "In words", text_role::message},

    {"attribute", "What is known of an event beyond its columns"},
    {"attribute.target", "The event"},
    {"attribute.key", "What is known"},
    {"attribute.text", "As text", text_role::message},
    {"attribute.integer", "As a number"},
    {"attribute.real", "As a number with a fraction"},

    {"link", "Pairs of events that no column joins"},
    {"link.kind", "What joins them"},
    {"link.from_event", "The one"},
    {"link.to_event", "The other"},
};

using word_map = std::unordered_map<std::string_view, const entry*>;

const word_map& by_name() {
  static const word_map all = [] {
    word_map made;
    for (const entry& each : entries) made.emplace(each.of, &each);
    return made;
  }();
  return all;
}

const entry* look_up(const std::string& name) {
  const auto found = by_name().find(name);
  return found == by_name().end() ? nullptr : found->second;
}

}  // namespace

column_words words_about(std::string_view table, std::string_view column) {
  const std::string own = column.empty() ? std::string(table) : std::string(table) + "." + std::string(column);
  const entry* found = look_up(own);
  if (found == nullptr && !column.empty()) found = look_up("*." + std::string(column));
  if (found == nullptr) return {};
  return {found->about, found->role};
}

}  // namespace sluice::query
