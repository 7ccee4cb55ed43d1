#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/json_values.hpp"
#include "app/cli/report_output.hpp"
#include "app/cli/report_training.hpp"
#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/trace/model/driver_results.hpp"
#include "core/trace/model/names.hpp"

/// The schema is documented in report_schema.md; keep both in sync.
namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr int schema_version = 1;

json range_of(analysis::time_range range) { return {{"begin_ns", range.begin}, {"end_ns", range.end}}; }

std::string_view word(analysis::finding_kind kind) {
  using enum analysis::finding_kind;
  switch (kind) {
    case pageable_copies:
      return "pageable_copies";
    case slow_copies:
      return "slow_copies";
    case copies_not_overlapped:
      return "copies_not_overlapped";
    case device_idle:
      return "device_idle";
    case unfreed_blocks:
      return "unfreed_blocks";
    case failed_allocations:
      return "failed_allocations";
    case allocation_retries:
      return "allocation_retries";
    case pool_slack:
      return "pool_slack";
    case fragmentation:
      return "fragmentation";
    case migrations:
      return "migrations";
    case small_copies:
      return "small_copies";
    case untracked_memory:
      return "untracked_memory";
    case lost_events:
      return "lost_events";
    case waiting_host:
      return "waiting_host";
    case activations_dominate:
      return "activations_dominate";
    case optimizer_state_dominates:
      return "optimizer_state_dominates";
    case gradients_kept:
      return "gradients_kept";
    case unused_memory:
      return "unused_memory";
    case memory_grows:
      return "memory_grows";
    case gpu_fault:
      return "gpu_fault";
    case repeated_copies:
      return "repeated_copies";
  }
  return "unknown";
}

std::string_view word(trace::severity severity) {
  return severity == trace::severity::info ? "info" : severity == trace::severity::warning ? "warning" : "error";
}

std::string_view word(trace::direction way) {
  using enum trace::direction;
  switch (way) {
    case h2d:
      return "h2d";
    case d2h:
      return "d2h";
    case d2d:
      return "d2d";
    case p2p:
      return "p2p";
    case h2h:
      return "h2h";
    case unknown:
      break;
  }
  return "unknown";
}

std::string_view word(trace::device_kind kind) {
  return kind == trace::device_kind::cuda ? "cuda" : kind == trace::device_kind::simulated ? "simulated" : "unknown";
}

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
    made["span"] = range_of(of_.span);
    made["range"] = range_of(of_.whole.range);
    made["events"] = of_.events;
    made["blocks"] = of_.blocks;
    made["lost"] = {{"events", of_.whole.lost_events}, {"memory_events", of_.whole.lost_memory_events}};
    made["warnings"] = of_.warnings;
    made["findings"] = findings();
    made["processes"] = processes();
    made["devices"] = devices();
    made["memory"] = memory();
    made["not_tracked"] = not_tracked();
    put_training(subject_, made);
    made["imports"] = imports();
    made["pools"] = pools();
    made["fragmentation"] = fragmentation();
    made["transfers"] = transfers();
    made["duplicates"] = duplicates();
    made["kernels"] = named(of_.whole.kernels);
    made["kernel_names"] = of_.whole.kernel_names;
    made["ranges"] = named(of_.whole.ranges);
    made["calls"] = named(of_.whole.calls);
    made["threads"] = threads();
    made["unfreed"] = unfreed();
    made["marks"] = marks();
    made["gpu_faults"] = faults();
    made["failed_allocations"] = {{"count", of_.whole.failed_allocations}, {"first", failures()}};
    made["allocation_retries"] = retries();
    return made;
  }

 private:
  std::string text(trace::string_id id) const { return std::string(tables_.text(id)); }

  json findings() const {
    json all = json::array();
    for (const analysis::finding& f : of_.findings) {
      all.push_back({{"kind", word(f.kind)},
                     {"severity", word(f.severity)},
                     {"text", f.text},
                     {"advice", f.advice},
                     {"range", range_of(f.range)},
                     {"event", id_or_null(f.event)},
                     {"block", id_or_null(f.block)}});
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
      return {{"busy_ns", a.busy},
              {"kernels", a.kernels},
              {"kernel_busy_ns", a.kernel_busy},
              {"kernel_total_ns", a.kernel_total},
              {"copy_busy_ns", a.copy_busy},
              {"copy_only_ns", a.copy_only},
              {"overlap_ns", a.overlap},
              {"memsets", a.memsets},
              {"memset_busy_ns", a.memset_busy}};
    }
    return nullptr;
  }

  json devices() const {
    json all = json::array();
    for (const trace::device_row& d : tables_.devices.rows()) {
      all.push_back({{"id", raw(d.id)},
                     {"name", text(d.name)},
                     {"uuid", fmt::format("{:016x}{:016x}", d.uuid_high, d.uuid_low)},
                     {"kind", word(d.kind)},
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
    static constexpr const char* kinds[] = {"unknown", "native", "python", "kernel"};
    return {{"kind", kinds[static_cast<std::size_t>(line.kind) % std::size(kinds)]},
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

  json holders(const analysis::memory_statistics& of, json& into) const {
    json all = json::array();
    for (const analysis::memory_peak& peak : of_.peaks) {
      if (peak.device != of.device || peak.layer != of.layer || peak.kind != of.kind) continue;
      into["blocks_at_maximum"] = peak.blocks;
      into["other_holders_bytes"] = peak.other_bytes;
      into["by_line_at_maximum"] = peak.lines.empty() ? json(nullptr) : lines(peak.lines, figures_of::memory);
      into["asked_by_at_maximum"] = peak.lines.empty() ? json(nullptr) : asked_by(peak.asked_by);
      for (const analysis::holder& h : peak.holders) {
        all.push_back({{"name", text(h.name)},
                       {"pool", id_or_null(h.pool)},
                       {"blocks", h.blocks},
                       {"bytes", h.bytes},
                       {"largest_block", id_or_null(h.largest)},
                       {"largest_bytes", h.largest_bytes}});
      }
    }
    return all;
  }

  json memory() const {
    json all = json::array();
    for (const analysis::memory_statistics& m : of_.whole.memory) {
      json one = {{"device", id_or_null(m.device)},
                  {"layer", name_of(m.layer)},
                  {"kind", name_of(m.kind)},
                  {"at_begin_bytes", m.at_begin},
                  {"at_end_bytes", m.at_end},
                  {"minimum_bytes", m.minimum},
                  {"maximum_bytes", m.maximum},
                  {"maximum_time_ns", m.maximum_time},
                  {"mean_bytes", m.mean},
                  {"allocations", m.allocations},
                  {"allocated_bytes", m.allocated_bytes},
                  {"frees", m.frees},
                  {"freed_bytes", m.freed_bytes}};
      one["holders_at_maximum"] = holders(m, one);
      all.push_back(std::move(one));
    }
    return all;
  }

  json not_tracked() const {
    json all = json::array();
    for (const analysis::untracked_statistics& u : of_.whole.untracked) {
      all.push_back({{"device", id_or_null(u.device)},
                     {"samples", u.samples},
                     {"device_bytes", u.device_bytes},
                     {"maximum_bytes", u.maximum},
                     {"mean_bytes", u.mean},
                     {"at_end_bytes", u.at_end},
                     {"recorder_bytes", u.recorder},
                     {"device_used_maximum_bytes", u.used_maximum}});
    }
    return all;
  }

  json pools() const {
    json all = json::array();
    for (const analysis::pool_statistics& p : of_.whole.pools) {
      const trace::pool_row* row = tables_.pools.find(p.pool);
      all.push_back({{"id", raw(p.pool)},
                     {"name", analysis::pool_label(p.pool, tables_)},
                     {"device", row == nullptr ? json(nullptr) : id_or_null(row->device)},
                     {"states", p.states},
                     {"reserved_maximum_bytes", p.reserved_maximum},
                     {"reserved_maximum_time_ns", p.reserved_maximum_time},
                     {"reserved_at_end_bytes", p.reserved_at_end},
                     {"used_maximum_bytes", p.used_maximum},
                     {"used_maximum_time_ns", p.used_maximum_time},
                     {"used_at_end_bytes", p.used_at_end},
                     {"used_share", p.used_share}});
    }
    return all;
  }

  json fragmentation() const {
    json all = json::array();
    for (const analysis::fragmentation_figure& f : of_.fragmentation) {
      all.push_back({{"device", id_or_null(f.device)},
                     {"layer", name_of(f.layer)},
                     {"time_ns", f.time},
                     {"segments", f.segments},
                     {"segment_bytes", f.segment_bytes},
                     {"free_bytes", f.free_bytes},
                     {"largest_free_bytes", f.largest_free},
                     {"fragmentation", f.fragmentation}});
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
      json parts = json::array();
      for (const analysis::transfer_part& p : t.parts) {
        parts.push_back({{"host_side", name_of_side(p.host_side)},
                         {"count", p.count},
                         {"bytes", p.bytes},
                         {"busy_ns", p.busy},
                         {"mean_bytes_per_second", number_or_null(p.mean_bandwidth)},
                         {"fastest_bytes_per_second", number_or_null(p.fastest_bandwidth)}});
      }
      all.push_back({{"device", id_or_null(t.device)},
                     {"direction", word(t.direction)},
                     {"count", t.count},
                     {"migrations", t.migrations},
                     {"bytes", t.bytes},
                     {"busy_ns", t.busy},
                     {"total_ns", t.total},
                     {"mean_bytes_per_second", number_or_null(t.mean_bandwidth)},
                     {"maximum_bytes_per_second", number_or_null(t.maximum_bandwidth)},
                     {"fastest_bytes_per_second", number_or_null(t.fastest_bandwidth)},
                     {"fastest_event", id_or_null(t.fastest)},
                     {"link_peak_bytes_per_second", number_or_null(t.link_peak)},
                     {"attainable_bytes_per_second", number_or_null(t.attainable)},
                     {"parts", std::move(parts)},
                     {"by_line", copying(t)}});
    }
    return all;
  }

  static json figures(const analysis::copy_figures& of) {
    return {{"count", of.copies}, {"bytes", of.bytes}, {"busy_ns", of.busy}};
  }
  static json figures(const analysis::repeat_figures& of) {
    json made = figures(of.all);
    made["same_source"] = figures(of.same_source);
    made["same_destination"] = figures(of.same_destination);
    made["exact"] = figures(of.exact);
    return made;
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
    return {{"exact", figures(found.exact)},
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

  json named(const std::vector<analysis::named_time>& names) const {
    json all = json::array();
    for (const analysis::named_time& n : names) {
      all.push_back({{"name", text(n.name)},
                     {"count", n.count},
                     {"total_ns", n.total},
                     {"longest_ns", n.longest},
                     {"longest_event", id_or_null(n.longest_event)}});
    }
    return all;
  }

  json threads() const {
    json all = json::array();
    for (const analysis::thread_statistics& t : of_.whole.threads) {
      all.push_back({{"id", id_or_null(t.thread)},
                     {"process", id_or_null(t.process)},
                     {"name", analysis::thread_label(t.thread, tables_)},
                     {"calls", t.calls},
                     {"call_busy_ns", t.call_busy},
                     {"wait_busy_ns", t.wait_busy},
                     {"file_operations", t.file_operations},
                     {"file_bytes", t.file_bytes},
                     {"file_busy_ns", t.file_busy}});
    }
    return all;
  }

  json imports() const {
    json all = json::array();
    for (const analysis::imported_memory& had : of_.imports) {
      all.push_back({{"process", id_or_null(had.process)},
                     {"owner", id_or_null(had.owner)},
                     {"owner_inferred", had.inferred},
                     {"layer", name_of(had.layer)},
                     {"kind", name_of(had.kind)},
                     {"blocks", had.blocks},
                     {"bytes", had.bytes}});
    }
    return all;
  }

  json unfreed() const {
    json all = json::array();
    for (const analysis::unfreed_group& g : of_.unfreed) {
      json largest = json::array();
      for (const analysis::unfreed_block& b : g.largest) {
        largest.push_back({{"block", raw(b.block)},
                           {"event", id_or_null(b.alloc)},
                           {"name", text(b.name)},
                           {"device", id_or_null(b.device)},
                           {"address", format_address(b.address)},
                           {"bytes", b.bytes},
                           {"born_ns", b.born}});
      }
      all.push_back({{"process", id_or_null(g.process)},
                     {"process_ended", g.process_ended},
                     {"keeps_growing", g.keeps_growing},
                     {"layer", name_of(g.layer)},
                     {"kind", name_of(g.kind)},
                     {"count", g.count},
                     {"bytes", g.bytes},
                     {"largest", std::move(largest)}});
    }
    return all;
  }

  json marks() const {
    json all = json::array();
    for (const analysis::program_mark& m : of_.marks) {
      json memory = json::array();
      for (const analysis::memory_at_mark& at : m.memory) {
        memory.push_back({{"device", id_or_null(at.of.device)},
                          {"layer", name_of(at.of.layer)},
                          {"kind", name_of(at.of.kind)},
                          {"bytes", at.bytes},
                          {"blocks", at.blocks},
                          {"segment_bytes", at.segment_bytes}});
      }
      json counters = json::array();
      for (const analysis::counter_at_mark& at : m.counters) {
        const trace::counter_row* row = tables_.counters.find(at.counter);
        counters.push_back({{"name", row == nullptr ? std::string() : text(row->name)},
                            {"device", row == nullptr ? json(nullptr) : id_or_null(row->device)},
                            {"value", at.value}});
      }
      json pools = json::array();
      for (const analysis::pool_at_mark& at : m.pools) {
        pools.push_back({{"pool", raw(at.pool)}, {"reserved_bytes", at.reserved}, {"used_bytes", at.used}});
      }
      all.push_back({{"time_ns", m.time},
                     {"name", text(m.name)},
                     {"step", m.step < 0 ? json(nullptr) : json(m.step)},
                     {"process", id_or_null(m.process)},
                     {"thread", id_or_null(m.thread)},
                     {"memory", std::move(memory)},
                     {"counters", std::move(counters)},
                     {"pools", std::move(pools)}});
    }
    return all;
  }

  json failures() const {
    json all = json::array();
    for (const analysis::failed_allocation& f : of_.failures) {
      all.push_back({{"event", raw(f.event)},
                     {"time_ns", f.time},
                     {"process", id_or_null(f.process)},
                     {"device", id_or_null(f.device)},
                     {"layer", name_of(f.layer)},
                     {"kind", name_of(f.kind)},
                     {"call", text(f.call)},
                     {"bytes", f.bytes},
                     {"error", f.error}});
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
      json launches = json::array();
      for (const analysis::fault_launch& l : f.launches) {
        launches.push_back({{"time_ns", l.time}, {"kernel", text(l.kernel)}, {"stream", id_or_null(l.stream)}});
      }
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
                     {"launches_before", std::move(launches)}});
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
