#include "app/cli/mcp/tools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "app/cli/check/check_of_recording.hpp"
#include "app/cli/diff/diff.hpp"
#include "app/cli/mcp/results.hpp"
#include "app/cli/metrics/metrics_of_recording.hpp"
#include "app/cli/options/range_option.hpp"
#include "app/cli/output/json_values.hpp"
#include "app/cli/report/report_output.hpp"
#include "app/cli/whatif/whatif_result.hpp"
#include "core/base/format.hpp"
#include "core/base/json/json_text.hpp"
#include "core/base/printable.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/check/check.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/sql/sql.hpp"
#include "core/query/sql/sql_text.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::cli::mcp {
namespace {

/// A copy of `value` in which lists have at most `limit` entries. Adds the number of omitted entries to `left_out`.
json shortened_lists(const json& value, std::size_t limit, std::size_t& left_out) {
  if (value.is_object()) {
    json object = json::object();
    for (const auto& [name, each] : value.items()) object[name] = shortened_lists(each, limit, left_out);
    return object;
  }
  if (!value.is_array()) return value;
  json output = json::array();
  for (const json& each : value) {
    if (output.size() == limit) break;
    output.push_back(shortened_lists(each, limit, left_out));
  }
  left_out += value.size() - output.size();
  return output;
}

/// Formats a value exactly as it will be sent, so that its size is correct.
std::string dumped(const json& value) { return printable_json(json_line(value)); }

json string_property(const char* about) { return {{"type", "string"}, {"description", about}}; }
json integer_property(const char* about) { return {{"type", "integer"}, {"description", about}}; }
json word_property(const char* about, std::vector<std::string> words) {
  return {{"type", "string"}, {"description", about}, {"enum", std::move(words)}};
}

json make_schema(json properties, std::vector<std::string> required) {
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

/// A query that exceeds its time limit stops itself and reports its progress. A query that does not stop itself is
/// killed after this additional time.
constexpr std::chrono::seconds time_to_stop(2);

constexpr auto file_about = "Path of the recording";
constexpr auto range_about =
    "Only this part of the recording: FROM:TO, such as 1.5s:2s. An empty TO means the end, as in 200ms:";

std::string text_of_argument(const json& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? std::string() : found->get<std::string>();
}

/// Formats `value` as text. If the text exceeds `max_bytes`, shortens all lists to the same length, if that is enough.
/// `cut` then describes what was omitted; otherwise `cut` is empty. O(size * log(max_rows)).
std::string small_text(const json& value, std::string& cut) {
  std::string text;
  std::size_t left_out = 0;
  std::size_t limit = max_rows;
  for (;;) {
    left_out = 0;
    text = dumped(shortened_lists(value, limit, left_out));
    if (text.size() <= max_bytes || limit == 0) break;
    limit /= 2;
  }
  cut.clear();
  if (left_out > 0)
    cut = fmt::format("Truncated to {} ({} omitted). Narrow the query.", format_some(limit, "entry"),
                      format_count(left_out));
  return text;
}

/// The content blocks of a result that consists of a JSON value.
json make_content(const json& value) {
  std::string cut;
  json content = json::array({text_block(small_text(value, cut))});
  if (!cut.empty()) content.push_back(text_block(cut));
  return content;
}

/// The content blocks of a result that consists of a verb's JSON output.
result<json> content_of_text(const std::string& text) {
  const auto value = parse_json(text);
  if (!value) return tl::unexpected(value.error());
  return make_content(*value);
}

// --- report, findings -----------------------------------------------------------------------------------------------

struct opened_report {
  metrics_of_recording metrics;
  metrics::report report;
};

result<opened_report> report_asked_for(const json& arguments) {
  const std::string text = text_of_argument(arguments, "range");
  auto metrics = metrics_of_recording::open(text_of_argument(arguments, "file"));
  if (!metrics) return tl::unexpected(metrics.error());
  std::optional<time_range> range;
  if (!text.empty()) {
    const auto parsed = parse_range(text, index::recorded_range(metrics->snapshot()));
    if (!parsed) return tl::unexpected(parsed.error());
    range = *parsed;
  }
  auto report = metrics->report(range);
  if (!report) return tl::unexpected(report.error());
  return opened_report{*std::move(metrics), *std::move(report)};
}

result<json> report_as_json(const json& arguments) {
  const auto opened = report_asked_for(arguments);
  if (!opened) return tl::unexpected(opened.error());
  return parse_json(report_json({opened->report, opened->metrics.tables(), opened->metrics.path()}));
}

result<json> report_tool(const json& arguments) {
  const std::string section = text_of_argument(arguments, "section");
  if (section.empty()) {
    const auto opened = report_asked_for(arguments);
    if (!opened) return tl::unexpected(opened.error());
    std::string text = report_text({opened->report, opened->metrics.tables(), opened->metrics.path()});
    if (text.size() <= max_bytes) return json::array({text_block(std::move(text))});
    text.resize(text.rfind('\n', max_bytes) + 1);
    return json::array({text_block(std::move(text)), text_block("Truncated to 20 KB. Request one section.")});
  }
  const auto as_json = report_as_json(arguments);
  if (!as_json) return tl::unexpected(as_json.error());
  const auto found = as_json->find(section);
  if (found == as_json->end()) {
    std::string names;
    for (const auto& [name, value] : as_json->items()) names += (names.empty() ? "" : ", ") + name;
    return fail(error_code::not_found, "no section named '" + section + "'", "section", "choose one of " + names);
  }
  return make_content(*found);
}

result<json> findings_tool(const json& arguments) {
  const auto as_json = report_as_json(arguments);
  if (!as_json) return tl::unexpected(as_json.error());
  const std::string least = text_of_argument(arguments, "severity");
  const auto weight = [](const std::string& text) { return text == "error" ? 2 : text == "warning" ? 1 : 0; };
  json chosen = json::array();
  for (const json& each : as_json->at("findings"))
    if (weight(each.at("severity").get<std::string>()) >= weight(least)) chosen.push_back(each);
  return make_content({{"verdict", as_json->at("verdict").at("text")},
                       {"findings", std::move(chosen)},
                       {"warnings", as_json->at("warnings")}});
}

// --- query ----------------------------------------------------------------------------------------------------------

std::size_t rows_asked_for(const json& arguments) {
  const auto found = arguments.find("limit");
  if (found == arguments.end()) return max_rows;
  const json& value = *found;
  if (value.is_number_unsigned()) return std::clamp<std::size_t>(value.get<std::size_t>(), 1, max_rows);
  return std::clamp<std::int64_t>(value.get<std::int64_t>(), 1, max_rows);
}

/// The rows of a query as a JSON list, followed by a note if there are more rows.
result<json> rows_as_json(query::sql_statement& rows, std::size_t limit) {
  query::sql_writer writer(query::sql_format::json, rows.columns());
  constexpr std::size_t ending = 3;  // Number of characters that the writer adds after the rows.
  std::string text;
  std::uint64_t count = 0;
  bool more = false;
  for (;;) {
    const auto step = rows.step();
    if (!step) return tl::unexpected(step.error());
    if (!*step) break;
    more = count == limit;
    if (more) break;
    std::string row;
    writer.row(rows, row);
    row = printable_json(row);
    // A single row that is too long is kept here, and cut together with its result.
    more = count > 0 && text.size() + row.size() + ending > max_bytes;
    if (more) break;
    text += row;
    ++count;
  }
  writer.end(text);
  json content = json::array({text_block(std::move(text))});
  if (more)
    content.push_back(text_block(
        fmt::format("Truncated to {}; more exist. Select fewer, or use LIMIT and OFFSET.", format_some(count, "row"))));
  return content;
}

result<json> query_tool(const tool_limits& limits, const json& arguments) {
  query::sql_options options;
  options.deadline = std::chrono::steady_clock::now() + limits.query_time;
  options.value_bytes = limits.value_bytes;
  options.memory_bytes = limits.sql_memory_bytes;
  options.scratch_bytes = limits.scratch_bytes;
  const auto file = open_recording(text_of_argument(arguments, "file"));
  if (!file) return tl::unexpected(file.error());
  auto database = query::sql_database::open((*file)->latest(), options);
  if (!database) return tl::unexpected(database.error());
  auto rows = (*database)->prepare(text_of_argument(arguments, "sql"));
  if (!rows) return tl::unexpected(rows.error());
  return rows_as_json(*rows, rows_asked_for(arguments));
}

result<json> tables_tool(const json& arguments) {
  const std::string wanted = text_of_argument(arguments, "table");
  json array = json::array();
  for (const query::sql_table_about& table : query::sql_schema()) {
    if (wanted.empty()) {
      array.push_back({{"table", table.name}, {"about", table.about}});
      continue;
    }
    if (table.name != wanted) continue;
    for (const query::sql_column_about& column : table.columns)
      array.push_back({{"column", column.name}, {"type", column.type}, {"about", column.about}});
  }
  if (array.empty()) return fail(error_code::not_found, "no table named '" + wanted + "'", "table");
  return make_content(array);
}

// --- diff, check ----------------------------------------------------------------------------------------------------

result<json> diff_tool(const json& arguments) {
  const auto text =
      difference_text({.files = {text_of_argument(arguments, "before"), text_of_argument(arguments, "after")},
                       .range = {},
                       .against = {},
                       .sources_from = {},
                       .json = true});
  if (!text) return tl::unexpected(text.error());
  return content_of_text(*text);
}

result<json> check_tool(const json& arguments) {
  check_wanted wanted;
  wanted.file = text_of_argument(arguments, "file");
  wanted.max_peak = text_of_argument(arguments, "max_peak");
  wanted.max_reserved = text_of_argument(arguments, "max_reserved");
  wanted.max_growth = text_of_argument(arguments, "max_growth");
  wanted.no_leaks = arguments.value("no_leaks", false);
  wanted.max_pageable = text_of_argument(arguments, "max_pageable");
  wanted.max_idle = text_of_argument(arguments, "max_idle");
  wanted.baseline = text_of_argument(arguments, "baseline");
  wanted.tolerance = text_of_argument(arguments, "tolerance");
  wanted.fail_on = text_of_argument(arguments, "fail_on");
  const auto checked = check_recording(wanted);
  if (!checked) return tl::unexpected(checked.error());
  return content_of_text(check_text(*checked, check_format::json));
}

// --- whatif ---------------------------------------------------------------------------------------------------------

result<json> whatif_tool(const json& arguments) {
  whatif_wanted wanted;
  wanted.files.push_back(text_of_argument(arguments, "file"));
  for (const char* other : {"second", "third"})
    if (const std::string file = text_of_argument(arguments, other); !file.empty()) wanted.files.push_back(file);
  if (const std::string policy = text_of_argument(arguments, "policy"); !policy.empty()) {
    wanted.policies = {"native"};
    if (policy != "native") wanted.policies.push_back(policy);
  }
  wanted.batch = text_of_argument(arguments, "batch");
  const auto result = result_whatif(wanted);
  if (!result) return tl::unexpected(result.error());
  json object = whatif_json(*result);
  // The policy already contains this sum.
  for (auto& each : object["policies"])
    if (each["devices"].size() == 1) each.erase("devices");
  return make_content(object);
}

// --- blocks_at ------------------------------------------------------------------------------------------------------

std::optional<trace::layer> layer_named(const std::string& name) {
  for (const trace::layer each :
       {trace::layer::driver, trace::layer::pool, trace::layer::framework, trace::layer::user})
    if (name == trace::get_name(each)) return each;
  return std::nullopt;
}

result<json> blocks_at_tool(const json& arguments) {
  auto metrics = metrics_of_recording::open(text_of_argument(arguments, "file"));
  if (!metrics) return tl::unexpected(metrics.error());
  std::optional<trace::layer> layer = layer_named(text_of_argument(arguments, "layer"));
  std::optional<trace::time_ns> time;
  if (const auto given = arguments.find("time_ns"); given != arguments.end()) time = given->get<trace::time_ns>();
  if (!layer || !time) {
    const auto found = metrics->report();
    if (!found) return tl::unexpected(found.error());
    const metrics::report& report = *found;
    const auto judged = metrics::most_telling_memory(report);
    if (!layer && judged) layer = judged->layer;
    std::uint64_t highest = 0;
    for (const metrics::memory_peak& peak : report.peaks) {
      if (time && arguments.contains("time_ns")) break;
      if ((layer && peak.layer != *layer) || (judged && peak.kind != judged->kind) || peak.bytes <= highest) continue;
      highest = peak.bytes;
      time = peak.time;
    }
  }
  if (!time) return fail(error_code::not_found, "no memory of this layer was used", metrics->path());
  const trace::time_ns behind = *time < INT64_MAX ? *time + 1 : *time;
  query::engine engine(metrics->file());
  query::blocks_query query;
  query.range = {*time, behind};
  query.layer = layer;
  query.rows = rows_asked_for(arguments);
  query.by = symbols::attribution::line;
  const auto result = engine.ask_now(query);
  if (!result) return tl::unexpected(result.error());
  const query::block_table& table = **result;
  const trace::tables& tables = metrics->tables();
  const auto block = [&](const query::block_row& row) -> json {
    return {{"block", raw(row.block)},
            {"event", raw(row.alloc)},
            {"bytes", row.bytes},
            {"device", index::short_label(row.device, tables)},
            {"kind", trace::get_name(row.kind)},
            {"born_ns", row.born},
            {"freed_ns", time_or_null(row.died)},
            {"name", tables.text(row.name)},
            {"category", category_or_null(row.category.kind)},
            {"line", table.names[table.asked_by[static_cast<std::size_t>(&row - table.rows.data())]]}};
  };
  return make_content({{"time_ns", *time},
                       {"layer", layer ? json(trace::get_name(*layer)) : json(nullptr)},
                       {"live_blocks", table.count},
                       {"live_bytes", table.total_bytes},
                       {"listed", table.rows.size()},
                       {"largest", list_json(table.rows, block)}});
}

}  // namespace

std::vector<tool> all_tools(const tool_limits& limits) {
  std::vector<tool> tools;
  const auto add = [&](tool output) {
    if (output.max_time == output.max_time.zero()) output.max_time = limits.call_time;
    tools.push_back(std::move(output));
  };
  add({"findings",
       "States the verdict on a recording, and lists its problems, most important first, with advice and savings.",
       make_schema({{"file", string_property(file_about)},
                    {"severity", word_property("Omit findings below this severity", {"info", "warning", "error"})},
                    {"range", string_property(range_about)}},
                   {"file"}),
       findings_tool});
  add({"report",
       "Returns the metrics of a recording as text; with a section, that member of the JSON report (memory, transfers, "
       "steps, kernels, pools, unfreed, devices, processes, marks, ...). The section idle says why each GPU was idle: "
       "the causes, their shares, the program's lines, and remedies with code.",
       make_schema({{"file", string_property(file_about)},
                    {"section", string_property("Name of a member of the JSON report")},
                    {"range", string_property(range_about)}},
                   {"file"}),
       report_tool});
  add({"query", "Runs an SQL query on a recording (SQLite, one SELECT). The tool tables lists tables and columns.",
       make_schema({{"file", string_property(file_about)},
                    {"sql", string_property("One SELECT statement")},
                    {"limit", integer_property("Maximum number of rows, up to 200")}},
                   {"file", "sql"}),
       [limits](const json& arguments) { return query_tool(limits, arguments); }, true,
       limits.query_time + time_to_stop});
  add({"tables", "Lists the tables for query, or the columns of one table.",
       make_schema({{"table", string_property("Name of a table")}}, {}), tables_tool, false});
  add({"blocks_at",
       "Lists the blocks that are live at a given time, largest first, with ids and the lines that allocated "
       "them. Default: at the peak, in the highest recorded layer.",
       make_schema(
           {{"file", string_property(file_about)},
            {"time_ns", integer_property("Time in ns from the start of the recording")},
            {"layer", word_property("Layer of the blocks; layers are nested", {"driver", "pool", "framework", "user"})},
            {"limit", integer_property("Maximum number of blocks, up to 200")}},
           {"file"}),
       blocks_at_tool});
  add({"diff", "Compares memory, copies and causes of idle time of two recordings, by line.",
       make_schema({{"before", string_property("Path of the older recording")},
                    {"after", string_property("Path of the newer recording")}},
                   {"before", "after"}),
       diff_tool});
  add({"check", "Checks a recording against limits, or against an older recording.",
       make_schema(
           {{"file", string_property(file_about)},
            {"max_peak", string_property("Size such as 20GiB: limit on the peak of device memory")},
            {"max_reserved", string_property("Size: limit on memory reserved from the driver")},
            {"max_growth", string_property("Size: limit on memory growth per step")},
            {"no_leaks", {{"type", "boolean"}, {"description", "Require that no likely leak is found"}}},
            {"max_pageable", string_property("Share such as 5%: limit on the pageable share of copied bytes")},
            {"max_idle", string_property("Share: limit on a device's idle share of the active time")},
            {"baseline", string_property("Path of an older recording")},
            {"tolerance", string_property("Share: allowed increase over the baseline")},
            {"fail_on", word_property("Require no finding of this severity or above", {"note", "warning", "error"})}},
           {"file"}),
       check_tool});
  add({"whatif",
       "Predicts PyTorch's reserved memory for the recorded requests under other settings, or with another "
       "batch size.",
       make_schema(
           {{"file", string_property("Path of the recording; with batch, FILE@64 states its batch size, here 64")},
            {"policy", string_property("Setting as in PYTORCH_CUDA_ALLOC_CONF, compared with native; default: "
                                       "a standard set")},
            {"batch", string_property("Factor of the batch size, such as 2x")},
            {"second", string_property("With batch: a recording of the same program with another batch size")},
            {"third", string_property("With batch: another recording, with a third batch size")}},
           {"file"}),
       whatif_tool});
  return tools;
}

}  // namespace sluice::cli::mcp
