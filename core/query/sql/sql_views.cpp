// Defines the views, which are tables joined by ids. Names and stacks are sub-queries, so that they cost nothing if a
// query does not use them. Views use only tables, so that an exported file with the same tables can have the same
// views.
#include "core/query/sql/sql_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/query/sql/metric_tables.hpp"

namespace sluice::query {
namespace {

/// The columns of the views.
namespace declared {

using one = view_column;
using shows = view_value;

constexpr one event_id{"id", "The event"};
constexpr one device_start{"time", "Start on the device"};
constexpr one device_end{"end", "End on the device"};
constexpr one duration{"duration", "Duration, ns"};
constexpr one process_id{"process", "Its process"};
constexpr one work_device{"device", "The device it ran on"};
constexpr one memory_device{"device", "The device; null for host memory"};
constexpr one device_name{"device_name", "The device's product name", shows::device_name, "device"};
constexpr one work_stream{"stream", "The stream it ran in"};
constexpr one stream_name{"stream_name", "The program's name for the stream, or its number", shows::stream_name,
                          "stream"};
constexpr one thread_name{"thread_name", "The thread's name, or its number", shows::thread_name, "thread"};
constexpr one layer{"layer"};
constexpr one call{"call", "The API call that requested it"};

/// Columns of the row's own stack, and of the stack of its API call.
constexpr one line{"line", "The line of the program that represents the stack", shows::stack, "stack"};
constexpr one own_module{"module", {}, shows::stack, "stack"};
constexpr one own_owner{"owner", {}, shows::stack, "stack"};
constexpr one stack_text{"stack_text", "The call stack, innermost first", shows::stack, "stack", "text"};
constexpr one call_line{"line", line.about, shows::call_stack, "call"};
constexpr one call_stack_text{"stack_text", stack_text.about, shows::call_stack, "call", "text"};

constexpr std::array events = {
    one{"id", "The event; other tables refer to it"},
    one{"kind", "Type of event: the table that has more about it", shows::table_name},
    one{"time", "Time on the recording's clock; the start of events with a duration"},
    one{"end", "End time; null: no duration, or never ended"},
    one{"name", "Name of the function, kernel, range or mark; direction of a copy; state of a sampled thread",
        shows::readable, "name direction operation text state"},
    process_id,
    one{"thread", "The host thread; null: recorded on the device only"},
    thread_name,
    one{"device"},
    one{"stream", "The stream"},
    one{"bytes", "Bytes allocated, copied or requested"},
    one{"block"},
    call,
    one{"value", "Value of a counter; the value that a memset writes"},
    line,
};

constexpr std::array kernels = {
    event_id,
    device_start,
    device_end,
    duration,
    one{"name", "Demangled", shows::readable, "name"},
    process_id,
    work_device,
    device_name,
    work_stream,
    stream_name,
    one{"enqueued"},
    one{"queued", "Time from the call to the start, ns", shows::difference, "time enqueued"},
    one{"grid_x"},
    one{"grid_y"},
    one{"grid_z"},
    one{"block_x"},
    one{"block_y"},
    one{"block_z"},
    one{"blocks", "Blocks in the grid", shows::product, "grid_x grid_y grid_z"},
    one{"threads", "Threads in the grid", shows::product, "grid_x grid_y grid_z block_x block_y block_z"},
    call,
    call_line,
    call_stack_text,
};

constexpr std::array transfers = {
    event_id,
    device_start,
    device_end,
    duration,
    one{"enqueued"},
    one{"direction"},
    one{"bytes"},
    one{"bandwidth", "bytes / duration, in bytes/s"},
    one{"source_kind"},
    one{"destination_kind"},
    one{"asynchronous"},
    process_id,
    work_device,
    device_name,
    work_stream,
    stream_name,
    call,
    one{"call_name", "The function called", shows::call_name, "call"},
    call_line,
    one{"module", {}, shows::call_stack, "call"},
    call_stack_text,
};

constexpr std::array allocations = {
    event_id,   one{"time"},   one{"block"}, layer,         one{"kind"}, one{"bytes"}, one{"address"}, one{"name"},
    process_id, memory_device, device_name,  one{"stream"}, stream_name, line,         stack_text,
};

constexpr std::array blocks = {
    one{"id"},
    one{"born"},
    one{"died"},
    one{"unfreed", "1: never freed, as counted in the report"},
    one{"lifetime", "died - born, ns", shows::difference, "died born"},
    one{"bytes"},
    layer,
    one{"kind"},
    one{"category"},
    one{"name"},
    process_id,
    memory_device,
    device_name,
    one{"stream"},
    one{"address"},
    one{"alloc"},
    one{"born_before"},
    one{"imported", "1: its bytes belong to another process and are counted there, so exclude it from sums"},
    one{"first_use"},
    one{"last_use"},
    one{"uses"},
    line,
    one{"caller", {}, shows::stack, "stack"},
    own_module,
    one{"package", {}, shows::stack, "stack"},
    own_owner,
    stack_text,
};

constexpr std::array calls = {
    event_id,
    one{"time", "Time when it was entered"},
    one{"end", "Time when it returned"},
    duration,
    one{"name"},
    one{"status"},
    one{"bytes"},
    process_id,
    one{"thread", "The calling thread"},
    thread_name,
    one{"stream", "The stream argument"},
    line,
    stack_text,
};

constexpr std::array ranges = {
    event_id,
    one{"time", "Time when it was entered"},
    one{"end", "Time when it was left"},
    duration,
    one{"name"},
    one{"domain"},
    process_id,
    one{"thread", "The thread in the scope"},
    thread_name,
};

constexpr std::array host_samples = {
    event_id,
    one{"time"},
    one{"end", "End of that time"},
    one{"duration", "Duration, ns", shows::column, "length"},
    one{"state"},
    one{"system_call", "Name of the system call that the thread was in, or its number; null: none, or unknown",
        shows::column, "system_call_name system_call"},
    process_id,
    one{"thread", "The sampled thread"},
    thread_name,
    one{"python_distance"},
    line,
    own_module,
    own_owner,
    stack_text,
};

constexpr std::array touches = {
    event_id,
    one{"time"},
    one{"block", "The used block"},
    one{"name", "Name of the kernel, or of the call that copies; demangled", shows::readable, "name"},
    one{"work"},
    one{"bytes", "The block's size", shows::block, "block"},
    one{"block_name", "The API that allocated the block, or its tag", shows::block, "block", "name"},
    process_id,
    one{"stream", "The stream it was enqueued in"},
    stream_name,
};

constexpr std::array views = {
    view_about{"events", "All recorded events, with the same columns", {}, events},
    view_about{"kernels", "Kernels, with names and the stacks of their launches", "kernel", kernels},
    view_about{"transfers", "Copies, with names and the stacks of the calls that requested them", "transfer",
               transfers},
    view_about{"allocations", "Allocations, with names and stacks", "alloc", allocations},
    view_about{"blocks", "Blocks, each with its allocation and free, its name and its stack", "block", blocks},
    view_about{"calls", "API calls, with names and stacks", "api_call", calls},
    view_about{"ranges", "Named scopes of the program", "host_range", ranges},
    view_about{"host_samples", "Samples of host threads, with names and stacks", "host_sample", host_samples},
    view_about{"touches", "Uses of blocks by kernels, with names", "touch", touches},
};

}  // namespace declared

/// The types of rows that only support others, such as checkpoints, clocks, and attributes of other rows.
constexpr std::array<std::string_view, 7> not_events = {"checkpoint", "live_block", "clock_anchor", "watermark",
                                                        "attribute",  "link",       "transfer_part"};

/// Returns the table with the column that a value looks up. Empty if it looks up none.
std::string_view find_lookup(view_value value) {
  switch (value) {
    case view_value::device_name:
      return "device";
    case view_value::call_name:
      return "api_call";
    case view_value::block:
      return "block";
    case view_value::stack:
    case view_value::call_stack:
      return "call_stack";
    default:
      return {};
  }
}

/// Returns the columns `from` of a table, joined by `by`.
std::string join_inputs(const view_column& shown, std::span<const column> table, std::string_view by) {
  std::string text;
  for (const std::size_t place : find_inputs(shown, table))
    text.append(text.empty() ? "" : by).append("t.\"").append(table[place].name).append("\"");
  return text;
}

std::string select_text(const view_column& shown, std::string_view name, std::span<const column> table) {
  if (shown.value == view_value::table_name) return fmt::format("'{}'", name);
  std::string input = join_inputs(shown, table, ", ");
  if (input.empty()) return "NULL";
  if (input.find(',') != std::string::npos) input = "coalesce(" + input + ")";
  switch (shown.value) {
    case view_value::readable:
      return fmt::format("coalesce((SELECT name FROM readable_name WHERE symbol = {0}), {0})", input);
    case view_value::stream_name:
      return fmt::format("(SELECT coalesce(name, 'Stream ' || handle) FROM stream WHERE id = {})", input);
    case view_value::thread_name:
      return fmt::format("(SELECT coalesce(name, 'thread ' || tid) FROM thread WHERE id = {})", input);
    case view_value::device_name:
    case view_value::call_name:
      return fmt::format("(SELECT name FROM {} WHERE id = {})", find_lookup(shown.value), input);
    case view_value::call_stack:
      input = fmt::format("(SELECT stack FROM api_call WHERE id = {})", input);
      [[fallthrough]];
    case view_value::block:
    case view_value::stack:
      return fmt::format("(SELECT {} FROM {} WHERE id = {})", shown.column_shown(), find_lookup(shown.value), input);
    case view_value::difference:
      return join_inputs(shown, table, " - ");
    case view_value::product:
      return join_inputs(shown, table, " * ");
    default:
      return input;
  }
}

std::string select_text(const view_about& view, std::string_view table) {
  std::string text;
  for (const view_column& each : view.columns)
    text += fmt::format("{}{} AS \"{}\"", text.empty() ? "SELECT " : ", ",
                        select_text(each, table, find_columns(table)), each.name);
  return text + " FROM " + std::string(table) + " AS t";
}

/// Returns the column of the tables that a view's column shows, or null if it shows none unchanged.
const column* find_shown(const view_column& shown, std::span<const std::string_view> tables) {
  const std::string_view lookup = find_lookup(shown.value);
  const bool named = shown.value == view_value::device_name || shown.value == view_value::call_name;
  const view_column looked_up{named ? "name" : shown.column_shown()};
  const column* first = nullptr;
  const auto look_in = [&](const view_column& at, std::string_view table) {
    const auto columns = find_columns(table);
    for (const std::size_t place : find_inputs(at, columns))
      // Real numbers hold the integers of other tables, too.
      if (first == nullptr || columns[place].type == column_type::real) first = &columns[place];
  };
  if (!lookup.empty()) look_in(looked_up, lookup);
  if (shown.value == view_value::column || shown.value == view_value::readable)
    for (const std::string_view table : tables) look_in(shown, table);
  return first;
}

}  // namespace

std::span<const view_about> sql_views() { return declared::views; }

const view_about* find_view(std::string_view name) {
  const auto found =
      std::find_if(declared::views.begin(), declared::views.end(), [&](const auto& each) { return each.name == name; });
  return found == declared::views.end() ? nullptr : &*found;
}

std::vector<std::string_view> find_tables(const view_about& view) {
  if (!view.table.empty()) return {view.table};
  std::vector<std::string_view> names;
  for (const table& each : tables())
    if (each.events && std::find(not_events.begin(), not_events.end(), each.name) == not_events.end())
      names.push_back(each.name);
  return names;
}

std::span<const column> find_columns(std::string_view table) {
  if (const query::table* rows = find_table(table)) return rows->columns;
  const metric_table* metrics = find_metric_table(table);
  return metrics == nullptr ? std::span<const column>() : metrics->columns;
}

std::vector<std::size_t> find_inputs(const view_column& shown, std::span<const column> table) {
  std::vector<std::size_t> places;
  for (std::string_view names = shown.from.empty() ? shown.name : shown.from; !names.empty();) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (const std::size_t place = find_place(table, names.substr(0, end)); place < table.size())
      places.push_back(place);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return places;
}

column describe_column(const view_column& shown, std::span<const std::string_view> tables) {
  const bool number = shown.value == view_value::difference || shown.value == view_value::product;
  column output;
  if (const column* source = find_shown(shown, tables))
    output = *source;
  else
    output.type = number ? column_type::integer : column_type::text;
  output.name = shown.name;
  if (!shown.about.empty()) output.about = shown.about;
  if (shown.value != view_value::column && !number) output.words = {};
  output.read = nullptr;
  return output;
}

std::string create_view_text(const view_about& view) {
  std::string text;
  for (const std::string_view table : find_tables(view))
    text.append(text.empty() ? "" : " UNION ALL ").append(select_text(view, table));
  return "CREATE VIEW " + std::string(view.name) + " AS " + text;
}

}  // namespace sluice::query
