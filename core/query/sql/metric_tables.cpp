#include "core/query/sql/metric_tables.hpp"
#include "core/trace/model/names.hpp"

#include <algorithm>
#include <array>

#include "core/base/format.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/metrics/findings/finding_rules.hpp"
#include "core/metrics/host_causes/describe.hpp"
#include "core/metrics/host_causes/host_remedies.hpp"
#include "core/metrics/make_report.hpp"
#include "core/metrics/members.hpp"
#include "core/metrics/report/report.hpp"
#include "core/metrics/verdict/finding_title.hpp"
#include "core/symbols/attribution.hpp"
#include "core/trace/model/words.hpp"

namespace sluice::query {
namespace {

using type = column_type;
using value = held_rows::value;

value id_value(std::uint64_t id) { return id == 0 ? value{} : value{static_cast<std::int64_t>(id)}; }
value words(std::string_view text) { return text.empty() ? value{} : value{std::string(text)}; }
value count(std::uint64_t number) { return static_cast<std::int64_t>(number); }
value time_value(time_ns time) { return time == trace::unknown_time ? value{} : value{time}; }

// --- tables of the members that their list describes (core/metrics/base/member_list.hpp) -----------------------------

template <class Value>
constexpr column_type get_type(metrics::meaning meaning) {
  if constexpr (std::is_enum_v<Value>) return kind_of_id<Value> == id_kind::none ? type::text : type::id;
  if constexpr (std::is_same_v<Value, double>) return type::real;
  if constexpr (std::is_same_v<Value, std::uint64_t>) return type::size;
  return meaning == metrics::meaning::moment ? type::time : type::integer;
}

template <class Value>
value make_cell(const Value& subject, metrics::meaning meaning, const trace::tables& tables) {
  if constexpr (std::is_same_v<Value, trace::string_id>)
    return words(tables.text(subject));
  else if constexpr (std::is_enum_v<Value> && trace::enum_values < Value >> 0)
    return words(trace::get_word(subject));
  else if constexpr (std::is_enum_v<Value>)
    return id_value(raw(subject));
  else if constexpr (std::is_same_v<Value, double>)
    return meaning == metrics::meaning::rate && !(subject > 0) ? value{} : value{subject};
  else
    return meaning == metrics::meaning::moment ? time_value(static_cast<time_ns>(subject))
                                               : value{static_cast<std::int64_t>(subject)};
}

/// A list cannot be a column.
template <class Element>
value make_cell(const std::vector<Element>& /*of*/, metrics::meaning /*is*/, const trace::tables& /*names*/) {
  return {};
}

/// Calls `take` with each member that has a column.
template <class Metrics, class Take>
constexpr void for_each_column(Take&& take) {
  const auto one = [&](const auto& member) {
    if (!member.about.empty()) take(member);
  };
  std::apply([&](const auto&... each) { (one(each), ...); }, metrics::get_members<Metrics>());
}

template <class Metrics>
constexpr auto get_columns = [] {
  constexpr std::size_t count = [] {
    std::size_t found = 0;
    for_each_column<Metrics>([&](const auto& /*member*/) { ++found; });
    return found;
  }();
  std::array<metric_column, count> columns{};
  metric_column* next = columns.data();
  for_each_column<Metrics>([&]<auto Member>(const metrics::member<Member>& each) {
    using held = std::remove_cvref_t<decltype(std::declval<Metrics>().*Member)>;
    *next++ = {spelling::of_pointer<Member>(), each.about, get_type<held>(each.role), kind_of_id<held>};
  });
  return columns;
}();

template <class Row>
std::vector<value> list_cells(const Row& subject, const trace::tables& tables) {
  std::vector<value> row;
  for_each_column<Row>(
      [&](const auto& member) { row.push_back(make_cell(subject.*(member.pointer), member.role, tables)); });
  return row;
}

/// Makes a row for each element of `List`, one of the vectors of `range_statistics`.
template <auto List>
made_rows make_use(sql_context& context, std::optional<time_range> range) {
  const auto sections = context.sections();
  if (!sections) return tl::unexpected(sections.error());
  const auto statistics = (*sections)->statistics(range);
  if (!statistics) return tl::unexpected(statistics.error());
  const auto rows = std::make_shared<held_rows>();
  for (const auto& each : *statistics.*List) rows->add(list_cells(each, context.trace->tables()));
  return rows;
}

constexpr std::array step_columns = {
    metric_column{"process", "The process of the step", type::id, id_kind::process},
    metric_column{"number", "From the program; otherwise counted from 0", type::integer},
    metric_column{"begin", "Start time", type::time},
    metric_column{"end", "End time", type::time},
    metric_column{"event", "The mark or range; null: inferred", type::id, id_kind::event},
    metric_column{"inferred", "1: inferred from repeating work", type::flag},
};

made_rows make_steps(sql_context& context, std::optional<time_range> /*range*/) {
  const auto rows = std::make_shared<held_rows>();
  const auto add = [&](trace::process_id process, const index::step_list& list) {
    for (const index::step& each : list.steps)
      rows->add({id_value(raw(process)), each.number, each.span.begin, each.span.end, id_value(raw(each.event)),
                 std::int64_t{list.inferred() ? 1 : 0}});
  };
  const auto sections = context.sections();
  if (!sections) return tl::unexpected(sections.error());
  const auto steps = (*sections)->steps();
  if (!steps) return tl::unexpected(steps.error());
  for (const auto& [process, list] : (*steps)->lists()) add(process, list);
  return rows;
}

/// Makes at most `allocation_retries::limit` rows.
made_rows make_retries(sql_context& context, std::optional<time_range> range) {
  const auto rows = std::make_shared<held_rows>();
  const auto add = [&](const metrics::allocation_retries& retries) {
    for (const metrics::allocation_retry& each : retries.first) rows->add(list_cells(each, context.trace->tables()));
  };
  const auto sections = context.sections();
  if (!sections) return tl::unexpected(sections.error());
  if (!range && (*sections)->stored()) {
    add((*sections)->stored()->metrics.retries);
    return rows;
  }
  const metrics::metrics_scope scope{context.trace.get(),
                                     bounded(range.value_or(index::recorded_range(*context.trace)))};
  metrics::retries_builder builder(scope);
  // What follows the range shows how its last failures ended.
  const auto added = (*sections)->for_each(index::section_scope::memory, {scope.range.begin, all_time.end},
                                           [&](const index::event_store& store, time_range /*part*/) {
                                             builder.add(store.memory());
                                             return !store.memory().failed().empty();
                                           });
  if (!added) return tl::unexpected(added.error());
  add(builder.retries());
  return rows;
}

constexpr std::array finding_columns = {
    metric_column{"severity", "info, warning or error", type::text},
    metric_column{"kind", "Kind of finding; `sluice report --explain KIND` explains it", type::text},
    metric_column{"text", "Description of the finding", type::text, id_kind::none, text_role::message},
    metric_column{"advice", "Recommended action", type::text, id_kind::none, text_role::message},
    metric_column{"begin", "Start of the time range to look at", type::time},
    metric_column{"end", "End of the time range to look at", type::time},
    metric_column{"event", "The event to look at", type::id, id_kind::event},
    metric_column{"block", "The block to look at", type::id, id_kind::block},
    metric_column{"saved_bytes", "Upper bound of the bytes saved, of the peak or of reserved memory", type::size},
    metric_column{"saved_time", "Upper bound of the time saved, ns", type::size},
    metric_column{"place", "The line of the program, if stacks were recorded", type::text},
    metric_column{"saved_bytes_error", "Error of saved_bytes in either direction; 0: it is an upper bound", type::size},
    metric_column{"saved_share", "What is saved, as a share of the time after start-up or of the memory, 0..1",
                  type::real},
    metric_column{"major", "1: among the findings that the report lists first", type::flag},
    metric_column{"title", "The problem in a few words", type::text, id_kind::none, text_role::message},
    metric_column{"fix_code",
                  "The fix as code, one to three lines; null: the fix is not code, or the framework is unknown",
                  type::text},
};

constexpr std::array verdict_columns = {
    metric_column{"text", "The first line of the report", type::text, id_kind::none, text_role::message},
    metric_column{"headline", "Its most important part", type::text, id_kind::none, text_role::message},
    metric_column{"bound", "What takes most of the time: kernels, launches, copies, waiting, idle or unknown",
                  type::text},
    metric_column{"no_problem", "1: no problem was found", type::flag},
    metric_column{"time", "ns of active time without one-time work", type::size},
    metric_column{"busy", "ns of it in which kernels or memsets ran, as a mean over the devices; null: unknown",
                  type::size},
    metric_column{"step", "Median ns of a step; null: no steps", type::size},
    metric_column{"peak", "Peak bytes of device memory; null: not recorded", type::size},
    metric_column{"device_bytes", "Memory of that device; null: unknown", type::size},
    metric_column{"slow_rank", "The rank that the others wait for; null: none", type::integer},
};

/// Returns the report that the report command creates.
result<metrics::report> build_report(sql_context& context, std::optional<time_range> range) {
  const auto sections = context.sections();
  if (!sections) return tl::unexpected(sections.error());
  auto found = (*sections)->report(range);
  if (!found) return tl::unexpected(found.error());
  return metrics::make_report(std::move(*found), *context.trace, {.book = *context.frames});
}

made_rows make_ranks(sql_context& context, std::optional<time_range> range) {
  const auto whole_report = build_report(context, range);
  if (!whole_report) return tl::unexpected(whole_report.error());
  const auto rows = std::make_shared<held_rows>();
  for (const metrics::rank_metrics& each : whole_report->waste.ranks)
    rows->add(list_cells(each, context.trace->tables()));
  return rows;
}

/// The columns that follow the members of a failed allocation.
constexpr std::array failure_state_columns = {
    metric_column{"place",
                  "The line that requested it. From here on: only for the first out-of-memory failure, else null",
                  type::text},
    metric_column{"needed", "Bytes that the allocator needed from the driver: at least a segment", type::size},
    metric_column{"refused_by", "What refused the request: device or framework", type::text},
    metric_column{"limit_least", "Lower bound of what the process may reserve", type::size},
    metric_column{"device_free", "Free bytes on the device", type::size},
    metric_column{"used", "Bytes in live blocks", type::size},
    metric_column{"reserved", "Bytes in segments for these blocks", type::size},
    metric_column{"largest_hole", "The largest free piece in the segments", type::size},
    metric_column{"missing", "Additional bytes with which it would have fit", type::size},
    metric_column{"changes", "Changes with which it would have fit, each verified, one per line", type::text,
                  id_kind::none, text_role::message},
};

constexpr auto failure_columns = [] {
  constexpr auto& members = get_columns<metrics::failed_allocation>;
  std::array<metric_column, members.size() + failure_state_columns.size()> columns{};
  std::copy(failure_state_columns.begin(), failure_state_columns.end(),
            std::copy(members.begin(), members.end(), columns.begin()));
  return columns;
}();

value known_count(std::uint64_t number) { return number == 0 ? value{} : count(number); }

/// Adds the details of an out-of-memory failure, which are the columns from `place` on.
void add_state(const metrics::out_of_memory_report& report, std::vector<value>& row) {
  const metrics::out_of_memory& memory = report.metrics;
  std::string changes;
  for (const metrics::oom_change& each : report.changes) changes += (changes.empty() ? "" : "\n") + each.text;
  const std::string_view limit = memory.limit == metrics::memory_limit::device      ? "device"
                                 : memory.limit == metrics::memory_limit::framework ? "framework"
                                                                                    : "";
  for (value each :
       {words(metrics::to_text(report.where)), count(memory.needed), words(limit), known_count(memory.limit_from),
        memory.device_free_known ? count(memory.device_free) : value{}, count(memory.used), count(memory.reserved),
        count(memory.largest_hole), count(memory.missing), words(changes)})
    row.push_back(std::move(each));
}

/// Makes at most `report::failure_limit` rows.
made_rows make_failures(sql_context& context, std::optional<time_range> range) {
  const auto whole_report = build_report(context, range);
  if (!whole_report) return tl::unexpected(whole_report.error());
  const auto rows = std::make_shared<held_rows>();
  for (const metrics::failed_allocation& each : whole_report->failures) {
    std::vector<value> row = list_cells(each, context.trace->tables());
    if (!whole_report->out_of_memory.empty() && whole_report->out_of_memory.front().metrics.event == each.event)
      add_state(whole_report->out_of_memory.front(), row);
    row.resize(failure_columns.size());
    rows->add(std::move(row));
  }
  return rows;
}

constexpr std::array idle_columns = {
    metric_column{"device", "The idle device", type::id, id_kind::device},
    metric_column{"cause", "Why the host did not submit work", type::text},
    metric_column{"call", "The call that took the time; null: the program's own code", type::text},
    metric_column{"range", "The innermost named range that covers half of the longest time", type::text},
    metric_column{"place", "The line of the program's own code nearest to the call", type::text, id_kind::none,
                  text_role::message},
    metric_column{"count", "Number of gaps with such a part", type::size},
    metric_column{"total", "Total time, ns", type::integer},
    metric_column{"longest", "The longest such time in one gap, ns", type::integer},
    metric_column{"longest_begin", "Start of the longest gap", type::time},
};

/// Makes at most `idle_gaps_builder::limit` rows per recording.
made_rows make_idle(sql_context& context, std::optional<time_range> range) {
  const auto whole_report = build_report(context, range);
  if (!whole_report) return tl::unexpected(whole_report.error());
  const trace::tables& tables = context.trace->tables();
  symbols::attributor who(*context.frames, tables, symbols::frame_cache::lookup::at_once);
  const auto get_place = [&](trace::stack_id stack) {
    if (stack == trace::stack_id::none) return std::string();
    const symbols::line_id line = who.of(stack, symbols::attribution::line);
    return line == who.unknown(symbols::attribution::line) ? std::string()
                                                           : symbols::to_text(context.frames->line(line));
  };
  const auto rows = std::make_shared<held_rows>();
  for (const metrics::gap_group& each : whole_report->waste.gaps)
    rows->add({id_value(raw(each.device)), words(metrics::get_words(each.cause)), words(tables.text(each.call)),
               words(tables.text(each.range)), words(get_place(each.stack)), count(each.count), each.total,
               each.longest, time_value(each.longest_gap.begin)});
  return rows;
}

constexpr std::array idle_cause_columns = {
    metric_column{"device", "The idle device", type::id, id_kind::device},
    metric_column{"cause", "Why it had no work. The totals of a device add up to its idle time", type::text},
    metric_column{"count", "Number of gaps with such a part", type::size},
    metric_column{"total", "Total time, ns", type::integer},
    metric_column{"longest", "The longest such time in one gap, ns", type::integer},
};

made_rows make_idle_causes(sql_context& context, std::optional<time_range> range) {
  const auto whole_report = build_report(context, range);
  if (!whole_report) return tl::unexpected(whole_report.error());
  const auto rows = std::make_shared<held_rows>();
  for (const metrics::device_idle& device : whole_report->waste.idle_times)
    for (const metrics::cause_time& each : device.causes)
      rows->add({id_value(raw(device.device)), words(metrics::get_words(each.cause)), count(each.count), each.total,
                 each.longest});
  return rows;
}

constexpr std::array idle_host_columns = {
    metric_column{"device", "The idle device", type::id, id_kind::device},
    metric_column{"reason", "What the host did, such as cudnn_plan or data_wait", type::text},
    metric_column{"library", "The library that the time went to; null: none", type::text},
    metric_column{"line", "The line of the program; null: unknown", type::text, id_kind::none, text_role::message},
    metric_column{"named", "0: a place is known at most, but no reason", type::flag},
    metric_column{"count", "Number of gaps with such a part", type::size},
    metric_column{"total", "Total time, ns", type::integer},
    metric_column{"longest", "The longest such time in one gap, ns", type::integer},
    metric_column{"longest_begin", "Start of the longest gap", type::time},
    metric_column{"recurs", "0: nearly all of it lies at the start", type::flag},
    metric_column{"remedy", "What to change; null: nothing is known", type::text, id_kind::none, text_role::message},
    metric_column{"code", "What to write or to run", type::text, id_kind::none, text_role::message},
};

made_rows make_idle_host(sql_context& context, std::optional<time_range> range) {
  const auto whole_report = build_report(context, range);
  if (!whole_report) return tl::unexpected(whole_report.error());
  const trace::tables& tables = context.trace->tables();
  const auto rows = std::make_shared<held_rows>();
  for (const metrics::device_idle& device : whole_report->waste.idle_times)
    for (const metrics::host_cause_group& each : device.host) {
      const auto remedy = metrics::find_host_remedy(each.cause.reason, device.traits, each.recurs);
      rows->add({id_value(raw(device.device)), words(metrics::get_name(each.cause.reason)), words(each.cause.library),
                 words(metrics::describe_line(each.cause, tables)),
                 std::int64_t{metrics::is_catch_all(each.cause.reason) ? 0 : 1}, count(each.gaps), each.total,
                 each.longest, time_value(each.longest_gap.begin), std::int64_t{each.recurs ? 1 : 0},
                 words(remedy ? remedy->text : ""), words(remedy ? remedy->code : "")});
    }
  return rows;
}

constexpr std::array device_idle_columns = {
    metric_column{"device", "The device", type::id, id_kind::device},
    metric_column{"begin", "Start of the first work", type::time},
    metric_column{"end", "End of the last work", type::time},
    metric_column{"busy", "ns with any work on a stream", type::integer},
    metric_column{"idle", "ns without, between the first and the last work", type::integer},
    metric_column{"collectives_alone", "ns of busy in which only collectives ran: communication that no work hides",
                  type::integer},
    metric_column{"launches", "Launches for which the device waited", type::size},
    metric_column{"launch_period", "ns of host time for each of these launches", type::integer},
    metric_column{"launch_work", "ns of device work for each of these launches", type::integer},
    metric_column{"launch_idle", "ns for which the device waited for these launches", type::integer},
    metric_column{"launch_saved", "ns that CUDA graphs or torch.compile would save at most", type::integer},
};

made_rows make_device_idle(sql_context& context, std::optional<time_range> range) {
  const auto whole_report = build_report(context, range);
  if (!whole_report) return tl::unexpected(whole_report.error());
  const auto rows = std::make_shared<held_rows>();
  for (const metrics::device_idle& each : whole_report->waste.idle_times)
    rows->add({id_value(raw(each.device)), time_value(each.span.begin), time_value(each.span.end), each.busy,
               each.idle(), each.collectives_alone, count(each.launches.launches), each.launches.period(),
               each.launches.work_per_launch(), each.launches.idle, each.launches.saved});
  return rows;
}

constexpr std::array asked_columns = {
    metric_column{"device", "Null: host memory", type::id, id_kind::device},
    metric_column{"layer", "driver, pool, framework or user. Layers contain one another, so do not add them",
                  type::text},
    metric_column{"kind", "The kind of memory", type::text},
    metric_column{"grouped_by", "line, caller, module or package: what splits the main peak most evenly", type::text},
    metric_column{"name", "The line, module or package that requested it; null: all others, or no stack was recorded",
                  type::text, id_kind::none, text_role::message},
    metric_column{"bytes", "Held at the peak", type::size},
    metric_column{"blocks", "Number of blocks", type::size},
};

made_rows make_asked_by(sql_context& context, std::optional<time_range> range) {
  const auto whole_report = build_report(context, range);
  if (!whole_report) return tl::unexpected(whole_report.error());
  const auto rows = std::make_shared<held_rows>();
  for (const metrics::memory_peak& peak : whole_report->peaks) {
    const auto add = [&](std::string_view name, const metrics::stack_metrics& stack_metrics) {
      if (stack_metrics.count > 0)
        rows->add({id_value(raw(peak.device)), words(trace::get_name(peak.layer)), words(trace::get_name(peak.kind)),
                   words(symbols::get_name(peak.asked_by.by)), words(name), count(stack_metrics.bytes),
                   count(stack_metrics.count)});
    };
    for (const metrics::line_use& use : peak.asked_by.groups.lines) add(symbols::to_text(use.line), use.metrics);
    metrics::stack_metrics rest = peak.asked_by.groups.other;
    rest.add(peak.asked_by.groups.without);
    add("", rest);
  }
  return rows;
}

made_rows make_findings(sql_context& context, std::optional<time_range> range) {
  const auto whole_report = build_report(context, range);
  if (!whole_report) return tl::unexpected(whole_report.error());
  const auto rows = std::make_shared<held_rows>();
  for (const metrics::finding& each : whole_report->findings)
    rows->add({words(trace::get_word(each.severity)), words(metrics::get_word(each.kind)), words(each.text),
               words(each.advice), time_value(each.range.begin), time_value(each.range.end), id_value(raw(each.event)),
               id_value(raw(each.block)), count(each.saves.peak_bytes + each.saves.reserved_bytes),
               value{each.saves.time}, words(metrics::to_text(each.where)), count(each.saves.bytes_error),
               value{each.saves.share}, value{std::int64_t{each.major ? 1 : 0}}, words(metrics::get_title(each)),
               words(each.fix_code)});
  return rows;
}

made_rows make_verdict(sql_context& context, std::optional<time_range> range) {
  const auto whole_report = build_report(context, range);
  if (!whole_report) return tl::unexpected(whole_report.error());
  const metrics::run_verdict& said = whole_report->verdict;
  const auto known = [](std::int64_t number, bool is_known) { return is_known ? value{number} : value{}; };
  time_ns busy = 0;
  for (const metrics::device_time& each : said.devices) busy += each.busy;
  const auto devices = static_cast<time_ns>(std::max<std::size_t>(said.devices.size(), 1));
  const auto rows = std::make_shared<held_rows>();
  rows->add({words(said.text), words(said.headline), words(metrics::get_word(said.bound)),
             value{std::int64_t{said.no_problem ? 1 : 0}}, value{said.time},
             known(busy / devices, !said.devices.empty()), known(said.step, said.step > 0),
             said.peak > 0 ? count(said.peak) : value{}, said.device_bytes > 0 ? count(said.device_bytes) : value{},
             known(said.slow_rank, said.slow_rank >= 0)});
  return rows;
}

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> metric_rows::find(std::size_t /*column*/,
                                                                     const cell& /*value*/) const {
  return std::nullopt;
}

cell held_rows::at(std::size_t row, std::size_t column, std::string& /*scratch*/) const {
  const value& held = rows_[row][column];
  if (const auto* integer = std::get_if<std::int64_t>(&held)) return {cell::kind::integer, *integer, 0, {}};
  if (const auto* real = std::get_if<double>(&held)) return {cell::kind::real, 0, *real, {}};
  if (const auto* text = std::get_if<std::string>(&held)) return {cell::kind::text, 0, 0, *text};
  return {};
}

result<void> metric_table::for_each(sql_context& context, std::optional<time_range> range,
                                    const std::function<result<void>(const metric_rows&)>& visit) const {
  const auto sections = context.sections();
  if (!sections) return tl::unexpected(sections.error());
  const std::size_t runs = make_run != nullptr ? (*sections)->runs() : 1;
  for (std::size_t run = 0; run < runs; ++run) {
    const auto rows = make_run != nullptr ? make_run(context, run, all_columns) : make(context, range);
    if (!rows) return tl::unexpected(rows.error());
    if (auto visited = visit(**rows); !visited) return visited;
  }
  return {};
}

std::span<const metric_table> metric_tables() {
  static const std::array items = {
      metric_table{"block", "Blocks of memory, each from its allocation to its free", block_columns, false, nullptr,
                   make_blocks, look_up_block},
      metric_table{"call_stack", "Call stacks as text; native functions are looked up on demand", call_stack_columns,
                   false, make_call_stacks},
      metric_table{"readable_name", "Demangled names of kernels and functions, if they differ from the recorded ones",
                   readable_name_columns, false, make_readable_names},
      metric_table{"memory_use", "Memory by device, layer and kind: peak, mean, allocations",
                   get_columns<metrics::memory_statistics>, true, make_use<&metrics::range_statistics::memory>},
      metric_table{"transfer_use", "Copies and migrations by device and direction: bytes, bandwidth",
                   get_columns<metrics::transfer_statistics>, true, make_use<&metrics::range_statistics::transfers>},
      metric_table{"device_use", "How busy each device was", get_columns<metrics::device_activity>, true,
                   make_use<&metrics::range_statistics::devices>},
      metric_table{"pool_use", "Reserved and used bytes of each pool", get_columns<metrics::pool_statistics>, true,
                   make_use<&metrics::range_statistics::pools>},
      metric_table{"thread_use", "Time of host threads in API calls and file operations, busiest first",
                   get_columns<metrics::thread_statistics>, true, make_use<&metrics::range_statistics::threads>},
      metric_table{"allocation_retry",
                   "Failed allocations that succeeded when repeated, after memory was freed; the first 64",
                   get_columns<metrics::allocation_retry>, true, make_retries},
      metric_table{
          "failed_allocation",
          "Failed allocations that reached the program, without those in allocation_retry; the first 64. For the "
          "first out-of-memory failure: the memory state, and changes with which it would have fit",
          failure_columns, true, make_failures},
      metric_table{"rank_use", "Resources of each rank of a job, if there are several",
                   get_columns<metrics::rank_metrics>, true, make_ranks},
      metric_table{"step", "Training steps, marked by the program or inferred", step_columns, false, make_steps},
      metric_table{"asked_by",
                   "Memory at each peak by requester, grouped by the attribution that splits the main peak most "
                   "evenly; other groupings: join block with call_stack",
                   asked_columns, true, make_asked_by},
      metric_table{"idle_use", "Idle time of devices by cause, call and line; the 64 longest. All of it: idle_cause",
                   idle_columns, true, make_idle},
      metric_table{"idle_cause", "Idle time of each device by cause; nothing is left out", idle_cause_columns, true,
                   make_idle_causes},
      metric_table{"idle_host",
                   "What the host did in the idle time that idle_cause names host code, from samples of its threads",
                   idle_host_columns, true, make_idle_host},
      metric_table{"device_idle", "Busy and idle time of each device with kernels, and its launch-bound work",
                   device_idle_columns, true, make_device_idle},
      metric_table{"verdict", "The first line of the report, and its numbers; one row", verdict_columns, true,
                   make_verdict},
      metric_table{"finding", "Findings of the report, most important first", finding_columns, true, make_findings},
  };
  return items;
}

const metric_table* find_metric_table(std::string_view name) {
  for (const metric_table& each : metric_tables())
    if (each.name == name) return &each;
  return nullptr;
}

}  // namespace sluice::query
