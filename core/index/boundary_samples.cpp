#include "core/index/boundary_samples.hpp"

#include <cmath>
#include <set>

namespace sluice::index {
namespace {

trace::last_sample_row make_row(time_ns boundary, trace::device_id id, const device_samples::sample& sample,
                                const device_samples& samples) {
  trace::last_sample_row row;
  row.time = boundary;
  row.type = trace::sampled_thing::device;
  row.sampled = sample.time;
  row.event = trace::event_id{sample.order};
  row.device = id;
  row.value = samples.untracked.at(sample.time);
  row.free = sample.free;
  row.total = sample.total;
  row.recorder = sample.recorder;
  return row;
}

/// Returns the sample of every counter, pool and device that is in effect at each of the times that `pick` returns for
/// one of its curves.
template <class Pick>
std::vector<trace::last_sample_row> samples_at(time_ns boundary, const memory_use& memory,
                                               const counter_trees& counters, Pick&& pick) {
  std::vector<trace::last_sample_row> rows;
  // A sample has several values, so the curves of a pool or device mostly have the same times.
  const auto either = [](std::set<time_ns> times, const std::set<time_ns>& others) {
    times.insert(others.begin(), others.end());
    return times;
  };
  const auto add = [&](trace::sampled_thing thing, const auto& step) -> trace::last_sample_row& {
    trace::last_sample_row& row = rows.emplace_back();
    row.time = boundary;
    row.type = thing;
    row.sampled = step.time;
    row.event = trace::event_id{step.order};
    return row;
  };
  for (const auto& [id, tree] : counters) {
    for (const time_ns time : pick(tree)) {
      trace::last_sample_row& row = add(trace::sampled_thing::counter, *tree.last_until(time));
      row.counter = id;
      row.value = tree.at(time);
    }
  }
  for (const auto& [id, pool] : memory.pools()) {
    for (const time_ns time : either(pick(pool.reserved), pick(pool.used))) {
      trace::last_sample_row& row = add(trace::sampled_thing::pool, *pool.reserved.last_until(time));
      row.pool = id;
      row.reserved = static_cast<std::uint64_t>(pool.reserved.at(time));
      row.used = static_cast<std::uint64_t>(pool.used.at(time));
    }
  }
  for (const auto& [id, device] : memory.devices()) {
    for (const time_ns time : either(either(pick(device.used), pick(device.recorder)), pick(device.untracked)))
      rows.push_back(make_row(boundary, id, *device.last_until(time), device));
  }
  return rows;
}

}  // namespace

std::vector<trace::last_sample_row> samples_before(time_ns boundary, const memory_use& memory,
                                                   const counter_trees& counters) {
  const auto last_before = [&](const timeline::sample_tree& tree) -> std::set<time_ns> {
    if (tree.last_until(boundary - 1) == nullptr) return {};
    return {boundary - 1};
  };
  return samples_at(boundary, memory, counters, last_before);
}

std::vector<trace::last_sample_row> device_samples_in(time_range run, time_ns begin, const memory_use& memory) {
  std::vector<trace::last_sample_row> rows;
  for (const auto& [id, device] : memory.devices())
    for (const device_samples::sample& each : device.samples)
      if (each.time >= run.begin && each.time < run.end) rows.push_back(make_row(begin, id, each, device));
  return rows;
}

std::vector<trace::last_sample_row> first_and_highest_samples(const memory_use& memory, const counter_trees& counters) {
  const auto both = [](const timeline::sample_tree& tree) -> std::set<time_ns> {
    if (tree.empty()) return {};
    return {tree.first_time(), tree.over(tree.first_time(), tree.last_time() + 1).maximum_time};
  };
  return samples_at(0, memory, counters, both);
}

void set_known_samples(std::span<const trace::last_sample_row> rows, memory_use& memory, counter_trees& counters) {
  for (const trace::last_sample_row& each : rows) {
    const time_ns time = bounded(each.sampled);
    if (each.type == trace::sampled_thing::counter && std::isfinite(each.value))
      counters[each.counter].add({time, each.value, raw(each.event)});
    if (each.type == trace::sampled_thing::pool)
      memory.set_known(each.pool, each.reserved, each.used, time, each.event);
    if (each.type == trace::sampled_thing::device)
      memory.set_known(each.device, {time, raw(each.event), each.free, each.total, each.recorder});
  }
}

void set_known_untracked(std::span<const trace::last_sample_row> rows, memory_use& memory) {
  for (const trace::last_sample_row& each : rows)
    if (each.type == trace::sampled_thing::device && each.value >= 0 && each.value <= static_cast<double>(each.total))
      memory.set_known_untracked(each.device, {bounded(each.sampled), each.value, raw(each.event)});
}

}  // namespace sluice::index
