#include "core/metrics/make_report.hpp"

#include <algorithm>
#include <map>

#include "core/index/event_store.hpp"
#include "core/metrics/findings/findings.hpp"
#include "core/metrics/line_use.hpp"
#include "core/metrics/out_of_memory_words.hpp"
#include "core/metrics/verdict/verdict.hpp"

namespace sluice::metrics {
namespace {

std::vector<process_metric> list_processes(const std::vector<process_watermark>& watermarks,
                                           const trace::tables& tables) {
  std::map<trace::process_id, time_ns> complete_until;
  for (const process_watermark& mark : watermarks) complete_until[mark.process] = mark.complete_until;
  std::vector<process_metric> items;
  for (const trace::process_row& row : tables.processes.rows()) {
    process_metric metric;
    metric.process = row.id;
    metric.pid = row.pid;
    metric.rank = row.rank;
    metric.command = std::string(tables.text(row.command));
    metric.exit_status = row.exit_status;
    metric.mode = row.mode;
    metric.begin = row.begin;
    metric.end = row.end;
    const auto mark = complete_until.find(row.id);
    if (mark != complete_until.end()) metric.complete_until = mark->second;
    items.push_back(std::move(metric));
  }
  return items;
}

void put_warnings(const report_metrics& metrics, const trace::snapshot& trace, report& into) {
  std::vector<std::string>& strings = into.warnings;
  strings = trace.warnings();
  if (!into.complete) {
    strings.push_back(
        trace.growing()
            ? "the recording is still running; these are its figures so far"
            : "the file was never closed, because its writer ended early; the events that reached the file are shown");
  }
  strings.insert(strings.end(), metrics.warnings.begin(), metrics.warnings.end());
  // Add problems that the recorder reported, such as another profiler or a missing library.
  for (const index::recorded_message& said : metrics.messages) {
    const std::string_view text = trace.tables().text(said.text);
    const bool known = std::find(strings.begin(), strings.end(), text) != strings.end() ||
                       // Skip faults, because their finding has more details.
                       std::any_of(into.faults.begin(), into.faults.end(),
                                   [&](const index::gpu_fault& f) { return f.event == said.event; });
    if (said.severity != trace::severity::info && !text.empty() && !known) strings.emplace_back(text);
  }
  if (into.whole.lost_memory_events > 0) {
    strings.push_back("the recorder lost " + std::to_string(into.whole.lost_memory_events) +
                      " allocations and frees, so memory figures are not exact");
  }
}

}  // namespace

report make_report(const index::event_store& store, const trace::snapshot& trace, std::optional<time_range> range) {
  symbols::frame_cache book(symbols::options_for(trace));
  return make_report(store, trace, range, naming{book});
}

report make_report(const index::event_store& store, const trace::snapshot& trace, std::optional<time_range> range,
                   const naming& names) {
  return make_report(compute_metrics(store, trace, range), trace, names);
}

report make_report(report_metrics metrics, const trace::snapshot& trace, const naming& names) {
  const trace::tables& tables = trace.tables();
  report whole_report;
  whole_report.span = index::recorded_range(trace);
  whole_report.complete = trace.complete();
  whole_report.simulated = trace.simulated();
  whole_report.file_bytes = trace.file_bytes();
  whole_report.events = metrics.events;
  whole_report.blocks = metrics.blocks;
  whole_report.processes = list_processes(metrics.watermarks, tables);
  whole_report.peaks = std::move(metrics.peaks);
  put_lines(metrics, tables, names, whole_report);
  whole_report.unused = name_unused(metrics.unused, tables, names);
  whole_report.duplicates = name_duplicates(metrics.duplicates, tables, names);
  whole_report.whole = std::move(metrics.whole);
  whole_report.unfreed = std::move(metrics.unfreed);
  whole_report.imports = std::move(metrics.imports);
  whole_report.failures = std::move(metrics.failures);
  for (out_of_memory& each : metrics.out_of_memory)
    whole_report.out_of_memory.push_back(name_out_of_memory(std::move(each), tables, names));
  whole_report.retries = std::move(metrics.retries);
  whole_report.faults = std::move(metrics.faults);
  whole_report.fragmentation = std::move(metrics.fragmentation);
  whole_report.compositions = std::move(metrics.compositions);
  whole_report.steps = std::move(metrics.steps);
  whole_report.marks = std::move(metrics.marks);
  whole_report.waste = std::move(metrics.waste);
  put_warnings(metrics, trace, whole_report);
  whole_report.findings = find_all_findings(whole_report, tables, &names);
  whole_report.verdict = make_verdict(whole_report, tables);
  return whole_report;
}

}  // namespace sluice::metrics
