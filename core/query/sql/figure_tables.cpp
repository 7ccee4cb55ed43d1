#include "core/query/sql/figure_tables.hpp"
#include "core/trace/model/names.hpp"

#include <array>

#include "core/base/format.hpp"
#include "core/figures/code_place.hpp"
#include "core/figures/finding_rules.hpp"
#include "core/figures/members.hpp"
#include "core/figures/report.hpp"
#include "core/index/tensor_facts.hpp"
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

/// The figures of a range, or of all, from the function that the report and the window use.
template <class Add>
made_rows measured(sql_context& context, std::optional<analysis::time_range> range, Add&& add) {
  const auto rows = std::make_shared<held_rows>();
  if (const analysis::stored_figures* whole = range ? nullptr : context.whole()) {
    add(*rows, whole->figures.whole);
    return rows;
  }
  const analysis::index* index = context.analysed();
  if (index == nullptr) return tl::unexpected(context.stop_reason());
  const analysis::time_range of = analysis::bounded(range.value_or(analysis::time_range_of(*context.trace)));
  add(*rows, analysis::measure(*index, context.trace->tables(), of));
  return rows;
}

// --- tables of the members of figures, where their list describes a column (core/figures/members.hpp) ----------------

template <class Value>
constexpr column_type type_of(analysis::meaning is) {
  if constexpr (std::is_enum_v<Value>) return kind_of_id<Value> == id_kind::none ? type::text : type::id;
  if constexpr (std::is_same_v<Value, double>) return type::real;
  if constexpr (std::is_same_v<Value, std::uint64_t>) return type::size;
  return is == analysis::meaning::moment ? type::time : type::integer;
}

template <class Value>
value cell_of(const Value& of, analysis::meaning is) {
  if constexpr (std::is_enum_v<Value> && trace::enum_values < Value >> 0)
    return words(trace::word_of(of));
  else if constexpr (std::is_enum_v<Value>)
    return id_value(raw(of));
  else if constexpr (std::is_same_v<Value, double>)
    return is == analysis::meaning::rate && !(of > 0) ? value{} : value{of};
  else
    return is == analysis::meaning::moment ? time_value(static_cast<time_ns>(of))
                                           : value{static_cast<std::int64_t>(of)};
}

/// A list has no column.
template <class Element>
value cell_of(const std::vector<Element>& /*of*/, analysis::meaning /*is*/) {
  return {};
}

/// Calls `take` with each member that has a column.
template <class Figures, class Take>
constexpr void for_each_column(Take&& take) {
  const auto one = [&](const auto& member) {
    if (!member.about.empty()) take(member);
  };
  std::apply([&](const auto&... each) { (one(each), ...); }, analysis::members_of<Figures>());
}

template <class Figures>
constexpr auto columns_of = [] {
  constexpr std::size_t count = [] {
    std::size_t found = 0;
    for_each_column<Figures>([&](const auto& /*member*/) { ++found; });
    return found;
  }();
  std::array<figure_column, count> all{};
  figure_column* next = all.data();
  for_each_column<Figures>([&]<auto Member>(const analysis::member<Member>& each) {
    using held = std::remove_cvref_t<decltype(std::declval<Figures>().*Member)>;
    *next++ = {spelling::of_pointer<Member>(), each.about, type_of<held>(each.is), kind_of_id<held>};
  });
  return all;
}();

template <class Row>
std::vector<value> cells_of(const Row& of) {
  std::vector<value> row;
  for_each_column<Row>([&](const auto& member) { row.push_back(cell_of(of.*(member.pointer), member.is)); });
  return row;
}

/// The rows are `List`, one of the vectors of range_statistics.
template <auto List>
made_rows make_use(sql_context& context, std::optional<analysis::time_range> range) {
  return measured(context, range, [](held_rows& to, const analysis::range_statistics& all) {
    for (const auto& each : all.*List) {
      to.add(cells_of(each));
    }
  });
}

constexpr std::array step_columns = {
    figure_column{"process", "Whose step", type::id, id_kind::process},
    figure_column{"number", "As the program says, else counted from 0", type::integer},
    figure_column{"begin", "When it began", type::time},
    figure_column{"end", "When it ended", type::time},
    figure_column{"event", "The mark or range; null: inferred", type::id, id_kind::event},
    figure_column{"inferred", "1: a guess by what repeats", type::flag},
};

made_rows make_steps(sql_context& context, std::optional<analysis::time_range> /*range*/) {
  const auto rows = std::make_shared<held_rows>();
  const auto add = [&](trace::process_id process, const analysis::step_list& list) {
    for (const analysis::step& each : list.steps)
      rows->add({id_value(raw(process)), each.number, each.span.begin, each.span.end, id_value(raw(each.event)),
                 std::int64_t{list.inferred() ? 1 : 0}});
  };
  if (context.whole() != nullptr) {
    for (const auto& [process, list] : context.steps->lists()) add(process, list);
    return rows;
  }
  const analysis::index* index = context.analysed();
  if (index == nullptr) return tl::unexpected(context.stop_reason());
  for (const auto& [process, list] : index->tensors(*context.trace)->steps->lists()) add(process, list);
  return rows;
}

constexpr std::array retry_columns = {
    figure_column{"event", "The call that failed", type::id, id_kind::event},
    figure_column{"block", "What the later call got", type::id, id_kind::block},
    figure_column{"time", "When the failed call returned", type::time},
    figure_column{"until", "When the successful one returned", type::time},
    figure_column{"process", "The process", type::id, id_kind::process},
    figure_column{"device", "The device; null: host memory", type::id, id_kind::device},
    figure_column{"layer", "driver or pool", type::text},
    figure_column{"kind", "The kind of memory", type::text},
    figure_column{"call", "The API function", type::text},
    figure_column{"bytes", "What was asked for", type::size},
};

/// At most `allocation_retries::limit` rows.
made_rows make_retries(sql_context& context, std::optional<analysis::time_range> range) {
  const auto rows = std::make_shared<held_rows>();
  const trace::tables& tables = context.trace->tables();
  const auto add = [&](const analysis::allocation_retries& all) {
    for (const analysis::allocation_retry& r : all.first)
      rows->add({id_value(raw(r.event)), id_value(raw(r.block)), r.time, r.until, id_value(raw(r.process)),
                 id_value(raw(r.device)), words(sluice::name_of(r.layer)), words(sluice::name_of(r.kind)),
                 words(tables.text(r.call)), count(r.bytes)});
  };
  if (const analysis::stored_figures* whole = range ? nullptr : context.whole()) {
    add(whole->figures.retries);
    return rows;
  }
  const analysis::index* index = context.analysed();
  if (index == nullptr) return tl::unexpected(context.stop_reason());
  const analysis::figures_scope scope{context.trace.get(),
                                      analysis::bounded(range.value_or(analysis::time_range_of(*context.trace)))};
  analysis::retries_builder all(scope);
  all.add(index->memory());
  add(all.retries());
  return rows;
}

constexpr std::array finding_columns = {
    figure_column{"severity", "info, warning or error", type::text},
    figure_column{"kind", "A word for what was found; `sluice report --explain KIND` says more", type::text},
    figure_column{"text", "What was found", type::text, id_kind::none, text_role::message},
    figure_column{"advice", "What to do about it", type::text, id_kind::none, text_role::message},
    figure_column{"begin", "Where to look", type::time},
    figure_column{"end", "Where to look", type::time},
    figure_column{"event", "What to look at", type::id, id_kind::event},
    figure_column{"block", "What to look at", type::id, id_kind::block},
    figure_column{"saved_bytes", "Most bytes that the advice saves, of the peak or of reserved memory", type::size},
    figure_column{"saved_time", "Most time that it saves, ns", type::size},
    figure_column{"place", "The line of the program, if stacks were recorded", type::text},
    figure_column{"saved_bytes_error", "How many bytes saved_bytes may be off, either way; 0: it is the most",
                  type::size},
};

/// The report as the report command makes it.
std::optional<analysis::report> report_of(sql_context& context, std::optional<analysis::time_range> range) {
  const analysis::naming names{.book = *context.frames};
  if (const analysis::stored_figures* whole = range ? nullptr : context.whole())
    return analysis::make_report(whole->figures, *context.trace, names);
  const analysis::index* index = context.analysed();
  if (index == nullptr) return std::nullopt;
  return analysis::make_report(*index, *context.trace, range, names);
}

made_rows make_ranks(sql_context& context, std::optional<analysis::time_range> range) {
  const std::optional<analysis::report> all = report_of(context, range);
  if (!all) return tl::unexpected(context.stop_reason());
  const auto rows = std::make_shared<held_rows>();
  for (const analysis::rank_figures& each : all->waste.ranks) rows->add(cells_of(each));
  return rows;
}

constexpr std::array failure_columns = {
    figure_column{"event", "The failed call", type::id, id_kind::event},
    figure_column{"time", "When it returned", type::time},
    figure_column{"process", "Whose", type::id, id_kind::process},
    figure_column{"device", "Null: host memory", type::id, id_kind::device},
    figure_column{"layer", "driver, pool, framework or user", type::text},
    figure_column{"kind", "The kind of memory", type::text},
    figure_column{"call", "The API function", type::text},
    figure_column{"bytes", "What was asked for", type::size},
    figure_column{"error", "The API's code", type::integer},
    figure_column{"place", "The line that asked. From here on: only of the first for want of memory, else null",
                  type::text},
    figure_column{"needed", "What the allocator then had to get from the driver: at least a segment", type::size},
    figure_column{"refused_by", "What refused it: device or framework", type::text},
    figure_column{"limit_least", "How much the process may reserve, at least", type::size},
    figure_column{"device_free", "Free on the device", type::size},
    figure_column{"used", "In live blocks", type::size},
    figure_column{"reserved", "In segments for these blocks", type::size},
    figure_column{"largest_hole", "The largest free piece in the segments", type::size},
    figure_column{"missing", "With so many more it would have fit", type::size},
    figure_column{"changes", "What would have let it fit, each checked, one a line", type::text, id_kind::none,
                  text_role::message},
};

value known_count(std::uint64_t number) { return number == 0 ? value{} : count(number); }

/// What is known of a failure for want of memory; appends the columns from `place` on.
void add_state(const analysis::out_of_memory_report& of, std::vector<value>& row) {
  const analysis::out_of_memory& is = of.figures;
  std::string changes;
  for (const analysis::oom_change& each : of.changes) changes += (changes.empty() ? "" : "\n") + each.text;
  const std::string_view limit = is.limit == analysis::memory_limit::device      ? "device"
                                 : is.limit == analysis::memory_limit::framework ? "framework"
                                                                                 : "";
  for (value each : {words(analysis::text_of(of.where)), count(is.needed), words(limit), known_count(is.limit_from),
                     is.device_free_known ? count(is.device_free) : value{}, count(is.used), count(is.reserved),
                     count(is.largest_hole), count(is.missing), words(changes)})
    row.push_back(std::move(each));
}

/// At most `report::failure_limit` rows.
made_rows make_failures(sql_context& context, std::optional<analysis::time_range> range) {
  const std::optional<analysis::report> all = report_of(context, range);
  if (!all) return tl::unexpected(context.stop_reason());
  const trace::tables& tables = context.trace->tables();
  const auto rows = std::make_shared<held_rows>();
  for (const analysis::failed_allocation& each : all->failures) {
    std::vector<value> row{id_value(raw(each.event)),
                           each.time,
                           id_value(raw(each.process)),
                           id_value(raw(each.device)),
                           words(sluice::name_of(each.layer)),
                           words(sluice::name_of(each.kind)),
                           words(tables.text(each.call)),
                           count(each.bytes),
                           each.error};
    if (!all->out_of_memory.empty() && all->out_of_memory.front().figures.event == each.event)
      add_state(all->out_of_memory.front(), row);
    row.resize(failure_columns.size());
    rows->add(std::move(row));
  }
  return rows;
}

constexpr std::array idle_columns = {
    figure_column{"device", "The device that had nothing to do", type::id, id_kind::device},
    figure_column{"cause", "What kept the host from giving it work", type::text},
    figure_column{"call", "The call that took the time; null: the program's own code", type::text},
    figure_column{"range", "The innermost named range that covers half of the longest time", type::text},
    figure_column{"place", "The line of the program's own code nearest to it", type::text, id_kind::none,
                  text_role::message},
    figure_column{"count", "How often", type::size},
    figure_column{"total", "How long in all, ns", type::integer},
    figure_column{"longest", "The longest time, ns", type::integer},
    figure_column{"longest_begin", "When that began", type::time},
};

/// At most `idle_gaps_builder::limit` rows a recording.
made_rows make_idle(sql_context& context, std::optional<analysis::time_range> range) {
  const std::optional<analysis::report> all = report_of(context, range);
  if (!all) return tl::unexpected(context.stop_reason());
  const trace::tables& tables = context.trace->tables();
  symbols::attributor who(*context.frames, tables, symbols::frame_book::lookup::at_once);
  const auto place_of = [&](trace::stack_id stack) {
    if (stack == trace::stack_id::none) return std::string();
    const symbols::line_id line = who.of(stack, symbols::attribution::line);
    return line == who.unknown(symbols::attribution::line) ? std::string()
                                                           : symbols::text_of(context.frames->line(line));
  };
  const auto rows = std::make_shared<held_rows>();
  for (const analysis::gap_group& each : all->waste.gaps)
    rows->add({id_value(raw(each.device)), words(analysis::words_of(each.cause)), words(tables.text(each.call)),
               words(tables.text(each.range)), words(place_of(each.stack)), count(each.count), each.total, each.longest,
               time_value(each.longest_gap.begin)});
  return rows;
}

constexpr std::array asked_columns = {
    figure_column{"device", "Null: host memory", type::id, id_kind::device},
    figure_column{"layer", "driver, pool, framework or user. Layers hold one another: never add two", type::text},
    figure_column{"kind", "The kind of memory", type::text},
    figure_column{"grouped_by", "line, caller, module or package: what splits the main peak most evenly", type::text},
    figure_column{"name", "Who asked; null: all others, or no stack was recorded", type::text, id_kind::none,
                  text_role::message},
    figure_column{"bytes", "Held at the peak", type::size},
    figure_column{"blocks", "How many", type::size},
};

made_rows make_asked_by(sql_context& context, std::optional<analysis::time_range> range) {
  const std::optional<analysis::report> all = report_of(context, range);
  if (!all) return tl::unexpected(context.stop_reason());
  const auto rows = std::make_shared<held_rows>();
  for (const analysis::memory_peak& peak : all->peaks) {
    const auto add = [&](std::string_view name, const analysis::stack_figures& of) {
      if (of.count > 0)
        rows->add({id_value(raw(peak.device)), words(sluice::name_of(peak.layer)), words(sluice::name_of(peak.kind)),
                   words(symbols::name_of(peak.asked_by.by)), words(name), count(of.bytes), count(of.count)});
    };
    for (const analysis::line_use& use : peak.asked_by.groups.lines) add(symbols::text_of(use.line), use.figures);
    analysis::stack_figures rest = peak.asked_by.groups.other;
    rest.add(peak.asked_by.groups.without);
    add("", rest);
  }
  return rows;
}

made_rows make_findings(sql_context& context, std::optional<analysis::time_range> range) {
  const std::optional<analysis::report> all = report_of(context, range);
  if (!all) return tl::unexpected(context.stop_reason());
  const auto rows = std::make_shared<held_rows>();
  for (const analysis::finding& each : all->findings)
    rows->add({words(trace::word_of(each.severity)), words(analysis::word_of(each.kind)), words(each.text),
               words(each.advice), time_value(each.range.begin), time_value(each.range.end), id_value(raw(each.event)),
               id_value(raw(each.block)), count(each.saves.peak_bytes + each.saves.reserved_bytes),
               value{each.saves.time}, words(analysis::text_of(each.where)), count(each.saves.bytes_error)});
  return rows;
}

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> figure_rows::find(std::size_t /*column*/,
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

std::span<const figure_table> figure_tables() {
  static const std::array all = {
      figure_table{"block", "Blocks of memory, each from its birth to its death", block_columns, false, make_blocks},
      figure_table{"call_stack", "Call stacks as text; native functions are looked up as they are asked for",
                   call_stack_columns, false, make_call_stacks},
      figure_table{"readable_name",
                   "Demangled names of kernels and functions, where they differ from the recorded ones",
                   readable_name_columns, false, make_readable_names},
      figure_table{"memory_use", "Memory by device, layer and kind: peak, mean, allocations",
                   columns_of<analysis::memory_statistics>, true, make_use<&analysis::range_statistics::memory>},
      figure_table{"transfer_use", "Copies and migrations by device and direction: bytes, bandwidth",
                   columns_of<analysis::transfer_statistics>, true, make_use<&analysis::range_statistics::transfers>},
      figure_table{"device_use", "How busy each device was", columns_of<analysis::device_activity>, true,
                   make_use<&analysis::range_statistics::devices>},
      figure_table{"pool_use", "Reserved and used bytes of each pool", columns_of<analysis::pool_statistics>, true,
                   make_use<&analysis::range_statistics::pools>},
      figure_table{"thread_use", "What host threads spent in API calls and files, busiest first",
                   columns_of<analysis::thread_statistics>, true, make_use<&analysis::range_statistics::threads>},
      figure_table{"allocation_retry",
                   "Failed allocations that succeeded when repeated, after memory was freed; the first 64",
                   retry_columns, true, make_retries},
      figure_table{
          "failed_allocation",
          "Failed allocations that reached the program, without those in allocation_retry; the first 64. Of the "
          "first for want of memory: what there was, and what would have let it fit",
          failure_columns, true, make_failures},
      figure_table{"rank_use", "What each rank of a job needs, if there are several",
                   columns_of<analysis::rank_figures>, true, make_ranks},
      figure_table{"step", "Training steps, as the program says or as inferred", step_columns, false, make_steps},
      figure_table{"asked_by",
                   "Who asked for the memory held at each peak, grouped by what splits the main one most evenly; other "
                   "ways: join "
                   "block with call_stack",
                   asked_columns, true, make_asked_by},
      figure_table{"idle_use",
                   "Times in which a device had nothing to do, by cause, call and line; the 64 that took longest",
                   idle_columns, true, make_idle},
      figure_table{"finding", "Hints, as the report prints them, most important first", finding_columns, true,
                   make_findings},
  };
  return all;
}

}  // namespace sluice::query
