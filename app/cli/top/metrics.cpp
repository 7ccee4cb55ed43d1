#include "app/cli/top/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/index/labels.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::cli::top {
namespace {

constexpr trace::time_ns one_second = 1'000'000'000;
constexpr trace::time_ns one_minute = 60 * one_second;
/// Limit on the rows of `held`; more than a terminal can show.
constexpr std::size_t max_held = 64;

/// The part at the end of `span` that is at most `length` long.
time_range last(trace::time_ns length, time_range span) { return {std::max(span.begin, span.end - length), span.end}; }

const metrics::memory_statistics* find(const metrics::range_statistics& in, trace::device_id device,
                                       const metrics::judged_memory& memory) {
  for (const metrics::memory_statistics& each : in.memory)
    if (each.device == device && each.layer == memory.layer && each.kind == memory.kind) return &each;
  return nullptr;
}

/// The devices that the recording describes, followed by those that only its memory refers to.
std::vector<trace::device_row> get_devices(const metrics::report& subject, const trace::tables& tables) {
  std::vector<trace::device_row> rows(tables.devices.rows().begin(), tables.devices.rows().end());
  for (const metrics::memory_statistics& each : subject.whole.memory) {
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.id == each.device; });
    if (known || each.device == trace::device_id::none || !index::is_device_resident(each.kind)) continue;
    rows.emplace_back().id = each.device;
  }
  return rows;
}

constexpr double to_seconds(trace::time_ns begin, trace::time_ns to) {
  return (static_cast<double>(to) - static_cast<double>(begin)) / 1e9;
}

/// Seconds since the last event. Null unless the recording is growing, and if its time of day is unknown or ahead of
/// this machine's clock.
std::optional<double> find_age(const trace::snapshot& latest) {
  if (!latest.growing() || latest.realtime_origin() == 0 || latest.end() < latest.begin()) return std::nullopt;
  const trace::time_ns now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double age = to_seconds(latest.realtime_origin(), now) - to_seconds(0, latest.end());
  return age >= 0 ? std::optional(age) : std::nullopt;
}

copy_rate compute_rate(const metrics::range_statistics& recent, const metrics::range_statistics& whole,
                       trace::device_id device, trace::direction way) {
  copy_rate rate;
  for (const metrics::transfer_statistics& each : whole.transfers)
    if (each.device == device && each.direction == way) rate.known = true;
  const auto length = static_cast<double>(recent.range.length());
  for (const metrics::transfer_statistics& each : recent.transfers) {
    if (each.device != device || each.direction != way || !(length > 0)) continue;
    rate.now = each.bytes / length * 1e9;
    rate.while_copying = each.mean_bandwidth;
    rate.peak = each.link_peak;
    rate.busy = static_cast<double>(each.busy) / length;
  }
  return rate;
}

std::string get_command(const metrics::process_metric& process) {
  std::string text = process.command;
  if (process.exit_status >= 0) {
    text += fmt::format(" (exit status {})", process.exit_status);
  } else if (process.end != trace::unknown_time) {
    text += " (ended)";
  }
  return text;
}

}  // namespace

template <class Query>
std::shared_ptr<const typename Query::result_type> queries::settled(query::slot<Query>& slot, const Query& query) {
  const auto result = slot.ask(*engine_, query);
  if (result.failure) {
    errors_.push_back(result.failure->to_string());
    return nullptr;
  }
  if (!result.complete) waiting_ = true;
  return result.complete ? result.value : nullptr;
}

result<std::optional<top_metrics>> queries::ask(query::engine& engine, const trace::snapshot& latest) {
  engine_ = &engine;
  trace_ = engine.snapshot();
  waiting_ = false;
  errors_.clear();
  const auto report = report_.ask(engine, {});
  if (report.failure) return tl::unexpected(*report.failure);
  if (!report.complete) return std::nullopt;
  const metrics::report& subject = *report.value;
  judged_ = metrics::most_telling_memory(subject);
  top_metrics output;
  output.span = subject.span;
  output.complete = subject.complete;
  output.growing = trace_->growing();
  output.simulated = subject.simulated;
  output.seconds_since = find_age(latest);
  output.seconds_behind = std::max(0.0, to_seconds(trace_->end(), latest.end()));
  output.events = subject.events;
  output.lost = subject.whole.lost_events;
  output.failed = subject.whole.failed_allocations;
  if (judged_) output.memory = trace::describe_memory(judged_->layer, judged_->kind);
  for (const metrics::finding& each : subject.findings)
    if (each.severity == trace::severity::error) output.errors.push_back(each.text);
  if (subject.span.length() > 0) {
    put_gpus(output, subject);
    put_copies(output, subject);
    put_processes(output, subject);
    put_held(output, subject);
  }
  if (waiting_) return std::nullopt;
  output.errors.insert(output.errors.end(), errors_.begin(), errors_.end());
  return std::optional(std::move(output));
}

void queries::put_gpus(top_metrics& into, const metrics::report& subject) {
  into.minute = last(one_minute, subject.span);
  const auto minute = settled(minute_, {into.minute});
  const auto tracks = settled(tracks_, {});
  for (const trace::device_row& device : get_devices(subject, trace_->tables())) {
    gpu_row row;
    row.label = index::short_label(device.id, trace_->tables());
    row.name = std::string(trace_->tables().text(device.name));
    row.memory_bytes = device.memory_bytes;
    row.reserved = metrics::reserved_bytes(subject.whole, device.id, trace_->tables(), metrics::memory_moment::at_end);
    if (const auto* used = judged_ ? find(subject.whole, device.id, *judged_) : nullptr) {
      row.used = used->at_end;
      const auto* before = minute ? find(*minute, device.id, *judged_) : nullptr;
      row.change =
          static_cast<std::int64_t>(used->at_end) - static_cast<std::int64_t>(before != nullptr ? before->at_begin : 0);
    }
    for (const metrics::untracked_statistics& each : subject.whole.untracked)
      if (each.device == device.id) row.untracked = each.at_end;
    if (tracks) {
      for (const query::track& each : tracks->tracks) {
        if (each.kind != query::track_kind::memory || each.device != device.id) continue;
        const auto curves = settled(curves_[each.id], {.track = each.id, .range = last(1, subject.span), .width = 1});
        if (!curves) break;
        for (const query::band& band : curves->bands)
          if (band.role == query::band_role::total && !band.bins.empty())
            row.whole = static_cast<std::uint64_t>(std::max(0.0, band.bins.back().maximum));
      }
    }
    into.gpus.push_back(std::move(row));
  }
}

void queries::put_copies(top_metrics& into, const metrics::report& subject) {
  // Times of copies arrive later than calls. Up to the following time, all copies are known.
  time_range known = subject.span;
  if (const auto tracks = settled(tracks_, {}); tracks && tracks->complete_until != trace::unknown_time)
    known.end = std::clamp(tracks->complete_until, known.begin, known.end);
  into.second = last(one_second, known);
  const auto recent = settled(second_, {into.second});
  if (!recent) return;
  std::size_t place = 0;
  for (const trace::device_row& device : get_devices(subject, trace_->tables())) {
    gpu_row& row = into.gpus[place++];
    row.to_device = compute_rate(*recent, subject.whole, device.id, trace::direction::h2d);
    row.to_host = compute_rate(*recent, subject.whole, device.id, trace::direction::d2h);
  }
}

void queries::put_processes(top_metrics& into, const metrics::report& subject) {
  const time_range now = last(1, subject.span);
  const trace::tables& tables = trace_->tables();
  /// Bytes of each process in one device, layer and kind of memory.
  const auto by_process = [&](trace::device_id device, trace::layer layer, trace::memory_kind kind) {
    std::map<trace::process_id, std::uint64_t> bytes;
    const auto groups = settled(groups_[{device, layer, kind}], {.range = now,
                                                                 .width = 1,
                                                                 .by = query::memory_grouping::process,
                                                                 .layer = layer,
                                                                 .device = device,
                                                                 .kind = kind});
    if (groups)
      for (const query::memory_group& each : groups->groups)
        if (!each.bytes.empty()) bytes[trace::process_id{each.key}] = each.bytes.back();
    return bytes;
  };
  std::map<trace::process_id, std::vector<process_row>> rows;
  for (const trace::device_row& device : get_devices(subject, tables)) {
    std::map<trace::process_id, std::uint64_t> used;
    if (judged_) used = by_process(device.id, judged_->layer, judged_->kind);
    // Computed as in the report for a device, but from the process's own memory only.
    std::map<trace::process_id, metrics::range_statistics> own;
    for (const metrics::memory_statistics& each : subject.whole.memory) {
      if (each.device != device.id || each.layer != trace::layer::driver || each.at_end == 0 ||
          !index::is_device_resident(each.kind))
        continue;
      for (const auto& [process, bytes] : by_process(device.id, each.layer, each.kind)) {
        metrics::memory_statistics part = each;
        part.at_end = bytes;
        own[process].memory.push_back(part);
      }
    }
    for (const metrics::pool_statistics& each : subject.whole.pools) {
      const trace::pool_row* about = tables.pools.find(each.pool);
      if (about != nullptr && about->device == device.id && each.reserved_at_end > 0)
        own[about->process].pools.push_back(each);
    }
    for (const auto& [process, bytes] : used) own[process];
    for (const auto& [process, statistics] : own) {
      process_row row;
      row.gpu = index::short_label(device.id, tables);
      row.used = used[process];
      row.reserved = metrics::reserved_bytes(statistics, device.id, tables, metrics::memory_moment::at_end);
      if (row.used > 0 || row.reserved > 0) rows[process].push_back(std::move(row));
    }
  }
  for (const metrics::process_metric& process : subject.processes) {
    auto& of_process = rows[process.process];
    if (of_process.empty()) of_process.emplace_back();
    for (process_row& row : of_process) {
      row.pid = process.pid;
      row.rank = process.rank;
      row.command = get_command(process);
      into.processes.push_back(std::move(row));
    }
  }
  std::stable_sort(into.processes.begin(), into.processes.end(), [](const process_row& a, const process_row& b) {
    return std::pair(a.used, a.reserved) > std::pair(b.used, b.reserved);
  });
}

void queries::put_held(top_metrics& into, const metrics::report& subject) {
  if (!judged_) return;
  trace::device_id most{};
  std::uint64_t highest = 0;
  bool found = false;
  for (const metrics::memory_statistics& each : subject.whole.memory) {
    if (each.layer != judged_->layer || each.kind != judged_->kind || (found && each.at_end <= highest)) continue;
    most = each.device;
    highest = each.at_end;
    found = true;
  }
  const auto view = settled(held_, {.range = subject.span,
                                    .measure = query::stack_measure::live,
                                    .at = subject.span.end - 1,
                                    .layer = judged_->layer,
                                    .device = most,
                                    .kind = judged_->kind,
                                    .grouping = {true, subject.grouping}});
  if (!view) return;
  into.stacks = view->recorded;
  into.held_title =
      fmt::format("{}, {}, by {}", index::short_label(most, trace_->tables()),
                  trace::describe_memory(judged_->layer, judged_->kind), symbols::get_name(subject.grouping));
  const std::vector<metrics::stack_node>& nodes = view->tree.nodes;
  for (std::size_t at = 1; at < nodes.size() && into.held.size() < max_held; at = nodes[at].end) {
    const metrics::stack_metrics& stack_metrics = nodes[at].all;
    const std::uint64_t total = nodes[0].all.bytes;
    into.held.push_back({stack_metrics.bytes, stack_metrics.count,
                         total > 0 ? static_cast<double>(stack_metrics.bytes) / static_cast<double>(total) : 0,
                         symbols::format_place_and_name(view->lines[nodes[at].line])});
  }
}

}  // namespace sluice::cli::top
