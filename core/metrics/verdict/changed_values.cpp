#include "core/metrics/verdict/changed_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/report/report.hpp"
#include "core/metrics/verdict/cause_times.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::metrics {
namespace {

/// Makes the rows of one comparison.
class value_lister {
 public:
  value_lister(const named_report& before, const named_report& after, const run_change& change)
      : sides_{&before, &after}, change_(change) {
    whole_time_ = static_cast<double>(std::max(change.time_before, change.time_after));
    whole_memory_ = static_cast<double>(std::max(before.subject.verdict.peak, after.subject.verdict.peak));
  }

  changed_values list() {
    if (change_.time_before > 0 && change_.time_after > 0)
      add_time(change_.by_step ? "A step" : "Active time", {}, static_cast<double>(change_.time_before),
               static_cast<double>(change_.time_after));
    add_idle();
    add_work();
    add_memory();
    std::stable_sort(out_.main.begin(), out_.main.end(), [](const changed_value& a, const changed_value& b) {
      return std::pair(a.differs(), std::abs(a.share)) > std::pair(b.differs(), std::abs(b.share));
    });
    list_steps();
    list_kernels();
    list_copies();
    return std::move(out_);
  }

 private:
  [[nodiscard]] const report& of(std::size_t side) const { return sides_[side]->subject; }

  /// By how much the sums of a side are divided: the number of its devices, and of its steps if `by_step`.
  [[nodiscard]] double get_divisor(std::size_t side) const {
    const run_verdict& verdict = of(side).verdict;
    return static_cast<double>(std::max<std::size_t>(verdict.devices.size(), 1)) *
           (change_.by_step ? static_cast<double>(std::max<std::uint64_t>(verdict.steps, 1)) : 1.0);
  }

  static double get_share(double change, double whole) { return whole > 0 ? std::clamp(change / whole, -1.0, 1.0) : 0; }

  changed_value make_time(std::string what, std::string where, std::optional<double> before,
                          std::optional<double> after) const {
    changed_value value{std::move(what), std::move(where), compared_unit::time, before, after};
    value.share = get_share(value.change(), whole_time_);
    return value;
  }

  void add_time(std::string what, std::string where, std::optional<double> before, std::optional<double> after) {
    out_.main.push_back(make_time(std::move(what), std::move(where), before, after));
  }

  /// The line of a cause of idle time, from the side where it is longer.
  [[nodiscard]] std::string find_line(gap_cause cause, bool later) const {
    const finding* most = nullptr;
    for (const finding& each : of(later ? 1 : 0).findings) {
      const bool waits = each.kind == finding_kind::idle_gaps || each.kind == finding_kind::frequent_waits ||
                         each.kind == finding_kind::hidden_waits;
      if (!waits || !each.where.known || each.where.line.file.empty() || each.detail != get_words(cause)) continue;
      if (most == nullptr || each.saves.share > most->saves.share) most = &each;
    }
    return most == nullptr ? std::string() : to_text(most->where);
  }

  void add_idle() {
    if (!change_.idle_known) return;
    std::array<std::array<double, gap_cause_count>, 2> times{};
    for (std::size_t side = 0; side < 2; ++side)
      for (const device_idle& each : of(side).waste.idle_times) {
        const auto found = sum_recurring(each, of(side).waste);
        for (std::size_t i = 0; i < gap_cause_count; ++i) times[side][i] += found[i] / get_divisor(side);
      }
    for (std::size_t i = 0; i < gap_cause_count; ++i) {
      if (times[0][i] <= 0 && times[1][i] <= 0) continue;
      const auto cause = static_cast<gap_cause>(i);
      add_time(fmt::format("Idle: {}", get_words(cause)), find_line(cause, times[1][i] > times[0][i]), times[0][i],
               times[1][i]);
    }
  }

  template <class Part>
  [[nodiscard]] std::optional<double> sum_over_devices(std::size_t side, Part&& part) const {
    const auto& devices = of(side).verdict.devices;
    if (devices.empty()) return std::nullopt;
    double sum = 0;
    for (const device_time& each : devices) sum += static_cast<double>(part(each));
    return sum / get_divisor(side);
  }

  void add_work() {
    const auto add = [&](const char* what, auto&& part) {
      const auto before = sum_over_devices(0, part), after = sum_over_devices(1, part);
      if (before.value_or(0) > 0 || after.value_or(0) > 0) add_time(what, {}, before, after);
    };
    add("Kernels", [](const device_time& each) { return each.busy; });
    add("Only copies", [](const device_time& each) { return each.only_copies; });
    add("Only collectives", [](const device_time& each) { return each.only_collectives; });
  }

  void add_bytes(std::string what, std::string where, std::uint64_t before, std::uint64_t after) {
    if (before == 0 && after == 0) return;
    changed_value value{std::move(what), std::move(where), compared_unit::bytes, static_cast<double>(before),
                        static_cast<double>(after)};
    value.share = get_share(value.change(), whole_memory_);
    out_.main.push_back(std::move(value));
  }

  void add_memory() {
    const memory_peak* before = main_peak(of(0));
    const memory_peak* after = main_peak(of(1));
    const memory_peak* larger =
        after == nullptr || (before != nullptr && before->bytes > after->bytes) ? before : after;
    std::string line;
    if (larger != nullptr && !larger->lines.empty()) line = symbols::get_place(larger->lines.lines.front().line);
    add_bytes("Peak", line.empty() ? line : "mostly " + line, of(0).verdict.peak, of(1).verdict.peak);
    const auto reserved = [](const report& of) {
      std::uint64_t most = 0;
      for (const pool_statistics& each : of.whole.pools) most = std::max(most, each.reserved_maximum);
      return most;
    };
    add_bytes("Reserved by a pool", {}, reserved(of(0)), reserved(of(1)));
    const auto pinned = [](const report& of) {
      std::uint64_t most = 0;
      for (const memory_statistics& each : of.whole.memory)
        if (each.kind == trace::memory_kind::pinned && each.layer == trace::layer::driver)
          most = std::max(most, each.maximum);
      return most;
    };
    add_bytes("Pinned host memory", {}, pinned(of(0)), pinned(of(1)));
  }

  /// The steps of the process whose step the verdict states.
  [[nodiscard]] const step_summary* find_steps(std::size_t side) const {
    for (const step_summary& each : of(side).steps)
      if (each.count > 0 && each.median_duration == of(side).verdict.step) return &each;
    return nullptr;
  }

  void list_steps() {
    const step_summary* before = find_steps(0);
    const step_summary* after = find_steps(1);
    if (before == nullptr || after == nullptr) return;
    std::map<std::int64_t, const step_metrics*> numbered;
    for (const step_metrics& each : after->steps) numbered.emplace(each.number, &each);
    for (const step_metrics& each : before->steps) {
      const auto found = numbered.find(each.number);
      if (found == numbered.end()) continue;
      const std::uint64_t a = each.peak, b = found->second->peak;
      std::string peaks;
      if (a > 0 || b > 0)
        peaks = a == b ? "peak " + format_bytes(b) : fmt::format("peak {} -> {}", format_bytes(a), format_bytes(b));
      out_.steps.push_back(make_time(fmt::format("Step {}", each.number), std::move(peaks),
                                     static_cast<double>(each.span.length()),
                                     static_cast<double>(found->second->span.length())));
    }
  }

  /// Of kernels that a report does not name, the time is unknown if it leaves some out.
  void list_kernels() {
    struct both {
      std::array<const named_time*, 2> times{};
    };
    std::map<std::string, both> named;
    for (std::size_t side = 0; side < 2; ++side)
      for (const named_time& each : of(side).whole.kernels)
        named[readable_name(sides_[side]->tables.text(each.name))].times[side] = &each;
    for (const auto& [name, each] : named) {
      std::array<std::optional<double>, 2> times;
      std::array<std::string, 2> runs;
      for (std::size_t side = 0; side < 2; ++side) {
        const bool all = of(side).whole.kernel_names <= of(side).whole.kernels.size();
        const named_time* found = each.times[side];
        if (found == nullptr && !all) {
          runs[side] = "unknown";
          continue;
        }
        times[side] = found == nullptr ? 0 : static_cast<double>(found->total) / get_divisor(side);
        runs[side] = format_count(found == nullptr ? 0 : found->count);
      }
      out_.kernels.push_back(
          make_time(name, runs[0] == runs[1] ? runs[1] + " runs" : fmt::format("{} -> {} runs", runs[0], runs[1]),
                    times[0], times[1]));
    }
    std::stable_sort(out_.kernels.begin(), out_.kernels.end(), [](const changed_value& a, const changed_value& b) {
      return std::abs(a.change()) > std::abs(b.change());
    });
  }

  /// Devices are matched by their order, because another run may get other GPUs.
  void list_copies() {
    using key = std::pair<std::size_t, trace::direction>;
    std::map<key, std::array<const transfer_statistics*, 2>> found;
    for (std::size_t side = 0; side < 2; ++side) {
      std::map<trace::device_id, std::size_t> order;
      for (const transfer_statistics& each : of(side).whole.transfers) {
        const std::size_t device = order.try_emplace(each.device, order.size()).first->second;
        found[{device, each.direction}][side] = &each;
      }
    }
    for (const auto& [which, sides] : found) {
      const std::size_t named = sides[1] != nullptr ? 1 : 0;
      const std::string what = fmt::format("{}, {}", index::short_label(sides[named]->device, sides_[named]->tables),
                                           get_name(which.second));
      const auto get = [&](std::size_t side, auto member) {
        return sides[side] == nullptr ? 0.0 : static_cast<double>(sides[side]->*member) / get_divisor(side);
      };
      const auto count = [&](std::size_t side) { return sides[side] == nullptr ? 0 : sides[side]->count; };
      const std::string copies = count(0) == count(1)
                                     ? format_some(count(1), "copy")
                                     : fmt::format("{} -> {}", format_count(count(0)), format_some(count(1), "copy"));
      out_.copies.push_back(
          make_time(what + ": time", copies, get(0, &transfer_statistics::busy), get(1, &transfer_statistics::busy)));
      changed_value bytes{what + ": bytes", copies, compared_unit::bytes, get(0, &transfer_statistics::bytes),
                          get(1, &transfer_statistics::bytes)};
      bytes.share = get_share(bytes.change(), std::max(*bytes.before, *bytes.after));
      out_.copies.push_back(std::move(bytes));
    }
  }

  std::array<const named_report*, 2> sides_;
  const run_change& change_;
  changed_values out_;
  double whole_time_ = 0, whole_memory_ = 0;
};

}  // namespace

change_trend changed_value::trend() const {
  if (!before || !after) return change_trend::open;
  if (!differs() || std::abs(*after - *before) <= run_change::same * std::max(*before, *after))
    return change_trend::same;
  if (!less_is_better) return change_trend::open;
  return *after < *before ? change_trend::better : change_trend::worse;
}

changed_values list_changed_values(const named_report& before, const named_report& after, const run_change& change) {
  return value_lister(before, after, change).list();
}

std::string format_value(compared_unit unit, const std::optional<double>& value) {
  if (!value) return "unknown";
  switch (unit) {
    case compared_unit::bytes:
      return format_bytes(*value);
    case compared_unit::count:
      return format_count(static_cast<std::uint64_t>(*value));
    case compared_unit::time:
      return format_time(static_cast<std::int64_t>(std::clamp(*value, -9.2e18, 9.2e18)));
    case compared_unit::rate:
      return format_rate(*value);
  }
  return {};
}

std::string format_difference(const changed_value& value) {
  if (!value.before || !value.after) return "unknown";
  if (!value.differs()) return "0";
  return (value.change() < 0 ? "-" : "+") + format_value(value.unit, std::abs(value.change()));
}

}  // namespace sluice::metrics
