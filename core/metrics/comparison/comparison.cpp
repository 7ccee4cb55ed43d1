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

std::uint64_t make_change(const grown_group& group) {
  return group.before.bytes > group.after.bytes ? group.before.bytes - group.after.bytes
                                                : group.after.bytes - group.before.bytes;
}

template <class Key>
std::vector<grown_group> sorted(std::map<Key, grown_group>&& groups) {
  std::vector<grown_group> items;
  for (auto& [key, group] : groups) items.push_back(std::move(group));
  std::stable_sort(items.begin(), items.end(),
                   [](const grown_group& a, const grown_group& b) { return make_change(a) > make_change(b); });
  return items;
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
    group.name = known ? symbols::get_name(change.line) : "no stack recorded";
    // Take the place from `after` if that side has the line.
    if (known && (fresh || !change.stacks_after.empty())) {
      group.place = symbols::get_place(change.line);
      group.line = change.line;
    }
    join(group, change);
  }
  return sorted(std::move(groups));
}

/// Names the module of a change, from the side that has the stack. If both sides have the stack, their stacks have the
/// same functions.
class module_namer {
 public:
  module_namer(const named_side& before, const named_side& after)
      : before_{before.names, before.tables, symbols::frame_cache::lookup::at_once},
        after_{after.names, after.tables, symbols::frame_cache::lookup::at_once},
        names_before_(before.names),
        names_after_(after.names) {}

  /// Returns the module's name; empty if the stack names no module.
  std::string get_module(const stack_change& change) {
    if (!change.stacks_after.empty()) return name(after_, names_after_, change.stacks_after.front());
    return change.stacks_before.empty() ? std::string() : name(before_, names_before_, change.stacks_before.front());
  }

 private:
  static std::string name(symbols::attributor& who, symbols::frame_cache& names, trace::stack_id stack) {
    if (stack == trace::stack_id::none) return {};
    const symbols::line_id line = who.of(stack, attribution::module);
    return line == who.unknown(attribution::module) ? std::string() : symbols::get_name(names.line(line));
  }
  symbols::attributor before_, after_;
  symbols::frame_cache& names_before_;
  symbols::frame_cache& names_after_;
};

std::vector<grown_group> by_module(const std::vector<stack_change>& changes, module_namer& namer) {
  std::map<std::string, grown_group> groups;
  bool named = false;
  for (const stack_change& change : changes) {
    const std::string name = namer.get_module(change);
    named = named || !name.empty();
    grown_group& group = groups[name];
    group.name = name.empty() ? no_module : name;
    join(group, change);
  }
  return named ? sorted(std::move(groups)) : std::vector<grown_group>{};
}

/// Returns true if most of the difference is in named modules.
bool differ_by_module(const memory_difference& difference) {
  std::uint64_t named = 0;
  std::uint64_t total = 0;
  for (const grown_group& each : difference.modules)
    if (each.name != no_module) named += make_change(each);
  for (const grown_group& each : difference.lines) total += make_change(each);
  return named > total / 2;
}

const peak_composition* get_composition(const compared_side& side, const memory_statistics& statistics) {
  for (const peak_composition& each : side.compositions)
    if (each.device == statistics.device && each.layer == statistics.layer && each.kind == statistics.kind)
      return &each;
  return nullptr;
}

std::vector<grown_group> by_category(const named_side& before, const named_side& after, const memory_change& change) {
  std::map<std::string, grown_group> groups;
  const auto add = [&](const peak_composition* composition, stack_metrics grown_group::*side) {
    if (composition == nullptr) return;
    for (const category_share& share : composition->shares) {
      grown_group& group = groups[std::string(index::category_name(share.category))];
      group.name = index::category_name(share.category);
      group.category = share.category;
      (group.*side).add({share.bytes, share.blocks, 0, 0});
    }
  };
  add(get_composition(before.side, change.before), &grown_group::before);
  add(get_composition(after.side, change.after), &grown_group::after);
  return sorted(std::move(groups));
}

memory_difference get_difference(const named_side& before, const named_side& after, const memory_change& change,
                                 module_namer& namer, const comparison_options& options) {
  memory_difference difference;
  difference.label = fmt::format("{}, {}", device_name(change.device), describe_memory(change.layer, change.kind));
  difference.layer = change.layer;
  difference.before = change.before;
  difference.after = change.after;
  difference.lines = by_line(change.at_peak);
  difference.modules = by_module(change.at_peak, namer);
  difference.by_module = differ_by_module(difference);
  difference.categories = by_category(before, after, change);
  difference.flames = merge_changes(change.at_peak, options.libraries);
  return difference;
}

/// Returns the sum of a metric over all devices that did work.
double over_devices(const compared_side& side, const std::function<double(const device_activity&)>& metric) {
  double sum = 0;
  for (const device_activity& each : side.statistics.devices) sum += metric(each);
  return sum;
}

std::vector<compared_value> list_values(const compared_side& before, const compared_side& after,
                                        const difference& found, const std::vector<memory_difference>& memory) {
  std::vector<compared_value> values;
  const auto add = [&](std::string label, compared_unit unit, double a, double b) {
    if (a != 0 || b != 0) values.push_back({std::move(label), unit, a, b});
  };
  for (const memory_difference& each : memory)
    add("peak, " + each.label, compared_unit::bytes, static_cast<double>(each.before.maximum),
        static_cast<double>(each.after.maximum));
  const auto reserved = [](const compared_side& subject) {
    double most = 0;
    for (const pool_statistics& pool : subject.statistics.pools) most += static_cast<double>(pool.reserved_maximum);
    return most;
  };
  add("reserved by pools, sum of their peaks", compared_unit::bytes, reserved(before), reserved(after));
  const auto untracked = [](const compared_side& target) {
    double most = 0;
    for (const untracked_statistics& each : target.statistics.untracked) most += static_cast<double>(each.maximum);
    return most;
  };
  add("untracked, sum of the devices' peaks", compared_unit::bytes, untracked(before), untracked(after));
  for (const memory_difference& each : memory)
    add("allocations, " + each.label, compared_unit::count, static_cast<double>(each.before.allocations),
        static_cast<double>(each.after.allocations));
  for (const transfer_change& each : found.transfers) {
    const std::string text = fmt::format("{}, {}", device_name(each.device), get_name(each.direction));
    add("copied, " + text, compared_unit::bytes, each.before.bytes, each.after.bytes);
    add("copies, " + text, compared_unit::count, static_cast<double>(each.before.count),
        static_cast<double>(each.after.count));
    add("bandwidth, " + text, compared_unit::rate, each.before.mean_bandwidth, each.after.mean_bandwidth);
  }
  add("active time", compared_unit::time, static_cast<double>(before.statistics.active.length()),
      static_cast<double>(after.statistics.active.length()));
  add("median step", compared_unit::time, static_cast<double>(before.median_step),
      static_cast<double>(after.median_step));
  add("steps", compared_unit::count, static_cast<double>(before.step_count), static_cast<double>(after.step_count));
  const auto idle = [](const compared_side& side) {
    return over_devices(side, [&](const device_activity& activity) {
      return std::max(0.0, static_cast<double>(side.statistics.active.length() - activity.busy));
    });
  };
  add("GPU busy with kernels", compared_unit::time,
      over_devices(before, [](const device_activity& owner) { return static_cast<double>(owner.kernel_busy); }),
      over_devices(after, [](const device_activity& about) { return static_cast<double>(about.kernel_busy); }));
  add("GPU waited for copies", compared_unit::time,
      over_devices(before, [](const device_activity& given) { return static_cast<double>(given.copy_only); }),
      over_devices(after, [](const device_activity& item) { return static_cast<double>(item.copy_only); }));
  add("GPU idle in the active time", compared_unit::time, idle(before), idle(after));
  for (const idle_change& device : found.idle)
    for (std::size_t i = 0; i < std::min(device.causes.size(), max_idle_causes); ++i) {
      const idle_cause_change& each = device.causes[i];
      add(fmt::format("{} idle: {}", device_name(device.device), describe_cause_and_line(each)), compared_unit::time,
          static_cast<double>(each.before), static_cast<double>(each.after));
    }
  return values;
}

}  // namespace

comparison make_comparison(const named_side& before, const named_side& after, const comparison_options& options,
                           const std::atomic<bool>& cancelled) {
  const difference found = compare({before.side.metrics, before.tables}, before.names,
                                   {after.side.metrics, after.tables}, after.names, options.devices);
  comparison output;
  module_namer namer(before, after);
  for (const memory_change& change : found.memory) {
    if (cancelled) return output;
    output.memory.push_back(get_difference(before, after, change, namer, options));
  }
  const auto peak = [](const memory_difference& subject) {
    return std::max(subject.before.maximum, subject.after.maximum);
  };
  std::stable_sort(output.memory.begin(), output.memory.end(), [&](const auto& a, const auto& b) {
    return a.layer != b.layer ? a.layer > b.layer : peak(a) > peak(b);
  });
  output.values = list_values(before.side, after.side, found, output.memory);
  return output;
}

}  // namespace sluice::metrics
