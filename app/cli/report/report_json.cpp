#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/cli/output/json_values.hpp"
#include "app/cli/report/report_out_of_memory.hpp"
#include "app/cli/report/report_output.hpp"
#include "app/cli/report/report_training.hpp"
#include "core/base/format.hpp"
#include "core/base/json/json_text.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/findings/finding_rules.hpp"
#include "core/metrics/host_causes/describe.hpp"
#include "core/metrics/host_causes/host_remedies.hpp"
#include "core/metrics/verdict/finding_title.hpp"
#include "core/trace/model/driver_results.hpp"
#include "core/trace/model/names.hpp"

/// Generates the JSON report. report_schema.md documents the schema; keep both in sync.
namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr int schema_version = 1;

class json_writer {
 public:
  explicit json_writer(const report_subject& subject)
      : subject_(subject), of_(subject.report), tables_(subject.tables), path_(subject.path) {}

  json all() const {
    json object;
    object["schema"] = "sluice.report";
    object["version"] = schema_version;
    object["verdict"] = verdict();
    object["file"] = {
        {"path", path_}, {"bytes", of_.file_bytes}, {"complete", of_.complete}, {"simulated", of_.simulated}};
    object["span"] = metrics(of_.span);
    object["range"] = metrics(of_.whole.range);
    object["active"] = metrics(of_.whole.active);
    object["events"] = of_.events;
    object["blocks"] = of_.blocks;
    object["lost"] = {{"events", of_.whole.lost_events}, {"memory_events", of_.whole.lost_memory_events}};
    object["warnings"] = of_.warnings;
    object["out_of_memory"] = out_of_memory_json(subject_);
    object["findings"] = findings();
    object["processes"] = processes();
    object["devices"] = devices();
    object["idle"] = idle();
    object["memory"] = memory();
    object["not_tracked"] = metrics(of_.whole.untracked);
    put_training(subject_, object);
    object["ranks"] = metrics(of_.waste.ranks);
    object["imports"] = metrics(of_.imports);
    object["pools"] = pools();
    object["fragmentation"] = metrics(of_.fragmentation);
    object["transfers"] = transfers();
    object["duplicates"] = duplicates();
    object["kernels"] = metrics(of_.whole.kernels);
    put_members(of_.whole, tables_, object);
    object["ranges"] = metrics(of_.whole.ranges);
    object["calls"] = metrics(of_.whole.calls);
    object["threads"] = threads();
    object["unfreed"] = metrics(of_.unfreed);
    object["marks"] = marks();
    object["gpu_faults"] = faults();
    object["failed_allocations"] = {{"count", of_.whole.failed_allocations}, {"first", metrics(of_.failures)}};
    object["allocation_retries"] = metrics(of_.retries);
    return object;
  }

 private:
  std::string text(trace::string_id id) const { return std::string(tables_.text(id)); }

  template <class Metrics>
  json metrics(const Metrics& subject) const {
    return to_json(subject, tables_);
  }

  json verdict() const {
    const metrics::run_verdict& said = of_.verdict;
    json devices = json::array();
    for (const metrics::device_time& each : said.devices)
      devices.push_back({{"device", id_or_null(each.device)},
                         {"busy_ns", each.busy},
                         {"busy_share", said.get_share(each.busy)},
                         {"only_copies_ns", each.only_copies},
                         {"only_collectives_ns", each.only_collectives},
                         {"idle_ns", said.get_idle(each)}});
    json opportunities = json::array();
    for (const std::optional<std::size_t>& each : {said.largest, said.other})
      if (each) opportunities.push_back(*each);
    return {{"text", said.text},
            {"headline", said.headline},
            {"bound", said.bound == metrics::run_bound::unknown ? json(nullptr) : json(metrics::get_word(said.bound))},
            {"no_problem", said.no_problem},
            {"time_ns", said.time},
            {"devices", devices},
            {"idle_cause", said.idle_cause ? json(metrics::get_word(*said.idle_cause)) : json(nullptr)},
            {"idle_cause_ns", said.idle_cause_time},
            {"step_ns", said.step > 0 ? json(said.step) : json(nullptr)},
            {"steps", said.steps},
            {"peak_bytes", said.peak},
            {"peak_device", id_or_null(said.peak_device)},
            {"device_bytes", count_or_null(said.device_bytes)},
            {"used_bytes", count_or_null(said.used)},
            {"used_of_bytes", count_or_null(said.used_of)},
            {"near_limit", said.near_limit},
            {"slow_rank", said.slow_rank < 0 ? json(nullptr) : json(said.slow_rank)},
            {"opportunities", opportunities},
            {"not_recorded", said.missing}};
  }

  static json saving(const metrics::saving& subject) {
    constexpr auto words = std::to_array<std::string_view>({"none", "measured", "swept", "modelled"});
    return {{"basis", words[static_cast<std::size_t>(subject.basis)]},
            {"peak_bytes", subject.peak_bytes},
            {"reserved_bytes", subject.reserved_bytes},
            {"time_ns", subject.time},
            {"share", subject.share},
            {"bytes_error", subject.bytes_error}};
  }

  json findings() const {
    json array = json::array();
    for (const metrics::finding& f : of_.findings) {
      array.push_back({{"kind", metrics::get_word(f.kind)},
                       {"severity", trace::get_word(f.severity)},
                       {"major", f.major},
                       {"title", metrics::get_title(f)},
                       {"text", f.text},
                       {"advice", f.advice},
                       {"fix_code", f.fix_code.empty() ? json(nullptr) : json(f.fix_code)},
                       {"range", metrics(f.range)},
                       {"event", id_or_null(f.event)},
                       {"block", id_or_null(f.block)},
                       {"saving", saving(f.saves)},
                       {"overlaps", f.overlaps},
                       {"where", place_or_null(f.where)}});
    }
    return array;
  }

  json processes() const {
    json array = json::array();
    for (const metrics::process_metric& p : of_.processes) {
      array.push_back({{"id", raw(p.process)},
                       {"pid", p.pid},
                       {"rank", p.rank < 0 ? json(nullptr) : json(p.rank)},
                       {"command", p.command},
                       {"exit_status", p.exit_status < 0 ? json(nullptr) : json(p.exit_status)},
                       {"mode", p.mode == trace::recording_mode::unknown ? json(nullptr) : json(get_name(p.mode))},
                       {"begin_ns", time_or_null(p.begin)},
                       {"end_ns", time_or_null(p.end)},
                       {"device_times_complete_until_ns", time_or_null(p.complete_until)}});
    }
    return array;
  }

  json activity(trace::device_id device) const {
    for (const metrics::device_activity& a : of_.whole.devices) {
      if (a.device != device) continue;
      return metrics(a);
    }
    return nullptr;
  }

  /// The share of the time between the device's first and last work.
  static double share(trace::time_ns time, const metrics::device_idle& device) {
    return static_cast<double>(time) / static_cast<double>(std::max<trace::time_ns>(device.span.length(), 1));
  }

  json host_cause(const metrics::host_cause_group& group, const metrics::device_idle& device) const {
    const std::string line = metrics::describe_line(group.cause, tables_);
    const auto remedy = metrics::find_host_remedy(group.cause.reason, device.traits, group.recurs);
    return {{"reason", metrics::get_name(group.cause.reason)},
            {"words", metrics::get_words(group.cause.reason)},
            {"named", !metrics::is_catch_all(group.cause.reason)},
            {"library", group.cause.library.empty() ? json(nullptr) : json(group.cause.library)},
            {"line", line.empty() ? json(nullptr) : json(line)},
            {"total_ns", group.total},
            {"share", share(group.total, device)},
            {"gaps", group.gaps},
            {"longest_ns", group.longest},
            {"recurs", group.recurs},
            {"remedy", remedy ? json(remedy->text) : json(nullptr)},
            {"code", remedy && !remedy->code.empty() ? json(remedy->code) : json(nullptr)}};
  }

  json idle() const {
    json array = json::array();
    for (const metrics::device_idle& device : of_.waste.idle_times) {
      json causes = json::array();
      for (const metrics::cause_time& each : device.causes)
        causes.push_back({{"cause", metrics::get_word(each.cause)},
                          {"words", metrics::get_words(each.cause)},
                          {"count", each.count},
                          {"total_ns", each.total},
                          {"share", share(each.total, device)},
                          {"longest_ns", each.longest}});
      json host = json::array();
      for (const metrics::host_cause_group& each : device.host) host.push_back(host_cause(each, device));
      const metrics::launch_rate& launches = device.launches;
      array.push_back({{"device", id_or_null(device.device)},
                       {"span", metrics(device.span)},
                       {"busy_ns", device.busy},
                       {"collectives_alone_ns", device.collectives_alone},
                       {"idle_ns", device.idle()},
                       {"idle_share", share(device.idle(), device)},
                       {"causes", causes},
                       {"host", host},
                       {"launches",
                        {{"count", launches.launches},
                         {"period_ns", launches.period()},
                         {"work_ns", launches.work_per_launch()},
                         {"idle_ns", launches.idle},
                         {"saved_ns", launches.saved}}}});
    }
    return array;
  }

  json devices() const {
    json array = json::array();
    for (const trace::device_row& d : tables_.devices.rows()) {
      array.push_back({{"id", raw(d.id)},
                       {"name", text(d.name)},
                       {"uuid", fmt::format("{:016x}{:016x}", d.uuid_high, d.uuid_low)},
                       {"kind", trace::get_word(d.kind)},
                       {"ordinal", d.ordinal < 0 ? json(nullptr) : json(d.ordinal)},
                       {"memory_bytes", count_or_null(d.memory_bytes)},
                       {"link",
                        {{"generation", count_or_null(d.link_generation)},
                         {"width", count_or_null(d.link_width)},
                         {"peak_bytes_per_second", count_or_null(d.link_peak)},
                         {"attainable_h2d_bytes_per_second", count_or_null(d.attainable_h2d)},
                         {"attainable_d2h_bytes_per_second", count_or_null(d.attainable_d2h)},
                         {"nvlink_peak_bytes_per_second", count_or_null(d.peer_peak)}}},
                       {"activity", activity(d.id)}});
    }
    return array;
  }

  static json frame(const symbols::frame_line& line) {
    return {{"kind", trace::get_word(line.kind)},
            {"function", line.function},
            {"file", line.file},
            {"line", count_or_null(line.line)},
            {"module", line.module},
            {"address", line.kind == trace::frame_kind::native ? json(format_address(line.address)) : json(nullptr)},
            {"inlined", line.inlined},
            {"own", line.own},
            {"missing", line.missing},
            {"source", line.source}};
  }

  enum class compute_metrics : std::uint8_t { memory, copies, copies_without_kernels };

  static json line_metrics(const metrics::stack_metrics& metrics, compute_metrics subject) {
    if (subject == compute_metrics::memory) return {{"blocks", metrics.count}, {"bytes", metrics.bytes}};
    return {{"count", metrics.count},
            {"bytes", metrics.bytes},
            {"busy_ns", metrics.busy},
            {"alone_ns", subject == compute_metrics::copies ? json(metrics.alone) : json(nullptr)}};
  }

  static json lines(const metrics::line_uses& uses, compute_metrics subject) {
    json array = json::array();
    for (const metrics::line_use& use : uses.lines) {
      json one = line_metrics(use.metrics, subject);
      one["frame"] = frame(use.line);
      one["inferred"] = line_metrics(use.inferred, subject);
      json stack = json::array();
      for (const symbols::frame_line& line : use.stack) stack.push_back(frame(line));
      one["stack"] = std::move(stack);
      one["of_that_stack"] = line_metrics(use.heaviest, subject);
      array.push_back(std::move(one));
    }
    return {{"lines", std::move(array)},
            {"other_lines", line_metrics(uses.other, subject)},
            {"without_stack", line_metrics(uses.without, subject)}};
  }

  static json asked_by(const metrics::attributed_use& asked) {
    json object = lines(asked.groups, compute_metrics::memory);
    object["by"] = get_name(asked.by);
    object["chosen"] = asked.chosen_by_reader ? "by the reader" : "most even";
    for (std::size_t i = 0; i < metrics::attributions_compared.size(); ++i)
      object["largest_group_bytes"][std::string(get_name(metrics::attributions_compared[i]))] = asked.choice.largest[i];
    return object;
  }

  json memory() const {
    json array = json::array();
    for (const metrics::memory_statistics& m : of_.whole.memory) {
      json one = metrics(m);
      json holders = json::array();
      for (const metrics::memory_peak& peak : of_.peaks) {
        if (peak.device != m.device || peak.layer != m.layer || peak.kind != m.kind) continue;
        one["blocks_at_maximum"] = peak.blocks;
        one["other_holders_bytes"] = peak.other_bytes;
        one["by_line_at_maximum"] = peak.lines.empty() ? json(nullptr) : lines(peak.lines, compute_metrics::memory);
        one["asked_by_at_maximum"] = peak.lines.empty() ? json(nullptr) : asked_by(peak.asked_by);
        holders = metrics(peak.holders);
      }
      one["holders_at_maximum"] = std::move(holders);
      array.push_back(std::move(one));
    }
    return array;
  }

  json pools() const {
    json array = json::array();
    for (const metrics::pool_statistics& p : of_.whole.pools) {
      const trace::pool_row* row = tables_.pools.find(p.pool);
      json one = {{"id", raw(p.pool)},
                  {"name", index::pool_label(p.pool, tables_)},
                  {"device", row == nullptr ? json(nullptr) : id_or_null(row->device)}};
      put_members(p, tables_, one);
      array.push_back(std::move(one));
    }
    return array;
  }

  json copying(const metrics::transfer_statistics& statistics) const {
    for (const metrics::copying_lines& each : of_.copying)
      if (each.device == statistics.device && each.direction == statistics.direction)
        return lines(each.uses, each.kernels_known ? compute_metrics::copies : compute_metrics::copies_without_kernels);
    return nullptr;
  }

  json transfers() const {
    json array = json::array();
    for (const metrics::transfer_statistics& t : of_.whole.transfers) {
      array.push_back(metrics(t));
      array.back()["by_line"] = copying(t);
    }
    return array;
  }

  json duplicates() const {
    const metrics::duplicate_copies& found = of_.duplicates;
    if (!found.looked()) return nullptr;
    json array = json::array();
    for (const metrics::repeating_line& each : found.lines) {
      json one = metrics(each.metrics);
      one["frame"] = frame(each.line);
      json stack = json::array();
      for (const symbols::frame_line& line : each.stack) stack.push_back(frame(line));
      one["stack"] = std::move(stack);
      one["largest_event"] = id_or_null(each.largest);
      array.push_back(std::move(one));
    }
    const metrics::round_trip_metrics trips = get_sum(found.round_trips);
    const metrics::zero_metrics zeros = get_sum(found.zeros);
    json to_device = metrics(trips.to_device);
    to_device["exact"] = trips.exact;
    json all_zero = metrics(zeros.all);
    all_zero["exact"] = zeros.exact;
    return {{"exact", metrics(found.exact)},
            {"results", metrics(found.results)},
            {"unseen_results", metrics(found.unseen_results)},
            {"round_trips", {{"to_host", metrics(trips.to_host)}, {"to_device", std::move(to_device)}}},
            {"zeros", std::move(all_zero)},
            {"sampled", metrics(found.sampled)},
            {"over_budget", metrics(found.over_budget)},
            {"unreadable", metrics(found.unreadable)},
            {"overtaken", metrics(found.overtaken)},
            {"graph_launches", found.graph_launches},
            {"repeated", metrics(found.repeated)},
            {"largest_event", id_or_null(found.largest)},
            {"by_line",
             {{"lines", std::move(array)},
              {"other_lines", metrics(found.other_lines)},
              {"without_stack", metrics(found.without_stack)}}}};
  }

  json threads() const {
    json array = json::array();
    for (const metrics::thread_statistics& t : of_.whole.threads) {
      json one = {{"id", id_or_null(t.thread)},
                  {"process", id_or_null(t.process)},
                  {"name", index::thread_label(t.thread, tables_)}};
      put_members(t, tables_, one);
      array.push_back(std::move(one));
    }
    return array;
  }

  json marks() const {
    json array = json::array();
    for (const metrics::program_mark& m : of_.marks) {
      json counters = json::array();
      for (const metrics::counter_at_mark& at : m.counters) {
        const trace::counter_row* row = tables_.counters.find(at.counter);
        counters.push_back({{"name", row == nullptr ? std::string() : text(row->name)},
                            {"device", row == nullptr ? json(nullptr) : id_or_null(row->device)},
                            {"value", at.value}});
      }
      array.push_back({{"time_ns", m.time},
                       {"name", text(m.name)},
                       {"step", m.step < 0 ? json(nullptr) : json(m.step)},
                       {"process", id_or_null(m.process)},
                       {"thread", id_or_null(m.thread)},
                       {"memory", metrics(m.memory)},
                       {"counters", std::move(counters)},
                       {"pools", metrics(m.pools)}});
    }
    return array;
  }

  json faults() const {
    json array = json::array();
    for (const index::gpu_fault& f : of_.faults) {
      const char* name = trace::name_of_result(f.error);
      array.push_back({{"event", raw(f.event)},
                       {"time_ns", f.time},
                       {"process", id_or_null(f.process)},
                       {"thread", id_or_null(f.thread)},
                       {"error", f.error},
                       {"name", name == nullptr ? json(nullptr) : json(name)},
                       {"call", text(f.call)},
                       {"stream", id_or_null(f.stream)},
                       {"failed_calls", f.calls_after},
                       {"launches_before", metrics(f.launches)}});
    }
    return array;
  }

  const report_subject& subject_;
  const metrics::report& of_;
  const trace::tables& tables_;
  const std::string& path_;
};

}  // namespace

std::string report_json(const report_subject& subject) { return json_document(json_writer(subject).all()); }

}  // namespace sluice::cli
