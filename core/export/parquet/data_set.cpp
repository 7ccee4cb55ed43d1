#include "core/export/parquet/data_set.hpp"

#include <fmt/format.h>

#include <array>

namespace sluice::exports {
namespace {

using type = parquet_type;
using enum column_source;

constexpr std::array event_columns = {
    data_column{"id", type::rising, "id", "The event; other tables refer to it"},
    data_column{"kind", type::text, "", "Type of event: alloc, free, transfer, kernel, api_call, host_range, sync, ...",
                table},
    data_column{"begin_ns", type::rising, "time", "Time on the recording's clock; the start of events with a duration"},
    data_column{"end_ns", type::rising, "end", "End time; null: no duration, or never ended"},
    data_column{"name", type::text, "name|direction|operation|text|state",
                "Name of the function, kernel, range or mark; direction of a copy; state of a sampled thread"},
    data_column{"process", type::integer, "process", "The process"},
    data_column{"thread", type::integer, "thread", "The host thread; null: recorded on the device only"},
    data_column{"thread_name", type::text, "thread", "The thread's name, or its number", thread_name},
    data_column{"device", type::integer, "device", "The device"},
    data_column{"stream", type::integer, "stream", "The stream"},
    data_column{"bytes", type::integer, "bytes", "Bytes allocated, copied or requested"},
    data_column{"block", type::rising, "block", "The block of memory"},
    data_column{"call", type::rising, "call", "The event of the API call that requested it"},
    data_column{"value", type::real, "value", "Value of a counter"},
    data_column{"line", type::text, "stack", "The line of the program's own code that it is attributed to", stack},
};

constexpr std::array block_columns = {
    data_column{"id", type::rising, "", "The block", block},
    data_column{"alloc", type::rising, "", "The event of its allocation", block},
    data_column{"born_ns", type::rising, "", "Time of the allocation", block},
    data_column{"died_ns", type::rising, "", "Time of the free request; null: never freed", block},
    data_column{"bytes", type::integer, "", "Requested size", block},
    data_column{"layer", type::text, "",
                "Allocator: driver, pool, framework or user. Layers contain one another, so do not add them", block},
    data_column{"kind", type::text, "", "The kind of memory: device, pinned, managed, host, ...", block},
    data_column{"category", type::text, "", "Purpose: weight, gradient, activation, ...; null: unknown", block},
    data_column{"name", type::text, "", "The API that allocated it, or its tag", block},
    data_column{"process", type::integer, "", "The process", block},
    data_column{"device", type::integer, "", "The device; null: host memory", block},
    data_column{"device_name", type::text, "", "The device's name", block},
    data_column{"stream", type::integer, "", "The stream it is ordered on", block},
    data_column{"address", type::integer, "", "Its address", block},
    data_column{"unfreed", type::flag, "", "Counted as never freed in the report", block},
    data_column{"born_before", type::flag, "", "It was allocated before the recording", block},
    data_column{"imported", type::flag, "",
                "Its bytes belong to another process and are counted there, so exclude it from sums", block},
    data_column{"first_use_ns", type::rising, "", "Time when work that uses it was first enqueued; null: unknown",
                block},
    data_column{"last_use_ns", type::rising, "", "Time when it was last enqueued", block},
    data_column{"uses", type::integer, "", "Number of uses", block},
    data_column{"line", type::text, "", "The innermost line of the program's own code that requested it", block},
    data_column{"caller", type::text, "", "The line that called that function", block},
    data_column{"module", type::text, "", "The innermost Class.forward; for native code, the class or namespace",
                block},
    data_column{"package", type::text, "", "The Python package that requested it; without Python, the shared library",
                block},
    data_column{"owner", type::text, "", "The library that called the driver: PyTorch, NCCL, cuBLAS, ...", block},
};

constexpr std::array transfer_columns = {
    data_column{"id", type::rising, "id", "The event"},
    data_column{"begin_ns", type::rising, "time", "Start on the device"},
    data_column{"end_ns", type::rising, "end", "End on the device"},
    data_column{"duration_ns", type::integer, "duration", "Duration"},
    data_column{"enqueued_ns", type::rising, "enqueued", "Time when the call was entered"},
    data_column{"direction", type::text, "direction", "h2d, d2h, d2d, p2p or h2h"},
    data_column{"bytes", type::integer, "bytes", "Bytes copied"},
    data_column{"bandwidth", type::real, "bandwidth", "Bytes per second"},
    data_column{"source_kind", type::text, "source_kind", "Source memory; host is pageable, pinned is page-locked"},
    data_column{"destination_kind", type::text, "destination_kind",
                "Destination memory; host is pageable, pinned is page-locked"},
    data_column{"asynchronous", type::flag, "asynchronous", "The call did not wait"},
    data_column{"process", type::integer, "process", "The process"},
    data_column{"device", type::integer, "device", "The device"},
    data_column{"device_name", type::text, "device", "The device's name", device_name},
    data_column{"stream", type::integer, "stream", "The stream"},
    data_column{"stream_name", type::text, "stream", "The program's name for the stream, or its number", stream_name},
    data_column{"call", type::rising, "call", "The event of the API call that requested it"},
    data_column{"call_name", type::text, "call", "The function called", call_name},
    data_column{"line", type::text, "call", "The innermost line of the program's own code that requested it",
                call_stack},
    data_column{"module", type::text, "call", "The innermost Class.forward; for native code, the class or namespace",
                call_stack},
};

constexpr std::array kernel_columns = {
    data_column{"id", type::rising, "id", "The event"},
    data_column{"begin_ns", type::rising, "time", "Start on the device"},
    data_column{"end_ns", type::rising, "end", "End on the device"},
    data_column{"duration_ns", type::integer, "duration", "Duration"},
    data_column{"enqueued_ns", type::rising, "enqueued", "Time when the call was entered"},
    data_column{"name", type::text, "name", "Demangled"},
    data_column{"process", type::integer, "process", "The process"},
    data_column{"device", type::integer, "device", "The device"},
    data_column{"device_name", type::text, "device", "The device's name", device_name},
    data_column{"stream", type::integer, "stream", "The stream"},
    data_column{"stream_name", type::text, "stream", "The program's name for the stream, or its number", stream_name},
    data_column{"grid_x", type::integer, "grid_x", "Blocks in the grid"},
    data_column{"grid_y", type::integer, "grid_y", "Blocks in the grid"},
    data_column{"grid_z", type::integer, "grid_z", "Blocks in the grid"},
    data_column{"block_x", type::integer, "block_x", "Threads in a block"},
    data_column{"block_y", type::integer, "block_y", "Threads in a block"},
    data_column{"block_z", type::integer, "block_z", "Threads in a block"},
    data_column{"call", type::rising, "call", "The event of the API call that launched it"},
    data_column{"line", type::text, "call", "The innermost line of the program's own code that launched it",
                call_stack},
};

constexpr std::array host_sample_columns = {
    data_column{"id", type::rising, "id", "The event"},
    data_column{"begin_ns", type::rising, "time", "Start of the time that the sample stands for"},
    data_column{"end_ns", type::rising, "end", "End of that time"},
    data_column{"duration_ns", type::integer, "length", "Duration"},
    data_column{"state", type::text, "state", "running, in_kernel, blocked, runnable or unknown"},
    data_column{"system_call", type::text, "system_call_name", "Name of the system call that the thread was in"},
    data_column{"process", type::integer, "process", "The process"},
    data_column{"thread", type::integer, "thread", "The sampled thread"},
    data_column{"thread_name", type::text, "thread", "The thread's name, or its number", thread_name},
    data_column{"line", type::text, "stack", "The innermost line of the program's own code", stack},
    data_column{"module", type::text, "stack", "The innermost Class.forward; for native code, the class or namespace",
                stack},
    data_column{"owner", type::text, "stack", "The library that owns the code", stack},
};

constexpr std::array step_columns = {
    data_column{"process", type::integer, "process", "The process of the step"},
    data_column{"number", type::rising, "number", "From the program; otherwise counted from 0"},
    data_column{"begin_ns", type::rising, "begin", "Start time"},
    data_column{"end_ns", type::rising, "end", "End time"},
    data_column{"inferred", type::flag, "inferred", "Inferred from repeating work"},
};

constexpr std::array idle_columns = {
    data_column{"device", type::integer, "device", "The idle device"},
    data_column{"cause", type::text, "cause", "Why the host did not submit work"},
    data_column{"call", type::text, "call", "The call that took the time; null: the program's own code"},
    data_column{"line", type::text, "place", "The line of the program's own code nearest to the call"},
    data_column{"times", type::integer, "count", "Number of gaps"},
    data_column{"total_ns", type::integer, "total", "Total time"},
    data_column{"longest_ns", type::integer, "longest", "The longest gap"},
};

constexpr std::array idle_cause_columns = {
    data_column{"device", type::integer, "device", "The idle device"},
    data_column{"cause", type::text, "cause", "Why it had no work"},
    data_column{"times", type::integer, "count", "Number of gaps with such a part"},
    data_column{"total_ns", type::integer, "total", "Total time"},
    data_column{"longest_ns", type::integer, "longest", "The longest such time in one gap"},
};

constexpr std::array finding_columns = {
    data_column{"severity", type::text, "severity", "info, warning or error"},
    data_column{"kind", type::text, "kind", "Kind of finding; `sluice report --explain KIND` explains it"},
    data_column{"text", type::text, "text", "Description of the finding"},
    data_column{"advice", type::text, "advice", "Recommended action"},
    data_column{"begin_ns", type::rising, "begin", "Start of the time range to look at"},
    data_column{"end_ns", type::rising, "end", "End of the time range to look at"},
    data_column{"event", type::integer, "event", "The event to look at"},
    data_column{"block", type::integer, "block", "The block to look at"},
    data_column{"saved_bytes", type::integer, "saved_bytes",
                "Upper bound of the bytes saved, of the peak or of reserved memory"},
    data_column{"saved_time_ns", type::integer, "saved_time", "Upper bound of the time saved"},
    data_column{"line", type::text, "place", "The line of the program, if stacks were recorded"},
};

constexpr std::array tables = {
    data_table{"events", "All recorded events, with the same columns.", data_rows::events, "", event_columns},
    data_table{"blocks", "Blocks of memory, each from its allocation to its free.", data_rows::blocks, "",
               block_columns},
    data_table{"transfers", "Copies.", data_rows::rows, "transfer", transfer_columns},
    data_table{"kernels", "Kernels.", data_rows::rows, "kernel", kernel_columns},
    data_table{"host_samples", "Samples of what host threads did.", data_rows::rows, "host_sample",
               host_sample_columns},
    data_table{"steps", "Training steps, marked by the program or inferred.", data_rows::metrics, "step", step_columns},
    data_table{"idle", "The longest times in which a device was idle, by cause, call and line, as in the report.",
               data_rows::metrics, "idle_use", idle_columns},
    data_table{"idle_causes", "The whole idle time of each device by cause.", data_rows::metrics, "idle_cause",
               idle_cause_columns},
    data_table{"findings", "Findings of the report.", data_rows::metrics, "finding", finding_columns},
};

std::string_view get_words(parquet_type current) {
  switch (current) {
    case type::integer:
    case type::rising:
      return "INT64";
    case type::real:
      return "DOUBLE";
    case type::flag:
      return "BOOLEAN";
    case type::text:
      return "STRING";
  }
  return {};
}

}  // namespace

std::span<const data_table> data_tables() { return exports::tables; }

std::string data_set_schema_text() {
  std::string text =
      "# Tables of the data set\n\n"
      "`sluice export --format parquet` writes these tables. Each table has two more columns, `run` and `rank`, which "
      "are in the names of its folders.\n";
  for (const data_table& table : data_tables()) {
    text += fmt::format("\n## {}\n\n{}\n\n| column | type | description |\n|---|---|---|\n", table.name, table.about);
    for (const data_column& each : table.columns)
      text += fmt::format("| `{}` | {} | {} |\n", each.name, get_words(each.type), each.about);
  }
  return text;
}

}  // namespace sluice::exports
