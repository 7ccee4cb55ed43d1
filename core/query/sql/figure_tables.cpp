#include "core/query/sql/figure_tables.hpp"

#include <array>

#include "core/base/format.hpp"
#include "core/figures/range_statistics.hpp"
#include "core/figures/report.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

using type = column_type;
using value = held_rows::value;

value id_value(std::uint64_t id) { return id == 0 ? value{} : value{static_cast<std::int64_t>(id)}; }
value count(std::uint64_t number) { return static_cast<std::int64_t>(number); }
value words(std::string_view text) { return text.empty() ? value{} : value{std::string(text)}; }
value rate(double per_second) { return per_second > 0 ? value{per_second} : value{}; }
value time_value(time_ns time) { return time == trace::unknown_time ? value{} : value{time}; }

std::string_view direction_word(trace::direction way) {
  static constexpr std::array<std::string_view, trace::direction_count> all = {"unknown", "h2d", "d2h",
                                                                               "d2d",     "p2p", "h2h"};
  return all[static_cast<std::size_t>(way)];
}

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

constexpr std::array memory_columns = {
    figure_column{"device", "Null: host memory", type::id, id_kind::device},
    figure_column{"layer", "driver, pool, framework or user. Layers hold one another: never add two", type::text},
    figure_column{"kind", "The kind of memory", type::text},
    figure_column{"at_begin", "Bytes in use just before the range begins: at_end + freed_bytes - allocated_bytes",
                  type::size},
    figure_column{"at_end", "Bytes in use just before its end", type::size},
    figure_column{"minimum", "Bytes", type::size},
    figure_column{"maximum", "The peak, in bytes", type::size},
    figure_column{"maximum_time", "When it was first reached", type::time},
    figure_column{"mean", "Bytes, over time", type::real},
    figure_column{"allocations", "Blocks born in the range; those from before the recording do not count", type::size},
    figure_column{"allocated_bytes", "Theirs", type::size},
    figure_column{"frees", "Blocks that died in the range", type::size},
    figure_column{"freed_bytes", "Theirs", type::size},
};

made_rows make_memory_use(sql_context& context, std::optional<analysis::time_range> range) {
  return measured(context, range, [](held_rows& to, const analysis::range_statistics& all) {
    for (const auto& m : all.memory)
      to.add({id_value(raw(m.device)), words(name_of(m.layer)), words(name_of(m.kind)), count(m.at_begin),
              count(m.at_end), count(m.minimum), count(m.maximum), time_value(m.maximum_time), m.mean,
              count(m.allocations), count(m.allocated_bytes), count(m.frees), count(m.freed_bytes)});
  });
}

constexpr std::array transfer_columns = {
    figure_column{"device", "The device", type::id, id_kind::device},
    figure_column{"direction", "h2d, d2h, d2d, p2p or h2h", type::text},
    figure_column{"count", "Copies and migrations", type::size},
    figure_column{"migrations", "Of those", type::size},
    figure_column{"bytes", "Those inside the range", type::real},
    figure_column{"busy", "ns in which at least one ran", type::integer},
    figure_column{"total", "Sum of their lengths, ns", type::integer},
    figure_column{"mean_bandwidth", "bytes / busy, in bytes/s", type::real},
    figure_column{"maximum_bandwidth", "Of the curve over time, in bytes/s: those that overlap add up", type::real},
    figure_column{"fastest_bandwidth", "Of one transfer, in bytes/s", type::real},
    figure_column{"fastest", "That transfer", type::id, id_kind::event},
    figure_column{"link_peak", "Theoretical bytes/s; null: not known", type::real},
    figure_column{"attainable", "Measured bytes/s; null: never measured", type::real},
};

made_rows make_transfer_use(sql_context& context, std::optional<analysis::time_range> range) {
  return measured(context, range, [](held_rows& to, const analysis::range_statistics& all) {
    for (const auto& t : all.transfers)
      to.add({id_value(raw(t.device)), words(direction_word(t.direction)), count(t.count), count(t.migrations), t.bytes,
              t.busy, t.total, rate(t.mean_bandwidth), rate(t.maximum_bandwidth), rate(t.fastest_bandwidth),
              id_value(raw(t.fastest)), rate(t.link_peak), rate(t.attainable)});
  });
}

constexpr std::array device_columns = {
    figure_column{"device", "The device", type::id, id_kind::device},
    figure_column{"busy", "ns in which anything ran: kernel, copy, memset", type::integer},
    figure_column{"kernels", "How many", type::size},
    figure_column{"kernel_busy", "ns in which at least one ran", type::integer},
    figure_column{"kernel_total", "Sum of their lengths, ns", type::integer},
    figure_column{"copy_busy", "ns in which copies or migrations ran", type::integer},
    figure_column{"copy_only", "ns in which a copy ran and no kernel: the device waited for data", type::integer},
    figure_column{"overlap", "ns in which a copy and a kernel ran together", type::integer},
    figure_column{"memsets", "How many", type::size},
    figure_column{"memset_busy", "ns in which memsets ran", type::integer},
    figure_column{"first", "Begin of the first work", type::time},
    figure_column{"last", "End of the last", type::time},
};

made_rows make_device_use(sql_context& context, std::optional<analysis::time_range> range) {
  return measured(context, range, [](held_rows& to, const analysis::range_statistics& all) {
    for (const auto& d : all.devices)
      to.add({id_value(raw(d.device)), d.busy, count(d.kernels), d.kernel_busy, d.kernel_total, d.copy_busy,
              d.copy_only, d.overlap, count(d.memsets), d.memset_busy, time_value(d.first), time_value(d.last)});
  });
}

constexpr std::array pool_columns = {
    figure_column{"pool", "The pool", type::id, id_kind::pool},
    figure_column{"states", "Its events in the range", type::size},
    figure_column{"reserved_maximum", "Most bytes it held", type::size},
    figure_column{"reserved_maximum_time", "When first", type::time},
    figure_column{"reserved_at_end", "Bytes it held at the end", type::size},
    figure_column{"used_maximum", "Most bytes it had given out", type::size},
    figure_column{"used_maximum_time", "When first", type::time},
    figure_column{"used_at_end", "Bytes it had given out at the end", type::size},
    figure_column{"used_share", "Mean used over mean reserved, 0..1", type::real},
};

made_rows make_pool_use(sql_context& context, std::optional<analysis::time_range> range) {
  return measured(context, range, [](held_rows& to, const analysis::range_statistics& all) {
    for (const auto& p : all.pools)
      to.add({id_value(raw(p.pool)), count(p.states), count(p.reserved_maximum), time_value(p.reserved_maximum_time),
              count(p.reserved_at_end), count(p.used_maximum), time_value(p.used_maximum_time), count(p.used_at_end),
              p.used_share});
  });
}

constexpr std::array thread_columns = {
    figure_column{"thread", "The thread", type::id, id_kind::thread},
    figure_column{"process", "Its process", type::id, id_kind::process},
    figure_column{"calls", "API calls", type::size},
    figure_column{"call_busy", "ns inside one", type::integer},
    figure_column{"wait_busy", "ns of waiting for a device", type::integer},
    figure_column{"file_operations", "Those that moved bytes or took time", type::size},
    figure_column{"file_bytes", "Theirs", type::real},
    figure_column{"file_busy", "ns inside one", type::integer},
};

made_rows make_thread_use(sql_context& context, std::optional<analysis::time_range> range) {
  return measured(context, range, [](held_rows& to, const analysis::range_statistics& all) {
    for (const auto& t : all.threads)
      to.add({id_value(raw(t.thread)), id_value(raw(t.process)), count(t.calls), t.call_busy, t.wait_busy,
              count(t.file_operations), t.file_bytes, t.file_busy});
  });
}

constexpr std::array step_columns = {
    figure_column{"process", "Whose step", type::id, id_kind::process},
    figure_column{"number", "As the program says, else counted from 0", type::integer},
    figure_column{"begin", "When it began", type::time},
    figure_column{"end", "When it ended", type::time},
    figure_column{"event", "The mark or range; null: inferred", type::id, id_kind::event},
    figure_column{"inferred", "1: a guess by the pattern of allocations", type::flag},
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
                 id_value(raw(r.device)), words(name_of(r.layer)), words(name_of(r.kind)), words(tables.text(r.call)),
                 count(r.bytes)});
  };
  if (const analysis::stored_figures* whole = range ? nullptr : context.whole()) {
    add(whole->figures.retries);
    return rows;
  }
  const analysis::index* index = context.analysed();
  if (index == nullptr) return tl::unexpected(context.stop_reason());
  analysis::retry_gatherer all(tables, analysis::bounded(range.value_or(analysis::time_range_of(*context.trace))));
  all.add(index->memory());
  add(all.retries());
  return rows;
}

constexpr std::array finding_columns = {
    figure_column{"severity", "info, warning or error", type::text},
    figure_column{"text", "What was found", type::text, id_kind::none, text_role::message},
    figure_column{"advice", "What to do about it", type::text, id_kind::none, text_role::message},
    figure_column{"begin", "Where to look", type::time},
    figure_column{"end", "Where to look", type::time},
    figure_column{"event", "What to look at", type::id, id_kind::event},
    figure_column{"block", "What to look at", type::id, id_kind::block},
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

constexpr std::array asked_columns = {
    figure_column{"device", "Null: host memory", type::id, id_kind::device},
    figure_column{"layer", "driver, pool, framework or user. Layers hold one another: never add two", type::text},
    figure_column{"kind", "The kind of memory", type::text},
    figure_column{"grouped_by", "line, caller, module or package: what splits the peak most evenly", type::text},
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
        rows->add({id_value(raw(peak.device)), words(name_of(peak.layer)), words(name_of(peak.kind)),
                   words(name_of(peak.asked_by.by)), words(name), count(of.bytes), count(of.count)});
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
  static constexpr std::array<std::string_view, 3> severities = {"info", "warning", "error"};
  const auto rows = std::make_shared<held_rows>();
  for (const analysis::finding& each : all->findings)
    rows->add({words(severities[static_cast<std::size_t>(each.severity)]), words(each.text), words(each.advice),
               time_value(each.range.begin), time_value(each.range.end), id_value(raw(each.event)),
               id_value(raw(each.block))});
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
      figure_table{"memory_use", "Memory by device, layer and kind: peak, mean, allocations", memory_columns, true,
                   make_memory_use},
      figure_table{"transfer_use", "Copies and migrations by device and direction: bytes, bandwidth", transfer_columns,
                   true, make_transfer_use},
      figure_table{"device_use", "How busy each device was", device_columns, true, make_device_use},
      figure_table{"pool_use", "Reserved and used bytes of each pool", pool_columns, true, make_pool_use},
      figure_table{"thread_use", "What host threads spent in API calls and files, busiest first", thread_columns, true,
                   make_thread_use},
      figure_table{"allocation_retry",
                   "Failed allocations that succeeded when repeated, after memory was freed; the first 64",
                   retry_columns, true, make_retries},
      figure_table{"step", "Training steps, as the program says or as inferred", step_columns, false, make_steps},
      figure_table{
          "asked_by",
          "Who asked for the memory held at each peak, grouped by what splits it most evenly; other ways: join "
          "block with call_stack",
          asked_columns, true, make_asked_by},
      figure_table{"finding", "Hints, as the report prints them, most important first", finding_columns, true,
                   make_findings},
  };
  return all;
}

}  // namespace sluice::query
