#include "core/metrics/check/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/index/labels.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::metrics {
namespace {

using trace::direction;
using trace::layer;
using trace::memory_kind;

/// Returns text such as "train.py:20, forward".
std::string words_of_line(const symbols::frame_line& line) {
  const std::string place = symbols::get_place(line);
  const std::string name = symbols::get_name(line);
  return place.empty() ? name : place + ", " + name;
}

/// Adds the value of one device or process. Returns true if this is the highest value so far.
bool put_part(condition& into, std::string text, double value) {
  into.parts.push_back({std::move(text), value});
  if (into.measured && *into.measured >= value) return false;
  into.measured = value;
  return true;
}

/// Names the line with the most bytes. `bytes`: the total to which `uses` contribute.
void put_largest_line(condition& into, const line_uses& uses, std::uint64_t bytes) {
  if (uses.empty()) return;
  const line_use& most = uses.lines.front();
  into.line = most.line;
  into.where = fmt::format(
      "{}: {} ({})", words_of_line(most.line), format_bytes(most.metrics.bytes),
      format_share(static_cast<double>(most.metrics.bytes) / static_cast<double>(std::max<std::uint64_t>(bytes, 1))));
}

class condition_evaluator {
 public:
  explicit condition_evaluator(const check_subject& subject)
      : subject_(subject), of_(subject.whole), doubt_(memory_doubt(subject.whole)) {}

  std::vector<condition> all(const check_limits& limits) {
    if (limits.peak) made_.push_back(peak(*limits.peak));
    if (limits.reserved) made_.push_back(reserved(*limits.reserved));
    if (limits.growth) made_.push_back(growth(*limits.growth));
    if (limits.no_leaks) made_.push_back(leaks());
    if (limits.pageable) made_.push_back(pageable(*limits.pageable));
    if (limits.idle) made_.push_back(idle(*limits.idle));
    if (limits.findings) made_.push_back(findings(*limits.findings));
    return std::move(made_);
  }

 private:
  static condition named(const char* name, quantity wanted, double limit) {
    condition parsed;
    parsed.name = name;
    parsed.kind = wanted;
    parsed.limit = limit;
    return parsed;
  }

  [[nodiscard]] std::string label(trace::device_id device) const { return index::short_label(device, subject_.tables); }

  condition peak(std::uint64_t limit) const {
    condition parsed = named("max-peak", quantity::bytes, static_cast<double>(limit));
    const auto judged = most_telling_memory(of_);
    if (!judged) {
      parsed.reason = "the recording has no device memory";
      return parsed;
    }
    for (const memory_peak& each : of_.peaks) {
      if (each.layer != judged->layer || each.kind != judged->kind) continue;
      if (!put_part(parsed, label(each.device), static_cast<double>(each.bytes))) continue;
      parsed.about = fmt::format("{} of {}", trace::describe_memory(each.layer, each.kind), label(each.device));
      parsed.where.clear();
      parsed.line.reset();
      put_largest_line(parsed, each.lines, each.bytes);
    }
    judge(parsed, doubt_);
    return parsed;
  }

  condition reserved(std::uint64_t limit) const {
    condition parsed = named("max-reserved", quantity::bytes, static_cast<double>(limit));
    for (const trace::device_row& device : subject_.tables.devices.rows()) {
      const std::uint64_t bytes = reserved_bytes(of_.whole, device.id, subject_.tables);
      if (bytes == 0 || !put_part(parsed, label(device.id), static_cast<double>(bytes))) continue;
      parsed.about = "memory reserved from the driver on " + label(device.id);
      parsed.where.clear();
      parsed.line.reset();
      const memory_peak* largest = nullptr;
      for (const memory_peak& each : of_.peaks) {
        if (each.device != device.id || each.layer != layer::driver || !index::is_device_resident(each.kind)) continue;
        if (largest == nullptr || each.bytes > largest->bytes) largest = &each;
      }
      if (largest != nullptr) put_largest_line(parsed, largest->lines, largest->bytes);
    }
    if (!parsed.measured) {
      parsed.reason = "reserved memory is unknown: the recording has neither driver calls nor pools";
      return parsed;
    }
    judge(parsed, doubt_);
    return parsed;
  }

  condition growth(std::uint64_t limit) const {
    condition parsed = named("max-growth", quantity::bytes_per_step, static_cast<double>(limit));
    constexpr std::uint64_t min_steps = 6;  // With fewer steps, `step_summary::growth` is 0 and meaningless.
    for (const step_summary& steps : of_.steps) {
      if (steps.count < min_steps) continue;
      if (!put_part(parsed, index::process_label(steps.process, subject_.tables), steps.growth)) continue;
      parsed.about =
          fmt::format("{} of {}, over {}", trace::describe_memory(steps.layer, steps.kind),
                      index::process_label(steps.process, subject_.tables), format_some(steps.count, "step"));
      parsed.where = steps.steps.empty() ? std::string()
                                         : fmt::format("in use when a step starts: {} in the first, {} in the last",
                                                       format_bytes(steps.steps.front().at_begin),
                                                       format_bytes(steps.steps.back().at_begin));
    }
    if (!parsed.measured) {
      parsed.reason = of_.steps.empty() ? "no steps were recorded; call sluice.step() in the program's loop"
                                        : "growth needs at least 6 steps";
      return parsed;
    }
    judge(parsed, doubt_);
    return parsed;
  }

  /// True for findings that report a likely leak. These are blocks that are allocated again and again, and memory that
  /// grows from step to step.
  static bool is_leak(const finding& each) {
    return each.kind == finding_kind::memory_grows ||
           (each.kind == finding_kind::unfreed_blocks && each.severity >= trace::severity::warning);
  }

  [[nodiscard]] std::optional<symbols::frame_line> get_line(trace::event_id event) const {
    return subject_.get_line && event != trace::event_id::none ? subject_.get_line(event) : std::nullopt;
  }

  void put_finding(condition& into, const finding& first) const {
    into.line = first.where.known ? std::optional(first.where.line) : get_line(first.event);
    into.where = into.line ? words_of_line(*into.line) + ": " + first.text : first.text;
  }

  condition leaks() const {
    condition parsed = named("no-leaks", quantity::count, 0);
    parsed.about = "findings that are likely leaks";
    double found = 0;
    for (const finding& each : of_.findings) {
      if (!is_leak(each)) continue;
      if (found == 0) put_finding(parsed, each);
      ++found;
    }
    parsed.measured = found;
    if (!most_telling_memory(of_)) {
      parsed.measured.reset();
      parsed.reason = "the recording has no device memory";
      return parsed;
    }
    judge(parsed, doubt_);
    return parsed;
  }

  /// True if copies were recorded, or would have been recorded if there had been any.
  [[nodiscard]] bool copies_known() const {
    return !of_.whole.transfers.empty() ||
           std::any_of(of_.processes.begin(), of_.processes.end(),
                       [](const process_metric& each) { return each.mode != trace::recording_mode::unknown; });
  }

  condition pageable(double limit) const {
    condition parsed = named("max-pageable", quantity::share, limit);
    parsed.about = "pageable share of the bytes copied between host and devices";
    if (!copies_known()) {
      parsed.reason = "the recording has no copies";
      return parsed;
    }
    double bytes = 0;
    double unclear = 0;         // Bytes of copies whose host side is unknown.
    std::uint64_t unsized = 0;  // Number of copies whose size is not in the file.
    for (const transfer_statistics& way : of_.whole.transfers) {
      if (way.direction != direction::h2d && way.direction != direction::d2h) continue;
      double known = 0;
      for (const transfer_part& part : way.parts) {
        if (part.host_side != memory_kind::unknown) known += part.bytes;
        if (part.host_side == memory_kind::host) bytes += part.bytes;
        if (part.host_side != memory_kind::pinned && part.bytes <= 0) unsized += part.count;
      }
      unclear += std::max(0.0, way.bytes - known);
    }
    const double total = copied_bytes(of_);
    parsed.measured = total > 0 ? bytes / total : 0;
    put_pageable_line(parsed);
    judge(parsed, {});
    if (parsed.status == verdict::met && total > 0 && (bytes + unclear) / total > limit) {
      parsed.status = verdict::unknown;
      parsed.reason = fmt::format("the recording does not show whether {} of the copied bytes were pageable",
                                  format_bytes(unclear));
    } else if (parsed.status == verdict::met && unsized > 0) {
      parsed.status = verdict::unknown;
      parsed.reason =
          fmt::format("the size of {} was not recorded", unsized == 1 ? "a copy" : fmt::format("{} copies", unsized));
    }
    return parsed;
  }

  void put_pageable_line(condition& into) const {
    const line_use* most = nullptr;
    for (const copying_lines& each : of_.copying) {
      if (each.direction != direction::h2d && each.direction != direction::d2h) continue;
      for (const line_use& use : each.uses.lines)
        if (most == nullptr || use.metrics.bytes > most->metrics.bytes) most = &use;
    }
    if (most == nullptr) return;
    into.line = most->line;
    into.where = fmt::format("{} copies most: {}", words_of_line(most->line), format_bytes(most->metrics.bytes));
  }

  condition idle(double limit) const {
    condition parsed = named("max-idle", quantity::share, limit);
    const double active = static_cast<double>(of_.whole.active.length());
    for (const device_activity& each : of_.whole.devices) {
      if (each.kernels == 0 || active <= 0) continue;
      const double share = std::clamp(1 - static_cast<double>(each.busy) / active, 0.0, 1.0);
      if (!put_part(parsed, label(each.device), share)) continue;
      parsed.about = fmt::format("share of the active time ({}) in which {} was idle",
                                 format_time(of_.whole.active.length()), label(each.device));
    }
    if (!parsed.measured) {
      parsed.reason = "kernel times were not recorded; record with --mode timeline";
      return parsed;
    }
    judge(parsed, of_.whole.lost_events > 0
                      ? fmt::format("the recorder lost {}", format_some(of_.whole.lost_events, "event"))
                  : of_.complete ? std::string()
                                 : doubt_);
    return parsed;
  }

  condition findings(trace::severity severity) const {
    condition parsed = named("findings", quantity::count, 0);
    parsed.about = severity == trace::severity::error     ? "errors"
                   : severity == trace::severity::warning ? "errors and warnings"
                                                          : "errors, warnings and notes";
    double found = 0;
    for (const finding& each : of_.findings) {
      if (each.severity < severity) continue;
      if (found == 0) put_finding(parsed, each);
      ++found;
    }
    parsed.measured = found;
    judge(parsed, of_.complete ? std::string() : doubt_);
    return parsed;
  }

  const check_subject& subject_;
  const report& of_;
  const std::string doubt_;
  std::vector<condition> made_;
};

}  // namespace

std::string_view get_name(verdict value) {
  constexpr std::array<std::string_view, 3> names = {"met", "not met", "unknown"};
  return names[static_cast<std::size_t>(value) % names.size()];
}

std::string format_quantity(double value, quantity wanted) {
  // Memory that shrinks from step to step has negative growth.
  const auto bytes = [](double number) { return number < 0 ? "-" + format_bytes(-number) : format_bytes(number); };
  switch (wanted) {
    case quantity::bytes:
      return bytes(value);
    case quantity::bytes_per_step:
      return bytes(value) + " per step";
    case quantity::share:
      return format_share(value);
    case quantity::time:
      return format_time(static_cast<time_ns>(value));
    case quantity::count:
      break;
  }
  return format_count(static_cast<std::uint64_t>(value));
}

bool check_limits::any() const { return peak || reserved || growth || no_leaks || pageable || idle || findings; }

std::optional<judged_memory> most_telling_memory(const report& subject) {
  for (const layer each : {layer::framework, layer::pool, layer::driver}) {
    for (const memory_kind kind : {memory_kind::device, memory_kind::physical, memory_kind::array}) {
      for (const memory_peak& peak : subject.peaks)
        if (peak.layer == each && peak.kind == kind) return judged_memory{each, kind};
    }
  }
  return std::nullopt;
}

std::uint64_t reserved_bytes(const range_statistics& statistics, trace::device_id device, const trace::tables& tables,
                             memory_moment at) {
  const bool highest = at == memory_moment::highest;
  std::uint64_t of_driver = 0;
  for (const memory_statistics& each : statistics.memory)
    if (each.device == device && each.layer == layer::driver && index::is_device_resident(each.kind))
      of_driver = saturating_sum(of_driver, highest ? each.maximum : each.at_end);
  std::uint64_t of_pool = 0;
  for (const pool_statistics& each : statistics.pools) {
    const trace::pool_row* row = tables.pools.find(each.pool);
    if (row == nullptr || row->device != device || !index::is_device_resident(row->kind)) continue;
    const std::uint64_t reserved = highest ? each.reserved_maximum : each.reserved_at_end;
    if (row->layer == layer::driver) {
      of_driver = saturating_sum(of_driver, reserved);
    } else {
      of_pool = std::max(of_pool, reserved);
    }
  }
  return std::max(of_driver, of_pool);
}

double copied_bytes(const report& subject) {
  double bytes = 0;
  for (const transfer_statistics& way : subject.whole.transfers)
    if (way.direction == direction::h2d || way.direction == direction::d2h) bytes += way.bytes;
  return bytes;
}

std::string memory_doubt(const report& subject) {
  if (subject.whole.lost_memory_events > 0)
    return fmt::format("the recorder lost {} allocations and frees", format_count(subject.whole.lost_memory_events));
  return subject.complete ? std::string() : "the recording is incomplete: later events are missing";
}

void judge(condition& subject, const std::string& doubt) {
  subject.status = *subject.measured > subject.limit ? verdict::not_met
                   : doubt.empty()                   ? verdict::met
                                                     : verdict::unknown;
  if (subject.status == verdict::unknown) subject.reason = doubt;
}

std::vector<condition> check(const check_subject& subject, const check_limits& limits) {
  return condition_evaluator(subject).all(limits);
}

verdict overall_verdict(std::span<const condition> conditions) {
  const auto one_is = [&](verdict wanted) {
    return std::any_of(conditions.begin(), conditions.end(),
                       [&](const condition& each) { return each.status == wanted; });
  };
  return one_is(verdict::not_met) ? verdict::not_met : one_is(verdict::unknown) ? verdict::unknown : verdict::met;
}

}  // namespace sluice::metrics
