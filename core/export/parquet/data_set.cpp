#include "core/export/parquet/data_set.hpp"

#include <fmt/format.h>

#include <array>

namespace sluice::exports {
namespace {

using type = parquet_type;
using enum column_source;

constexpr std::array event_columns = {
    data_column{"id", type::rising, "id", "The event; other tables refer to it"},
    data_column{"kind", type::text, "", "What happened: alloc, free, transfer, kernel, api_call, host_range, sync, ...",
                table},
    data_column{"begin_ns", type::rising, "time", "When, on the recording's clock; of what lasts, its begin"},
    data_column{"end_ns", type::rising, "end", "Its end; null: it takes no time, or never ended"},
    data_column{"name", type::text, "name|direction|operation|text",
                "Function, kernel, range, mark; of a copy its direction"},
    data_column{"process", type::integer, "process", "The process"},
    data_column{"thread", type::integer, "thread", "The host thread; null: only the device saw it"},
    data_column{"thread_name", type::text, "thread", "Its name, or its number", thread_name},
    data_column{"device", type::integer, "device", "The device"},
    data_column{"stream", type::integer, "stream", "The stream"},
    data_column{"bytes", type::integer, "bytes", "What it allocated, moved or asked for"},
    data_column{"block", type::rising, "block", "The block of memory"},
    data_column{"call", type::rising, "call", "The event of the API call that asked for it"},
    data_column{"value", type::real, "value", "Of a counter"},
    data_column{"line", type::text, "stack", "The line of the program's own code that it is attributed to", stack},
};

constexpr std::array block_columns = {
    data_column{"id", type::rising, "", "The block", block},
    data_column{"alloc", type::rising, "", "The event of its allocation", block},
    data_column{"born_ns", type::rising, "", "When the host had it", block},
    data_column{"died_ns", type::rising, "", "When its free was asked for; null: never freed", block},
    data_column{"bytes", type::integer, "", "What was asked for", block},
    data_column{"layer", type::text, "",
                "Who manages it: driver, pool, framework or user. Layers hold one another: never add two", block},
    data_column{"kind", type::text, "", "The kind of memory: device, pinned, managed, host, ...", block},
    data_column{"category", type::text, "", "What it is for: weight, gradient, activation, ...; null: not known",
                block},
    data_column{"name", type::text, "", "The API or the tag that made it", block},
    data_column{"process", type::integer, "", "The process", block},
    data_column{"device", type::integer, "", "The device; null: host memory", block},
    data_column{"device_name", type::text, "", "The device's name", block},
    data_column{"stream", type::integer, "", "The stream that it is ordered on", block},
    data_column{"address", type::integer, "", "Where it is", block},
    data_column{"unfreed", type::flag, "", "Never freed, as the report counts it", block},
    data_column{"born_before", type::flag, "", "It was there before the recording", block},
    data_column{"imported", type::flag, "",
                "Its bytes belong to another process and are counted there: leave it out of sums", block},
    data_column{"first_use_ns", type::rising, "", "When work that names it was first enqueued; null: not known", block},
    data_column{"last_use_ns", type::rising, "", "When last", block},
    data_column{"uses", type::integer, "", "How often", block},
    data_column{"line", type::text, "", "The innermost line of the program's own code that asked for it", block},
    data_column{"caller", type::text, "", "The line that called that function", block},
    data_column{"module", type::text, "", "The innermost Class.forward; of native code the class or namespace", block},
    data_column{"package", type::text, "", "The Python package that asked; without Python the shared library", block},
    data_column{"owner", type::text, "", "The library that called the driver: PyTorch, NCCL, cuBLAS, ...", block},
};

constexpr std::array transfer_columns = {
    data_column{"id", type::rising, "id", "The event"},
    data_column{"begin_ns", type::rising, "time", "Begin on the device"},
    data_column{"end_ns", type::rising, "end", "End on the device"},
    data_column{"duration_ns", type::integer, "duration", "Its length"},
    data_column{"enqueued_ns", type::rising, "enqueued", "When the call was entered"},
    data_column{"direction", type::text, "direction", "h2d, d2h, d2d, p2p or h2h"},
    data_column{"bytes", type::integer, "bytes", "How many"},
    data_column{"bandwidth", type::real, "bandwidth", "Bytes per second"},
    data_column{"source_kind", type::text, "source_kind", "Memory copied from; host is pageable, pinned page-locked"},
    data_column{"destination_kind", type::text, "destination_kind",
                "Memory copied to; host is pageable, pinned page-locked"},
    data_column{"asynchronous", type::flag, "asynchronous", "The call did not wait"},
    data_column{"process", type::integer, "process", "The process"},
    data_column{"device", type::integer, "device", "The device"},
    data_column{"device_name", type::text, "device", "The device's name", device_name},
    data_column{"stream", type::integer, "stream", "The stream"},
    data_column{"stream_name", type::text, "stream", "What the program called the stream, or its number", stream_name},
    data_column{"call", type::rising, "call", "The event of the API call that asked for it"},
    data_column{"call_name", type::text, "call", "That call's function", call_name},
    data_column{"line", type::text, "call", "The innermost line of the program's own code that asked for it",
                call_stack},
    data_column{"module", type::text, "call", "The innermost Class.forward; of native code the class or namespace",
                call_stack},
};

constexpr std::array kernel_columns = {
    data_column{"id", type::rising, "id", "The event"},
    data_column{"begin_ns", type::rising, "time", "Begin on the device"},
    data_column{"end_ns", type::rising, "end", "End on the device"},
    data_column{"duration_ns", type::integer, "duration", "Its length"},
    data_column{"enqueued_ns", type::rising, "enqueued", "When the call was entered"},
    data_column{"name", type::text, "name", "Demangled"},
    data_column{"process", type::integer, "process", "The process"},
    data_column{"device", type::integer, "device", "The device"},
    data_column{"device_name", type::text, "device", "The device's name", device_name},
    data_column{"stream", type::integer, "stream", "The stream"},
    data_column{"stream_name", type::text, "stream", "What the program called the stream, or its number", stream_name},
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

constexpr std::array step_columns = {
    data_column{"process", type::integer, "process", "Whose step"},
    data_column{"number", type::rising, "number", "As the program says, else counted from 0"},
    data_column{"begin_ns", type::rising, "begin", "When it began"},
    data_column{"end_ns", type::rising, "end", "When it ended"},
    data_column{"inferred", type::flag, "inferred", "A guess by what repeats"},
};

constexpr std::array idle_columns = {
    data_column{"device", type::integer, "device", "The device that had nothing to do"},
    data_column{"cause", type::text, "cause", "What kept the host from giving it work"},
    data_column{"call", type::text, "call", "The call that took the time; null: the program's own code"},
    data_column{"line", type::text, "place", "The line of the program's own code nearest to it"},
    data_column{"times", type::integer, "count", "How often"},
    data_column{"total_ns", type::integer, "total", "How long in all"},
    data_column{"longest_ns", type::integer, "longest", "The longest time"},
};

constexpr std::array finding_columns = {
    data_column{"severity", type::text, "severity", "info, warning or error"},
    data_column{"kind", type::text, "kind", "A word for what was found; `sluice report --explain KIND` says more"},
    data_column{"text", type::text, "text", "What was found"},
    data_column{"advice", type::text, "advice", "What to do about it"},
    data_column{"begin_ns", type::rising, "begin", "Where to look"},
    data_column{"end_ns", type::rising, "end", "Where to look"},
    data_column{"event", type::integer, "event", "What to look at"},
    data_column{"block", type::integer, "block", "What to look at"},
    data_column{"saved_bytes", type::integer, "saved_bytes",
                "Most bytes that the advice saves, of the peak or of reserved memory"},
    data_column{"saved_time_ns", type::integer, "saved_time", "Most time that it saves"},
    data_column{"line", type::text, "place", "The line of the program, if stacks were recorded"},
};

constexpr std::array tables = {
    data_table{"events", "Everything that was recorded, in one shape.", data_rows::events, "", event_columns},
    data_table{"blocks", "Blocks of memory, each from its birth to its death.", data_rows::blocks, "", block_columns},
    data_table{"transfers", "Copies.", data_rows::rows, "transfer", transfer_columns},
    data_table{"kernels", "Kernels.", data_rows::rows, "kernel", kernel_columns},
    data_table{"steps", "Training steps, as the program says or as inferred.", data_rows::figures, "step",
               step_columns},
    data_table{
        "idle",
        "Times in which a device had nothing to do, by cause, call and line: the longest, as the report has them.",
        data_rows::figures, "idle_use", idle_columns},
    data_table{"findings", "Hints, as the report prints them.", data_rows::figures, "finding", finding_columns},
};

std::string_view words_of(parquet_type is) {
  switch (is) {
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
      "What `sluice export --format parquet` writes. Each table has two more columns, by the folders its files are in: "
      "`run` and "
      "`rank`.\n";
  for (const data_table& table : data_tables()) {
    text += fmt::format("\n## {}\n\n{}\n\n| column | type | what |\n|---|---|---|\n", table.name, table.about);
    for (const data_column& each : table.columns)
      text += fmt::format("| `{}` | {} | {} |\n", each.name, words_of(each.type), each.about);
  }
  return text;
}

}  // namespace sluice::exports
