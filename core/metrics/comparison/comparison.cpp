#include "core/metrics/comparison/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/symbols/attribution.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::metrics {
namespace {

using symbols::attribution;

/// Returns the label of a device. The number is omitted if it differs between the sides.
std::string device_name(matched_device device) {
  if (device.before < 0 && device.after < 0) return "host";
  return device.before == device.after ? fmt::format("GPU {}", device.before) : std::string("GPU");
}

std::uint64_t change_of(const grown_group& of) {
  return of.before.bytes > of.after.bytes ? of.before.bytes - of.after.bytes : of.after.bytes - of.before.bytes;
}

template <class Key>
std::vector<grown_group> sorted(std::map<Key, grown_group>&& groups) {
  std::vector<grown_group> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  std::stable_sort(all.begin(), all.end(),
                   [](const grown_group& a, const grown_group& b) { return change_of(a) > change_of(b); });
  return all;
}

void join(grown_group& into, const stack_change& change) {
  into.before.add(change.before);
  into.after.add(change.after);
  into.stacks_before.insert(into.stacks_before.end(), change.stacks_before.begin(), change.stacks_before.end());
  into.stacks_after.insert(into.stacks_after.end(), change.stacks_after.begin(), change.stacks_after.end());
}

std::vector<grown_group> by_line(const std::vector<stack_change>& changes) {
  std::map<std::pair<std::string, std::uint64_t>, grown_group> groups;
  for (const stack_change& change : changes) {
    const bool known = !change.stack.empty();
    grown_group& group = known ? groups[{text_to_match(change.line), change.line_after}] : groups[{}];
    const bool fresh = group.name.empty();
    group.name = known ? symbols::name_of(change.line) : "no stack recorded";
    // Take the place from `after` if that side has the line.
    if (known && (fresh || !change.stacks_after.empty())) {
      group.place = symbols::place_of(change.line);
      group.line = change.line;
    }
    join(group, change);
  }
  return sorted(std::move(groups));
}

/// Names the module of a change, from the side that has the stack. If both have it, their stacks have the same
/// functions.
class module_namer {
 public:
  module_namer(const named_side& before, const named_side& after)
      : before_{before.names, before.tables, symbols::frame_cache::lookup::at_once},
        after_{after.names, after.tables, symbols::frame_cache::lookup::at_once},
        names_before_(before.names),
        names_after_(after.names) {}

  /// Returns the module's name; empty if the stack names no module.
  std::string module_of(const stack_change& change) {
    if (!change.stacks_after.empty()) return name(after_, names_after_, change.stacks_after.front());
    return change.stacks_before.empty() ? std::string() : name(before_, names_before_, change.stacks_before.front());
  }

 private:
  static std::string name(symbols::attributor& who, symbols::frame_cache& names, trace::stack_id stack) {
    if (stack == trace::stack_id::none) return {};
    const symbols::line_id line = who.of(stack, attribution::module);
    return line == who.unknown(attribution::module) ? std::string() : symbols::name_of(names.line(line));
  }
  symbols::attributor before_, after_;
  symbols::frame_cache& names_before_;
  symbols::frame_cache& names_after_;
};

std::vector<grown_group> by_module(const std::vector<stack_change>& changes, module_namer& namer) {
  std::map<std::string, grown_group> groups;
  bool named = false;
  for (const stack_change& change : changes) {
    const std::string name = namer.module_of(change);
    named = named || !name.empty();
    grown_group& group = groups[name];
    group.name = name.empty() ? no_module : name;
    join(group, change);
  }
  return named ? sorted(std::move(groups)) : std::vector<grown_group>{};
}

/// Returns true if most of the difference is in named modules.
bool differ_by_module(const memory_difference& of) {
  std::uint64_t named = 0;
  std::uint64_t all = 0;
  for (const grown_group& each : of.modules)
    if (each.name != no_module) named += change_of(each);
  for (const grown_group& each : of.lines) all += change_of(each);
  return named > all / 2;
}

const peak_composition* composition_of(const compared_side& side, const memory_statistics& of) {
  for (const peak_composition& each : side.compositions)
    if (each.device == of.device && each.layer == of.layer && each.kind == of.kind) return &each;
  return nullptr;
}

std::vector<grown_group> by_category(const named_side& before, const named_side& after, const memory_change& change) {
  std::map<std::string, grown_group> groups;
  const auto add = [&](const peak_composition* of, stack_metrics grown_group::*side) {
    if (of == nullptr) return;
    for (const category_share& share : of->shares) {
      grown_group& group = groups[std::string(index::category_name(share.what))];
      group.name = index::category_name(share.what);
      group.what = share.what;
      (group.*side).add({share.bytes, share.blocks, 0, 0});
    }
  };
  add(composition_of(before.side, change.before), &grown_group::before);
  add(composition_of(after.side, change.after), &grown_group::after);
  return sorted(std::move(groups));
}

memory_difference difference_of(const named_side& before, const named_side& after, const memory_change& change,
                                module_namer& namer, const comparison_options& how) {
  memory_difference made;
  made.label = fmt::format("{}, {}: {}", device_name(change.device), name_of(change.layer), name_of(change.kind));
  made.layer = change.layer;
  made.before = change.before;
  made.after = change.after;
  made.lines = by_line(change.at_peak);
  made.modules = by_module(change.at_peak, namer);
  made.by_module = differ_by_module(made);
  made.categories = by_category(before, after, change);
  made.flames = merge_changes(change.at_peak, how.libraries);
  return made;
}

/// Returns the sum of a metric over all devices that did work.
double over_devices(const compared_side& side, const std::function<double(const device_activity&)>& metric) {
  double sum = 0;
  for (const device_activity& each : side.statistics.devices) sum += metric(each);
  return sum;
}

std::vector<compared_value> values_of(const compared_side& before, const compared_side& after, const difference& found,
                                      const std::vector<memory_difference>& memory) {
  std::vector<compared_value> all;
  const auto add = [&](std::string label, compared_unit unit, double a, double b) {
    if (a != 0 || b != 0) all.push_back({std::move(label), unit, a, b});
  };
  for (const memory_difference& each : memory)
    add("peak, " + each.label, compared_unit::bytes, static_cast<double>(each.before.maximum),
        static_cast<double>(each.after.maximum));
  const auto reserved = [](const compared_side& of) {
    double most = 0;
    for (const pool_statistics& pool : of.statistics.pools) most += static_cast<double>(pool.reserved_maximum);
    return most;
  };
  add("reserved by pools, sum of their peaks", compared_unit::bytes, reserved(before), reserved(after));
  const auto untracked = [](const compared_side& of) {
    double most = 0;
    for (const untracked_statistics& each : of.statistics.untracked) most += static_cast<double>(each.maximum);
    return most;
  };
  add("untracked, sum of the devices' peaks", compared_unit::bytes, untracked(before), untracked(after));
  for (const memory_difference& each : memory)
    add("allocations, " + each.label, compared_unit::count, static_cast<double>(each.before.allocations),
        static_cast<double>(each.after.allocations));
  for (const transfer_change& each : found.transfers) {
    const std::string what = fmt::format("{}, {}", device_name(each.device), name_of(each.direction));
    add("copied, " + what, compared_unit::bytes, each.before.bytes, each.after.bytes);
    add("copies, " + what, compared_unit::count, static_cast<double>(each.before.count),
        static_cast<double>(each.after.count));
    add("bandwidth, " + what, compared_unit::rate, each.before.mean_bandwidth, each.after.mean_bandwidth);
  }
  add("active time", compared_unit::time, static_cast<double>(before.statistics.active.length()),
      static_cast<double>(after.statistics.active.length()));
  add("median step", compared_unit::time, static_cast<double>(before.median_step),
      static_cast<double>(after.median_step));
  add("steps", compared_unit::count, static_cast<double>(before.step_count), static_cast<double>(after.step_count));
  const auto idle = [](const compared_side& side) {
    return over_devices(side, [&](const device_activity& of) {
      return std::max(0.0, static_cast<double>(side.statistics.active.length() - of.busy));
    });
  };
  add("GPU busy with kernels", compared_unit::time,
      over_devices(before, [](const device_activity& of) { return static_cast<double>(of.kernel_busy); }),
      over_devices(after, [](const device_activity& of) { return static_cast<double>(of.kernel_busy); }));
  add("GPU waited for copies", compared_unit::time,
      over_devices(before, [](const device_activity& of) { return static_cast<double>(of.copy_only); }),
      over_devices(after, [](const device_activity& of) { return static_cast<double>(of.copy_only); }));
  add("GPU idle in the active time", compared_unit::time, idle(before), idle(after));
  return all;
}

}  // namespace

comparison make_comparison(const named_side& before, const named_side& after, const comparison_options& how,
                           const std::atomic<bool>& cancelled) {
  const difference found = compare({before.side.metrics, before.tables}, before.names,
                                   {after.side.metrics, after.tables}, after.names, how.devices);
  comparison made;
  module_namer namer(before, after);
  for (const memory_change& change : found.memory) {
    if (cancelled) return made;
    made.memory.push_back(difference_of(before, after, change, namer, how));
  }
  const auto peak = [](const memory_difference& of) { return std::max(of.before.maximum, of.after.maximum); };
  std::stable_sort(made.memory.begin(), made.memory.end(), [&](const auto& a, const auto& b) {
    return a.layer != b.layer ? a.layer > b.layer : peak(a) > peak(b);
  });
  made.values = values_of(before.side, after.side, found, made.memory);
  return made;
}

}  // namespace sluice::metrics
