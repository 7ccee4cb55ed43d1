#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/figures/report_out_of_memory.hpp"
#include "app/cli/json_values.hpp"
#include "app/cli/report_output.hpp"
#include "app/cli/report_training.hpp"
#include "core/base/format.hpp"
#include "core/figures/finding_rules.hpp"
#include "core/index/labels.hpp"
#include "core/trace/model/driver_results.hpp"
#include "core/trace/model/names.hpp"

/// The schema is documented in report_schema.md; keep both in sync.
namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr int schema_version = 1;

class json_writer {
 public:
  explicit json_writer(const report_subject& subject)
      : subject_(subject), of_(subject.of), tables_(subject.tables), path_(subject.path) {}

  json all() const {
    json made;
    made["schema"] = "sluice.report";
    made["version"] = schema_version;
    made["file"] = {
        {"path", path_}, {"bytes", of_.file_bytes}, {"complete", of_.complete}, {"simulated", of_.simulated}};
    made["span"] = figures(of_.span);
    made["range"] = figures(of_.whole.range);
    made["active"] = figures(of_.whole.active);
    made["events"] = of_.events;
    made["blocks"] = of_.blocks;
    made["lost"] = {{"events", of_.whole.lost_events}, {"memory_events", of_.whole.lost_memory_events}};
    made["warnings"] = of_.warnings;
    made["out_of_memory"] = out_of_memory_json(subject_);
    made["findings"] = findings();
    made["processes"] = processes();
    made["devices"] = devices();
    made["memory"] = memory();
    made["not_tracked"] = figures(of_.whole.untracked);
    put_training(subject_, made);
    made["ranks"] = figures(of_.waste.ranks);
    made["imports"] = figures(of_.imports);
    made["pools"] = pools();
    made["fragmentation"] = figures(of_.fragmentation);
    made["transfers"] = transfers();
    made["duplicates"] = duplicates();
    made["kernels"] = figures(of_.whole.kernels);
    made["kernel_names"] = of_.whole.kernel_names;
    made["ranges"] = figures(of_.whole.ranges);
    made["calls"] = figures(of_.whole.calls);
    made["threads"] = threads();
    made["unfreed"] = figures(of_.unfreed);
    made["marks"] = marks();
    made["gpu_faults"] = faults();
    made["failed_allocations"] = {{"count", of_.whole.failed_allocations}, {"first", figures(of_.failures)}};
    made["allocation_retries"] = retries();
    return made;
  }

 private:
  std::string text(trace::string_id id) const { return std::string(tables_.text(id)); }

  template <class Figures>
  json figures(const Figures& of) const {
    return json_of(of, tables_);
  }

  static json saving(const analysis::saving& of) {
    constexpr auto words = std::to_array<std::string_view>({"none", "measured", "swept", "modelled"});
    return {{"basis", words[static_cast<std::size_t>(of.basis)]},
            {"peak_bytes", of.peak_bytes},
            {"reserved_bytes", of.reserved_bytes},
            {"time_ns", of.time},
            {"share", of.share},
            {"bytes_error", of.bytes_error}};
  }

  static json where(const analysis::code_place& of) {
    if (!of.known) return nullptr;
    const auto text = [](const std::string& words) { return words.empty() ? json(nullptr) : json(words); };
    const bool called = of.caller != of.line;
    return {{"function", text(symbols::name_of(of.line))},
            {"file", text(of.line.file)},
            {"line", of.line.line == 0 ? json(nullptr) : json(of.line.line)},
            {"caller", called ? text(symbols::place_of(of.caller)) : json(nullptr)},
            {"module", text(of.module)}};
  }

  json findings() const {
    json all = json::array();
    for (const analysis::finding& f : of_.findings) {
      all.push_back({{"kind", analysis::word_of(f.kind)},
                     {"severity", trace::word_of(f.severity)},
                     {"text", f.text},
                     {"advice", f.advice},
                     {"range", figures(f.range)},
                     {"event", id_or_null(f.event)},
                     {"block", id_or_null(f.block)},
                     {"saving", saving(f.saves)},
                     {"where", where(f.where)}});
    }
    return all;
  }

  json processes() const {
    json all = json::array();
    for (const analysis::process_figure& p : of_.processes) {
      all.push_back({{"id", raw(p.process)},
                     {"pid", p.pid},
                     {"rank", p.rank < 0 ? json(nullptr) : json(p.rank)},
                     {"command", p.command},
                     {"exit_status", p.exit_status < 0 ? json(nullptr) : json(p.exit_status)},
                     {"mode", p.mode == trace::recording_mode::unknown ? json(nullptr) : json(name_of(p.mode))},
                     {"begin_ns", time_or_null(p.begin)},
                     {"end_ns", time_or_null(p.end)},
                     {"device_times_complete_until_ns", time_or_null(p.complete_until)}});
    }
    return all;
  }

  json activity(trace::device_id device) const {
    for (const analysis::device_activity& a : of_.whole.devices) {
      if (a.device != device) continue;
      return figures(a);
    }
    return nullptr;
  }

  json devices() const {
    json all = json::array();
    for (const trace::device_row& d : tables_.devices.rows()) {
      all.push_back({{"id", raw(d.id)},
                     {"name", text(d.name)},
                     {"uuid", fmt::format("{:016x}{:016x}", d.uuid_high, d.uuid_low)},
                     {"kind", trace::word_of(d.kind)},
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
    return all;
  }

  static json frame(const symbols::frame_line& line) {
    return {{"kind", trace::word_of(line.kind)},
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

  enum class figures_of : std::uint8_t { memory, copies, copies_without_kernels };

  static json line_figures(const analysis::stack_figures& figures, figures_of what) {
    if (what == figures_of::memory) return {{"blocks", figures.count}, {"bytes", figures.bytes}};
    return {{"count", figures.count},
            {"bytes", figures.bytes},
            {"busy_ns", figures.busy},
            {"alone_ns", what == figures_of::copies ? json(figures.alone) : json(nullptr)}};
  }

  static json lines(const analysis::line_uses& uses, figures_of what) {
    json all = json::array();
    for (const analysis::line_use& use : uses.lines) {
      json one = line_figures(use.figures, what);
      one["frame"] = frame(use.line);
      one["inferred"] = line_figures(use.inferred, what);
      json stack = json::array();
      for (const symbols::frame_line& line : use.stack) stack.push_back(frame(line));
      one["stack"] = std::move(stack);
      one["of_that_stack"] = line_figures(use.heaviest, what);
      all.push_back(std::move(one));
    }
    return {{"lines", std::move(all)},
            {"other_lines", line_figures(uses.other, what)},
            {"without_stack", line_figures(uses.without, what)}};
  }

  static json asked_by(const analysis::attributed_use& asked) {
    json made = lines(asked.groups, figures_of::memory);
    made["by"] = name_of(asked.by);
    made["chosen"] = asked.chosen_by_reader ? "by the reader" : "most even";
    for (std::size_t i = 0; i < analysis::attributions_compared.size(); ++i)
      made["largest_group_bytes"][std::string(name_of(analysis::attributions_compared[i]))] = asked.choice.largest[i];
    return made;
  }

  json memory() const {
    json all = json::array();
    for (const analysis::memory_statistics& m : of_.whole.memory) {
      json one = figures(m);
      json holders = json::array();
      for (const analysis::memory_peak& peak : of_.peaks) {
        if (peak.device != m.device || peak.layer != m.layer || peak.kind != m.kind) continue;
        one["blocks_at_maximum"] = peak.blocks;
        one["other_holders_bytes"] = peak.other_bytes;
        one["by_line_at_maximum"] = peak.lines.empty() ? json(nullptr) : lines(peak.lines, figures_of::memory);
        one["asked_by_at_maximum"] = peak.lines.empty() ? json(nullptr) : asked_by(peak.asked_by);
        holders = figures(peak.holders);
      }
      one["holders_at_maximum"] = std::move(holders);
      all.push_back(std::move(one));
    }
    return all;
  }

  json pools() const {
    json all = json::array();
    for (const analysis::pool_statistics& p : of_.whole.pools) {
      const trace::pool_row* row = tables_.pools.find(p.pool);
      json one = {{"id", raw(p.pool)},
                  {"name", analysis::pool_label(p.pool, tables_)},
                  {"device", row == nullptr ? json(nullptr) : id_or_null(row->device)}};
      put_members(p, tables_, one);
      all.push_back(std::move(one));
    }
    return all;
  }

  json copying(const analysis::transfer_statistics& of) const {
    for (const analysis::copying_lines& each : of_.copying)
      if (each.device == of.device && each.direction == of.direction)
        return lines(each.uses, each.kernels_known ? figures_of::copies : figures_of::copies_without_kernels);
    return nullptr;
  }

  json transfers() const {
    json all = json::array();
    for (const analysis::transfer_statistics& t : of_.whole.transfers) {
      all.push_back(figures(t));
      all.back()["by_line"] = copying(t);
    }
    return all;
  }

  json duplicates() const {
    const analysis::duplicate_copies& found = of_.duplicates;
    if (!found.looked()) return nullptr;
    json all = json::array();
    for (const analysis::repeating_line& each : found.lines) {
      json one = figures(each.figures);
      one["frame"] = frame(each.line);
      json stack = json::array();
      for (const symbols::frame_line& line : each.stack) stack.push_back(frame(line));
      one["stack"] = std::move(stack);
      one["largest_event"] = id_or_null(each.largest);
      all.push_back(std::move(one));
    }
    const analysis::round_trip_figures trips = sum_of(found.round_trips);
    const analysis::zero_figures zeros = sum_of(found.zeros);
    json to_device = figures(trips.to_device);
    to_device["exact"] = trips.exact;
    json all_zero = figures(zeros.all);
    all_zero["exact"] = zeros.exact;
    return {{"exact", figures(found.exact)},
            {"results", figures(found.results)},
            {"unseen_results", figures(found.unseen_results)},
            {"round_trips", {{"to_host", figures(trips.to_host)}, {"to_device", std::move(to_device)}}},
            {"zeros", std::move(all_zero)},
            {"sampled", figures(found.sampled)},
            {"over_budget", figures(found.over_budget)},
            {"unreadable", figures(found.unreadable)},
            {"overtaken", figures(found.overtaken)},
            {"graph_launches", found.graph_launches},
            {"repeated", figures(found.repeated)},
            {"largest_event", id_or_null(found.largest)},
            {"by_line",
             {{"lines", std::move(all)},
              {"other_lines", figures(found.other_lines)},
              {"without_stack", figures(found.without_stack)}}}};
  }

  json threads() const {
    json all = json::array();
    for (const analysis::thread_statistics& t : of_.whole.threads) {
      json one = {{"id", id_or_null(t.thread)},
                  {"process", id_or_null(t.process)},
                  {"name", analysis::thread_label(t.thread, tables_)}};
      put_members(t, tables_, one);
      all.push_back(std::move(one));
    }
    return all;
  }

  json marks() const {
    json all = json::array();
    for (const analysis::program_mark& m : of_.marks) {
      json counters = json::array();
      for (const analysis::counter_at_mark& at : m.counters) {
        const trace::counter_row* row = tables_.counters.find(at.counter);
        counters.push_back({{"name", row == nullptr ? std::string() : text(row->name)},
                            {"device", row == nullptr ? json(nullptr) : id_or_null(row->device)},
                            {"value", at.value}});
      }
      all.push_back({{"time_ns", m.time},
                     {"name", text(m.name)},
                     {"step", m.step < 0 ? json(nullptr) : json(m.step)},
                     {"process", id_or_null(m.process)},
                     {"thread", id_or_null(m.thread)},
                     {"memory", figures(m.memory)},
                     {"counters", std::move(counters)},
                     {"pools", figures(m.pools)}});
    }
    return all;
  }

  json retries() const {
    json first = json::array();
    for (const analysis::allocation_retry& r : of_.retries.first) {
      first.push_back({{"event", raw(r.event)},
                       {"block", id_or_null(r.block)},
                       {"time_ns", r.time},
                       {"until_ns", r.until},
                       {"process", id_or_null(r.process)},
                       {"device", id_or_null(r.device)},
                       {"layer", name_of(r.layer)},
                       {"kind", name_of(r.kind)},
                       {"call", text(r.call)},
                       {"bytes", r.bytes}});
    }
    return {{"count", of_.retries.count},
            {"total_ns", of_.retries.total},
            {"reported_again", of_.retries.reported_again},
            {"first", std::move(first)}};
  }

  json faults() const {
    json all = json::array();
    for (const analysis::gpu_fault& f : of_.faults) {
      const char* name = trace::name_of_result(f.error);
      all.push_back({{"event", raw(f.event)},
                     {"time_ns", f.time},
                     {"process", id_or_null(f.process)},
                     {"thread", id_or_null(f.thread)},
                     {"error", f.error},
                     {"name", name == nullptr ? json(nullptr) : json(name)},
                     {"call", text(f.call)},
                     {"stream", id_or_null(f.stream)},
                     {"failed_calls", f.calls_after},
                     {"launches_before", figures(f.launches)}});
    }
    return all;
  }

  const report_subject& subject_;
  const analysis::report& of_;
  const trace::tables& tables_;
  const std::string& path_;
};

}  // namespace

std::string report_json(const report_subject& subject) {
  // Names come from the recorded program, so invalid UTF-8 is replaced.
  return json_writer(subject).all().dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace sluice::cli
