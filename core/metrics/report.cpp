#include "core/metrics/report.hpp"

#include <algorithm>
#include <map>

#include "core/index/event_store.hpp"
#include "core/metrics/line_use.hpp"
#include "core/metrics/out_of_memory/out_of_memory_words.hpp"

namespace sluice::metrics {
namespace {

std::vector<process_metric> list_processes(const std::vector<process_watermark>& watermarks,
                                           const trace::tables& tables) {
  std::map<trace::process_id, time_ns> complete_until;
  for (const process_watermark& mark : watermarks) complete_until[mark.process] = mark.complete_until;
  std::vector<process_metric> all;
  for (const trace::process_row& row : tables.processes.rows()) {
    process_metric of;
    of.process = row.id;
    of.pid = row.pid;
    of.rank = row.rank;
    of.command = std::string(tables.text(row.command));
    of.exit_status = row.exit_status;
    of.mode = row.mode;
    of.begin = row.begin;
    of.end = row.end;
    const auto mark = complete_until.find(row.id);
    if (mark != complete_until.end()) of.complete_until = mark->second;
    all.push_back(std::move(of));
  }
  return all;
}

void put_warnings(const report_metrics& metrics, const trace::snapshot& trace, report& into) {
  std::vector<std::string>& all = into.warnings;
  all = trace.warnings();
  if (!into.complete) {
    all.push_back(trace.growing() ? "the recording still runs: these are its figures so far"
                                  : "the file was never closed, its writer died: what reached it is shown");
  }
  all.insert(all.end(), metrics.warnings.begin(), metrics.warnings.end());
  // Add problems that the recorder reported, such as another profiler or a missing library.
  for (const index::recorded_message& said : metrics.messages) {
    const std::string_view text = trace.tables().text(said.text);
    const bool known = std::find(all.begin(), all.end(), text) != all.end() ||
                       // Skip faults: their finding has more details.
                       std::any_of(into.faults.begin(), into.faults.end(),
                                   [&](const index::gpu_fault& f) { return f.event == said.event; });
    if (said.severity != trace::severity::info && !text.empty() && !known) all.emplace_back(text);
  }
  if (into.whole.lost_memory_events > 0) {
    all.push_back("the recorder lost " + std::to_string(into.whole.lost_memory_events) +
                  " allocations and frees: memory figures are not exact");
  }
}

}  // namespace

report make_report(const index::event_store& from, const trace::snapshot& trace, std::optional<time_range> range) {
  symbols::frame_cache book(symbols::options_for(trace));
  return make_report(from, trace, range, naming{book});
}

report make_report(const index::event_store& from, const trace::snapshot& trace, std::optional<time_range> range,
                   const naming& names) {
  return make_report(metrics_of(from, trace, range), trace, names);
}

const memory_peak* main_peak(const report& all) {
  const memory_peak* found = nullptr;
  for (const memory_peak& each : all.peaks)
    if (index::is_device_resident(each.kind) &&
        (found == nullptr || each.layer > found->layer || (each.layer == found->layer && each.bytes > found->bytes)))
      found = &each;
  return found;
}

report make_report(report_metrics metrics, const trace::snapshot& trace, const naming& names) {
  const trace::tables& tables = trace.tables();
  report all;
  all.span = index::time_range_of(trace);
  all.complete = trace.complete();
  all.simulated = trace.simulated();
  all.file_bytes = trace.file_bytes();
  all.events = metrics.events;
  all.blocks = metrics.blocks;
  all.processes = list_processes(metrics.watermarks, tables);
  all.peaks = std::move(metrics.peaks);
  put_lines(metrics, tables, names, all);
  all.unused = name_unused(metrics.unused, tables, names);
  all.duplicates = name_duplicates(metrics.duplicates, tables, names);
  all.whole = std::move(metrics.whole);
  all.unfreed = std::move(metrics.unfreed);
  all.imports = std::move(metrics.imports);
  all.failures = std::move(metrics.failures);
  for (out_of_memory& each : metrics.out_of_memory)
    all.out_of_memory.push_back(name_out_of_memory(std::move(each), tables, names));
  all.retries = std::move(metrics.retries);
  all.faults = std::move(metrics.faults);
  all.fragmentation = std::move(metrics.fragmentation);
  all.compositions = std::move(metrics.compositions);
  all.steps = std::move(metrics.steps);
  all.marks = std::move(metrics.marks);
  all.waste = std::move(metrics.waste);
  put_warnings(metrics, trace, all);
  all.findings = findings_of(all, tables, &names);
  return all;
}

}  // namespace sluice::metrics
