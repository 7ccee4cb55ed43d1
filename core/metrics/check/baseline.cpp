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
  group_namer(const baseline_side& of, attribution by)
      : of_(of), by_(by), who_(of.names, of.tables, symbols::frame_cache::lookup::at_once) {}

  struct group {
    std::string key;    ///< Identifies the group; the same in both recordings.
    std::string words;  ///< The name to show.
    std::optional<symbols::frame_line> line;
  };

  group of(trace::stack_id stack) {
    if (stack == trace::stack_id::none || of_.tables.stacks.find(stack) == nullptr)
      return {"", "without a stack", std::nullopt};
    const symbols::frame_line line = of_.names.line(who_.of(stack, by_));
    const std::string name = symbols::name_of(line);
    const std::string_view file = file_name(line.file.empty() ? line.module : line.file);
    if (by_ != attribution::line) return {name, name, std::nullopt};
    const std::string place = symbols::place_of(line);
    // In older recordings, Python functions lack their class.
    return {std::string(symbols::simple_name(name)) + "@" + std::string(file),
            place.empty() ? name : place + ", " + name, line};
  }

 private:
  const baseline_side& of_;
  const attribution by_;
  symbols::attributor who_;
};

struct grown_group {
  changed_part part;
  std::optional<symbols::frame_line> line;
};

std::vector<grown_group> grown(const stack_use& before, const baseline_side& of_before, const stack_use& after,
                               const baseline_side& of_after, attribution by) {
  std::map<std::string, grown_group> groups;
  const auto add = [&](const stack_use& use, const baseline_side& side, bool is_after) {
    group_namer names(side, by);
    for (const stack_share& share : use.shares) {
      auto [key, words, line] = names.of(share.stack);
      grown_group& into = groups[key];
      into.part.of = std::move(words);
      into.line = std::move(line);
      (is_after ? into.part.after : into.part.before) += static_cast<double>(share.metrics.bytes);
    }
  };
  add(before, of_before, false);
  add(after, of_after, true);
  std::vector<grown_group> all;
  for (auto& [key, each] : groups)
    if (each.part.after > each.part.before) all.push_back(std::move(each));
  std::stable_sort(all.begin(), all.end(), [](const grown_group& a, const grown_group& b) {
    return a.part.after - a.part.before > b.part.after - b.part.before;
  });
  return all;
}

std::int64_t device_ordinal(trace::device_id device, const trace::tables& tables) {
  const trace::device_row* row = tables.devices.find(device);
  return row == nullptr ? -1 : row->ordinal;
}

/// Returns the metrics of the memory to check, on the device that used the most of that memory.
const compared_memory* highest_judged(const compared_metrics& of, const judged_memory& judged) {
  const compared_memory* most = nullptr;
  for (const compared_memory& each : of.memory) {
    if (each.metrics.layer != judged.layer || each.metrics.kind != judged.kind) continue;
    if (most == nullptr || each.metrics.maximum > most->metrics.maximum) most = &each;
  }
  return most;
}

/// Returns the stacks of all copies between host and devices.
stack_use host_copies(const compared_metrics& of) {
  stack_use all;
  for (const compared_transfers& each : of.transfers)
    if (each.metrics.direction == direction::h2d || each.metrics.direction == direction::d2h) all.join(each.sites);
  return all;
}

/// Returns the stacks that hold a device's driver-layer memory at the peak of that memory.
stack_use reserved_stacks(const compared_metrics& of, std::int64_t ordinal, const trace::tables& tables) {
  stack_use all;
  for (const compared_memory& each : of.memory)
    if (each.metrics.layer == trace::layer::driver && index::is_device_resident(each.metrics.kind) &&
        device_ordinal(each.metrics.device, tables) == ordinal)
      all.join(each.at_peak);
  return all;
}

std::optional<time_ns> step_time(const report& of) {
  std::optional<time_ns> longest;
  for (const step_summary& each : of.steps)
    if (each.count > 0) longest = std::max(longest.value_or(0), each.median_duration);
  return longest;
}

class baseline_judge {
 public:
  baseline_judge(const baseline_side& before, const baseline_side& now, double tolerance)
      : before_(before), now_(now), tolerance_(tolerance) {}

  std::vector<condition> all() const {
    std::vector<condition> made{peak()};
    if (auto bytes = reserved()) made.push_back(std::move(*bytes));
    made.push_back(copied());
    if (auto steps = step_times()) made.push_back(std::move(*steps));
    return made;
  }

 private:
  /// Makes a condition; if both values are known, also determines its verdict.
  [[nodiscard]] condition compared(const char* name, quantity what, std::optional<double> before,
                                   std::optional<double> now, const std::string& doubt) const {
    condition made;
    made.name = name;
    made.what = what;
    made.baseline = before;
    made.measured = now;
    if (before) made.limit = *before * (1 + tolerance_);
    if (before && now) {
      judge(made, doubt);
    } else {
      made.reason = !before ? "the baseline lacks this metric" : "the recording lacks this metric";
    }
    return made;
  }

  [[nodiscard]] std::string doubt() const {
    const std::string of_old = memory_doubt(before_.of);
    return of_old.empty() ? memory_doubt(now_.of) : "baseline: " + of_old;
  }

  void put_growth(condition& into, const stack_use& before, const stack_use& now) const {
    const auto lines = grown(before, before_, now, now_, attribution::line);
    for (std::size_t i = 0; i < std::min(lines.size(), grown_limit); ++i) into.lines.push_back(lines[i].part);
    into.modules = grown_parts(before, before_, now, now_, attribution::module, grown_limit);
    if (lines.empty()) return;
    into.line = lines.front().line;
    into.where = lines.front().part.of + ": +" + format_bytes(lines.front().part.after - lines.front().part.before);
  }

  [[nodiscard]] condition peak() const {
    const auto judged_before = most_telling_memory(before_.of);
    const auto judged_now = most_telling_memory(now_.of);
    if (judged_before && judged_now &&
        (judged_before->layer != judged_now->layer || judged_before->kind != judged_now->kind)) {
      condition made = compared("baseline-peak", quantity::bytes, {}, {}, {});
      made.reason = "the baseline has memory of another layer: record both the same way";
      return made;
    }
    const compared_memory* before = judged_before ? highest_judged(before_.compared, *judged_before) : nullptr;
    const compared_memory* now = judged_now ? highest_judged(now_.compared, *judged_now) : nullptr;
    const auto bytes = [](const compared_memory* of) {
      return of == nullptr ? std::nullopt : std::optional(static_cast<double>(of->metrics.maximum));
    };
    condition made = compared("baseline-peak", quantity::bytes, bytes(before), bytes(now), doubt());
    if (now != nullptr)
      made.about = std::string(trace::name_of(now->metrics.layer)) + " layer, " +
                   std::string(trace::name_of(now->metrics.kind)) + " memory of " +
                   index::short_label(now->metrics.device, now_.tables);
    if (before != nullptr && now != nullptr) put_growth(made, before->at_peak, now->at_peak);
    return made;
  }

  struct reserved_metric {
    double bytes = 0;
    trace::device_id device{};
  };
  static std::optional<reserved_metric> max_reserved(const baseline_side& side) {
    std::optional<reserved_metric> most;
    for (const trace::device_row& device : side.tables.devices.rows()) {
      const auto bytes = static_cast<double>(reserved_bytes(side.of.whole, device.id, side.tables));
      if (bytes > 0 && (!most || bytes > most->bytes)) most = {bytes, device.id};
    }
    return most;
  }

  [[nodiscard]] std::optional<condition> reserved() const {
    const auto before = max_reserved(before_);
    const auto now = max_reserved(now_);
    if (!before && !now) return std::nullopt;
    const auto bytes = [](const auto& of) { return of ? std::optional(of->bytes) : std::nullopt; };
    condition made = compared("baseline-reserved", quantity::bytes, bytes(before), bytes(now), doubt());
    if (now) made.about = "memory reserved from the driver on " + index::short_label(now->device, now_.tables);
    if (before && now)
      put_growth(made,
                 reserved_stacks(before_.compared, device_ordinal(before->device, before_.tables), before_.tables),
                 reserved_stacks(now_.compared, device_ordinal(now->device, now_.tables), now_.tables));
    return made;
  }

  [[nodiscard]] condition copied() const {
    condition made = compared("baseline-copied", quantity::bytes, copied_bytes(before_.of), copied_bytes(now_.of),
                              before_.of.complete && now_.of.complete ? std::string() : doubt());
    made.about = "bytes copied between host and devices";
    put_growth(made, host_copies(before_.compared), host_copies(now_.compared));
    return made;
  }

  [[nodiscard]] std::optional<condition> step_times() const {
    const auto before = step_time(before_.of);
    const auto now = step_time(now_.of);
    if (!before && !now) return std::nullopt;
    const auto number = [](std::optional<time_ns> of) {
      return of ? std::optional(static_cast<double>(*of)) : std::nullopt;
    };
    condition made = compared("baseline-step-time", quantity::time, number(before), number(now), {});
    made.about = "median step time";
    return made;
  }

  const baseline_side& before_;
  const baseline_side& now_;
  const double tolerance_;
};

}  // namespace

std::vector<changed_part> grown_parts(const stack_use& before, const baseline_side& of_before, const stack_use& after,
                                      const baseline_side& of_after, attribution by, std::size_t limit) {
  std::vector<changed_part> made;
  for (grown_group& each : grown(before, of_before, after, of_after, by)) {
    if (made.size() == limit) break;
    made.push_back(std::move(each.part));
  }
  return made;
}

std::vector<condition> check_baseline(const baseline_side& before, const baseline_side& now, double tolerance) {
  return baseline_judge(before, now, tolerance).all();
}

}  // namespace sluice::metrics
