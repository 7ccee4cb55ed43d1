// Defines the views, which are tables joined by ids. Names and stacks are sub-queries, so that they cost nothing if a
// query does not use them. Views use only tables, so that an exported file with the same tables can have the same
// views.
#include <array>

#include "core/query/sql/sql_context.hpp"

namespace sluice::query {
namespace {

using part = view_about::part;

#define SLUICE_DEVICE_NAME(of) "(SELECT name FROM device WHERE id = " of ".device) AS device_name"
#define SLUICE_STREAM_NAME(of) \
  "(SELECT coalesce(name, 'Stream ' || handle) FROM stream WHERE id = " of ".stream) AS stream_name"
#define SLUICE_THREAD_NAME(of) \
  "(SELECT coalesce(name, 'thread ' || tid) FROM thread WHERE id = " of ".thread) AS thread_name"
#define SLUICE_STACK(id)                        \
  "(SELECT line FROM call_stack WHERE id = " id \
  ") AS line,"                                  \
  "(SELECT text FROM call_stack WHERE id = " id ") AS stack_text"
#define SLUICE_READABLE(of) "coalesce((SELECT name FROM readable_name WHERE symbol = " of ".name), " of ".name) AS name"

constexpr part device_name{"device_name", "The device's product name"};
constexpr part stream_name{"stream_name", "The program's name for the stream, or its number"};
constexpr part thread_name{"thread_name", "The thread's name, or its number"};
constexpr part process_id{"process", "Its process"};
constexpr part line{"line", "The line of the program that represents the stack"};
constexpr part stack_text{"stack_text", "The call stack, innermost first"};
constexpr part call{"call", "The API call that requested it"};
constexpr part duration{"duration", "Duration, ns"};

constexpr std::array kernels = {
    part{"id", "The event"},
    part{"time", "Start on the device"},
    part{"end", "End on the device"},
    duration,
    part{"name", "Demangled"},
    process_id,
    part{"device", "The device it ran on"},
    device_name,
    part{"stream", "The stream it ran in"},
    stream_name,
    part{"enqueued", "Time when the call was entered"},
    part{"queued", "Time from the call to the start, ns"},
    part{"blocks", "Blocks in the grid"},
    part{"threads", "Threads in the grid"},
    call,
    line,
    stack_text,
};

constexpr std::array transfers = {
    part{"id", "The event"},
    part{"time", "Start on the device"},
    part{"end", "End on the device"},
    duration,
    part{"direction", "h2d, d2h, d2d, p2p or h2h"},
    part{"bytes", "Size in bytes"},
    part{"bandwidth", "bytes / duration, in bytes/s"},
    part{"source_kind", "Source memory; host is pageable, pinned is page-locked"},
    part{"destination_kind", "Destination memory; host is pageable, pinned is page-locked"},
    part{"asynchronous", "1 if the call was asynchronous"},
    process_id,
    part{"device", "The device it ran on"},
    device_name,
    part{"stream", "The stream it ran in"},
    stream_name,
    call,
    part{"call_name", "The function called"},
    line,
    stack_text,
};

constexpr std::array allocations = {
    part{"id", "The event"},
    part{"time", "Time of the call's exit, when the host has the block"},
    part{"block", "The block"},
    part{"layer", "Allocator: driver, pool, framework or user"},
    part{"kind", "The kind of memory"},
    part{"bytes", "Requested size"},
    part{"address", "Its address"},
    part{"name", "The API that allocated it, or its tag"},
    process_id,
    part{"device", "The device; null for host memory"},
    device_name,
    part{"stream", "The stream it is ordered on"},
    stream_name,
    line,
    stack_text,
};

constexpr std::array blocks = {
    part{"id", "The block"},
    part{"born", "Time of the allocation"},
    part{"died", "Time of the free request; null: never freed"},
    part{"unfreed", "1: never freed, as counted in the report"},
    part{"lifetime", "died - born, ns"},
    part{"bytes", "Requested size"},
    part{"layer", "Allocator: driver, pool, framework or user"},
    part{"kind", "The kind of memory"},
    part{"category", "Purpose of a framework's block; null: unknown"},
    part{"name", "The API that allocated it, or its tag"},
    process_id,
    part{"device", "The device; null for host memory"},
    device_name,
    part{"address", "Its address"},
    part{"alloc", "The event of its allocation"},
    line,
    stack_text,
};

constexpr std::array calls = {
    part{"id", "The event"},
    part{"time", "Time when it was entered"},
    part{"end", "Time when it returned"},
    duration,
    part{"name", "Name of the function"},
    part{"status", "Its result; 0 is success"},
    part{"bytes", "Bytes copied or requested; 0 if not applicable"},
    process_id,
    part{"thread", "The calling thread"},
    thread_name,
    part{"stream", "The stream argument"},
    line,
    stack_text,
};

constexpr std::array ranges = {
    part{"id", "The event"},
    part{"time", "Time when it was entered"},
    part{"end", "Time when it was left"},
    duration,
    part{"name", "Name of the scope"},
    part{"domain", "The library that defined the scope; for NVTX, the domain"},
    process_id,
    part{"thread", "The thread in the scope"},
    thread_name,
};

constexpr std::array host_samples = {
    part{"id", "The event"},
    part{"time", "Start of the time that the sample stands for"},
    part{"end", "End of that time"},
    duration,
    part{"state", "running, in_kernel, blocked, runnable or unknown"},
    part{"system_call", "Name of the system call that the thread was in, or its number; null: none, or unknown"},
    process_id,
    part{"thread", "The sampled thread"},
    thread_name,
    part{"python_distance",
         "Time between the reading of Python's frames and that of native frames, ns; null: not read separately"},
    line,
    stack_text,
};

constexpr std::array touches = {
    part{"id", "The event"},
    part{"time", "Time when the work was enqueued"},
    part{"block", "The used block"},
    part{"name", "Name of the kernel, or of the call that copies; demangled"},
    part{"work", "The kernel, if it was recorded"},
    part{"bytes", "The block's size"},
    part{"block_name", "The API that allocated the block, or its tag"},
    process_id,
    part{"stream", "The stream it was enqueued in"},
    stream_name,
};

constexpr std::array views = {
    view_about{
        "kernels", "Kernels, with names and the stacks of their launches",
        "SELECT k.id, k.time, k.end, k.duration, " SLUICE_READABLE("k") ", k.process, k.device, " SLUICE_DEVICE_NAME(
            "k") ", k.stream, " SLUICE_STREAM_NAME("k") ", k.enqueued, k.time - k.enqueued AS queued, k.grid_x * "
                                                        "k.grid_y * k.grid_z AS blocks,"
                                                        " k.grid_x * k.grid_y * k.grid_z * k.block_x * k.block_y * "
                                                        "k.block_z AS threads, k.call, " SLUICE_STACK(
                                                            "(SELECT stack FROM api_call WHERE id = k.call)") " FROM "
                                                                                                              "kernel "
                                                                                                              "AS k",
        kernels},
    view_about{
        "transfers", "Copies, with names and the stacks of the calls that requested them",
        "SELECT t.id, t.time, t.end, t.duration, t.direction, t.bytes, t.bandwidth, t.source_kind,"
        " t.destination_kind, t.asynchronous, t.process, t.device, " SLUICE_DEVICE_NAME(
            "t") ", t.stream, " SLUICE_STREAM_NAME("t") ", t.call, (SELECT name FROM api_call WHERE id = t.call) AS "
                                                        "call_name, " SLUICE_STACK("(SELECT stack FROM api_call WHERE "
                                                                                   "id = t.call)") " FROM transfer AS "
                                                                                                   "t",
        transfers},
    view_about{"allocations", "Allocations, with names and stacks",
               "SELECT a.id, a.time, a.block, a.layer, a.kind, a.bytes, a.address, a.name, a.process, "
               "a.device, " SLUICE_DEVICE_NAME("a") ", a.stream, " SLUICE_STREAM_NAME("a") ", " SLUICE_STACK(
                   "a.stack") " FROM alloc AS a",
               allocations},
    view_about{"blocks", "Blocks, each with its allocation and free, its name and its stack",
               "SELECT b.id, b.born, b.died, b.unfreed, b.died - b.born AS lifetime, b.bytes, b.layer, b.kind, "
               "b.category, b.name,"
               " b.process, b.device, " SLUICE_DEVICE_NAME("b") ", b.address, b.alloc, " SLUICE_STACK(
                   "b.stack") " FROM block AS b",
               blocks},
    view_about{
        "calls", "API calls, with names and stacks",
        "SELECT c.id, c.time, c.end, c.duration, c.name, c.status, c.bytes, c.process, c.thread, " SLUICE_THREAD_NAME(
            "c") ", c.stream, " SLUICE_STACK("c.stack") " FROM api_call AS c",
        calls},
    view_about{"ranges", "Named scopes of the program",
               "SELECT r.id, r.time, r.end, r.duration, r.name, r.domain, r.process, r.thread, " SLUICE_THREAD_NAME(
                   "r") " FROM host_range AS r",
               ranges},
    view_about{"host_samples", "Samples of host threads, with names and stacks",
               "SELECT s.id, s.time, s.end, s.length AS duration, s.state, coalesce(s.system_call_name, s.system_call)"
               " AS system_call, s.process, s.thread, " SLUICE_THREAD_NAME("s") ", s.python_distance, " SLUICE_STACK(
                   "s.stack") " FROM host_sample AS s",
               host_samples},
    view_about{
        "touches", "Uses of blocks by kernels, with names",
        "SELECT t.id, t.time, t.block, " SLUICE_READABLE(
            "t") ", t.work,"
                 " (SELECT bytes FROM block WHERE id = t.block) AS bytes,"
                 " (SELECT name FROM block WHERE id = t.block) AS block_name, t.process, t.stream, " SLUICE_STREAM_NAME(
                     "t") " FROM touch AS t",
        touches},
};

}  // namespace

std::span<const view_about> sql_views() { return views; }

}  // namespace sluice::query
