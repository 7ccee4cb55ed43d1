#include "core/metrics/check/baseline.hpp"

#include <algorithm>
#include <map>

#include "core/base/format.hpp"
#include "core/base/recorded_path.hpp"
#include "core/index/labels.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::metrics {
namespace {

using symbols::attribution;
using trace::direction;

/// Names the groups of one side.
class group_namer {
 public:
  group_namer(const baseline_side& side, attribution by)
      : of_(side), by_(by), who_(side.names, side.tables, symbols::frame_cache::lookup::at_once) {}

  struct group {
    std::string key;    ///< Identifies the group; the same in both recordings.
    std::string words;  ///< The name to show.
    std::optional<symbols::frame_line> line;
  };

  group of(trace::stack_id stack) {
    if (stack == trace::stack_id::none || of_.tables.stacks.find(stack) == nullptr)
      return {"", "without a stack", std::nullopt};
    const symbols::frame_line line = of_.names.line(who_.of(stack, by_));
    const std::string name = symbols::get_name(line);
    const std::string_view file = file_name(line.file.empty() ? line.module : line.file);
    if (by_ != attribution::line) return {name, name, std::nullopt};
    const std::string place = symbols::get_place(line);
    // In older recordings, Python functions lack their class.
    return {std::string(symbols::simple_name(name)) + "@" + std::string(file),
            place.empty() ? name : place + ", " + name, line};
  }

 private:
  const baseline_side& of_;
  const attribution by_;
  symbols::attributor who_;
};

struct grown_line {
  changed_part part;
  std::optional<symbols::frame_line> line;
};

std::vector<grown_line> grown(const stack_use& before, const baseline_side& of_before, const stack_use& after,
                              const baseline_side& of_after, attribution by) {
  std::map<std::string, grown_line> groups;
  const auto add = [&](const stack_use& use, const baseline_side& side, bool is_after) {
    group_namer names(side, by);
    for (const stack_share& share : use.shares) {
      auto [key, words, line] = names.of(share.stack);
      grown_line& into = groups[key];
      into.part.name = std::move(words);
      into.line = std::move(line);
      (is_after ? into.part.after : into.part.before) += static_cast<double>(share.metrics.bytes);
    }
  };
  add(before, of_before, false);
  add(after, of_after, true);
  std::vector<grown_line> items;
  for (auto& [key, each] : groups)
    if (each.part.after > each.part.before) items.push_back(std::move(each));
  std::stable_sort(items.begin(), items.end(), [](const grown_line& a, const grown_line& b) {
    return a.part.after - a.part.before > b.part.after - b.part.before;
  });
  return items;
}

std::int64_t device_ordinal(trace::device_id device, const trace::tables& tables) {
  const trace::device_row* row = tables.devices.find(device);
  return row == nullptr ? -1 : row->ordinal;
}

/// Returns the metrics of the memory to check, on the device that used the most of that memory.
const compared_memory* highest_judged(const compared_metrics& subject, const judged_memory& judged) {
  const compared_memory* most = nullptr;
  for (const compared_memory& each : subject.memory) {
    if (each.metrics.layer != judged.layer || each.metrics.kind != judged.kind) continue;
    if (most == nullptr || each.metrics.maximum > most->metrics.maximum) most = &each;
  }
  return most;
}

/// Returns the stacks of all copies between host and devices.
stack_use host_copies(const compared_metrics& subject) {
  stack_use use;
  for (const compared_transfers& each : subject.transfers)
    if (each.metrics.direction == direction::h2d || each.metrics.direction == direction::d2h) use.join(each.sites);
  return use;
}

/// Returns the stacks that hold a device's driver-layer memory at the peak of that memory.
stack_use reserved_stacks(const compared_metrics& subject, std::int64_t ordinal, const trace::tables& tables) {
  stack_use use;
  for (const compared_memory& each : subject.memory)
    if (each.metrics.layer == trace::layer::driver && index::is_device_resident(each.metrics.kind) &&
        device_ordinal(each.metrics.device, tables) == ordinal)
      use.join(each.at_peak);
  return use;
}

std::optional<time_ns> step_time(const report& subject) {
  std::optional<time_ns> longest;
  for (const step_summary& each : subject.steps)
    if (each.count > 0) longest = std::max(longest.value_or(0), each.median_duration);
  return longest;
}

class baseline_judge {
 public:
  baseline_judge(const baseline_side& before, const baseline_side& now, double tolerance)
      : before_(before), now_(now), tolerance_(tolerance) {}

  std::vector<condition> all() const {
    std::vector<condition> conditions{peak()};
    if (auto bytes = reserved()) conditions.push_back(std::move(*bytes));
    conditions.push_back(copied());
    if (auto steps = step_times()) conditions.push_back(std::move(*steps));
    return conditions;
  }

 private:
  /// Makes a condition. If both values are known, also determines its verdict.
  [[nodiscard]] condition compared(const char* name, quantity wanted, std::optional<double> before,
                                   std::optional<double> now, const std::string& doubt) const {
    condition parsed;
    parsed.name = name;
    parsed.kind = wanted;
    parsed.baseline = before;
    parsed.measured = now;
    if (before) parsed.limit = *before * (1 + tolerance_);
    if (before && now) {
      judge(parsed, doubt);
    } else {
      parsed.reason = !before ? "the baseline lacks this metric" : "the recording lacks this metric";
    }
    return parsed;
  }

  [[nodiscard]] std::string doubt() const {
    const std::string of_old = memory_doubt(before_.whole);
    return of_old.empty() ? memory_doubt(now_.whole) : "baseline: " + of_old;
  }

  void put_growth(condition& into, const stack_use& before, const stack_use& now) const {
    const auto lines = grown(before, before_, now, now_, attribution::line);
    for (std::size_t i = 0; i < std::min(lines.size(), grown_limit); ++i) into.lines.push_back(lines[i].part);
    into.modules = grown_parts(before, before_, now, now_, attribution::module, grown_limit);
    if (lines.empty()) return;
    into.line = lines.front().line;
    into.where = lines.front().part.name + ": +" + format_bytes(lines.front().part.after - lines.front().part.before);
  }

  [[nodiscard]] condition peak() const {
    const auto judged_before = most_telling_memory(before_.whole);
    const auto judged_now = most_telling_memory(now_.whole);
    if (judged_before && judged_now &&
        (judged_before->layer != judged_now->layer || judged_before->kind != judged_now->kind)) {
      condition parsed = compared("baseline-peak", quantity::bytes, {}, {}, {});
      parsed.reason = "the baseline has memory of another layer; record both recordings in the same way";
      return parsed;
    }
    const compared_memory* before = judged_before ? highest_judged(before_.compared, *judged_before) : nullptr;
    const compared_memory* now = judged_now ? highest_judged(now_.compared, *judged_now) : nullptr;
    const auto bytes = [](const compared_memory* memory) {
      return memory == nullptr ? std::nullopt : std::optional(static_cast<double>(memory->metrics.maximum));
    };
    condition output = compared("baseline-peak", quantity::bytes, bytes(before), bytes(now), doubt());
    if (now != nullptr)
      output.about = trace::describe_memory(now->metrics.layer, now->metrics.kind) + " of " +
                     index::short_label(now->metrics.device, now_.tables);
    if (before != nullptr && now != nullptr) put_growth(output, before->at_peak, now->at_peak);
    return output;
  }

  struct reserved_metric {
    double bytes = 0;
    trace::device_id device{};
  };
  static std::optional<reserved_metric> max_reserved(const baseline_side& side) {
    std::optional<reserved_metric> most;
    for (const trace::device_row& device : side.tables.devices.rows()) {
      const auto bytes = static_cast<double>(reserved_bytes(side.whole.whole, device.id, side.tables));
      if (bytes > 0 && (!most || bytes > most->bytes)) most = {bytes, device.id};
    }
    return most;
  }

  [[nodiscard]] std::optional<condition> reserved() const {
    const auto before = max_reserved(before_);
    const auto now = max_reserved(now_);
    if (!before && !now) return std::nullopt;
    const auto bytes = [](const auto& subject) { return subject ? std::optional(subject->bytes) : std::nullopt; };
    condition parsed = compared("baseline-reserved", quantity::bytes, bytes(before), bytes(now), doubt());
    if (now) parsed.about = "memory reserved from the driver on " + index::short_label(now->device, now_.tables);
    if (before && now)
      put_growth(parsed,
                 reserved_stacks(before_.compared, device_ordinal(before->device, before_.tables), before_.tables),
                 reserved_stacks(now_.compared, device_ordinal(now->device, now_.tables), now_.tables));
    return parsed;
  }

  [[nodiscard]] condition copied() const {
    condition parsed =
        compared("baseline-copied", quantity::bytes, copied_bytes(before_.whole), copied_bytes(now_.whole),
                 before_.whole.complete && now_.whole.complete ? std::string() : doubt());
    parsed.about = "bytes copied between host and devices";
    put_growth(parsed, host_copies(before_.compared), host_copies(now_.compared));
    return parsed;
  }

  [[nodiscard]] std::optional<condition> step_times() const {
    const auto before = step_time(before_.whole);
    const auto now = step_time(now_.whole);
    if (!before && !now) return std::nullopt;
    const auto number = [](std::optional<time_ns> when) {
      return when ? std::optional(static_cast<double>(*when)) : std::nullopt;
    };
    condition parsed = compared("baseline-step-time", quantity::time, number(before), number(now), {});
    parsed.about = "median step time";
    return parsed;
  }

  const baseline_side& before_;
  const baseline_side& now_;
  const double tolerance_;
};

}  // namespace

std::vector<changed_part> grown_parts(const stack_use& before, const baseline_side& of_before, const stack_use& after,
                                      const baseline_side& of_after, attribution by, std::size_t limit) {
  std::vector<changed_part> items;
  for (grown_line& each : grown(before, of_before, after, of_after, by)) {
    if (items.size() == limit) break;
    items.push_back(std::move(each.part));
  }
  return items;
}

std::vector<condition> check_baseline(const baseline_side& before, const baseline_side& now, double tolerance) {
  return baseline_judge(before, now, tolerance).all();
}

}  // namespace sluice::metrics
