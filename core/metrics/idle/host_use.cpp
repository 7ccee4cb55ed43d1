#include "core/metrics/idle/host_use.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"

namespace sluice::metrics {
namespace {

/// The most generations of processes between a data loader's worker and the process that launches kernels. The limit
/// matters only in a damaged file, in which parents may form a cycle.
constexpr int max_generations = 64;

/// Returns the times in `part` in which no stream of the device ran anything, in order.
std::vector<time_range> list_idle(const index::event_store& store, trace::device_id device, time_range part) {
  std::vector<time_range> busy;
  for (const auto& [key, slices] : store.devices().streams()) {
    if (key.device != device) continue;
    slices.for_each(part.begin, part.end, [&](const timeline::slice_item& each, std::uint16_t) {
      // Work without a known end is of no length, as for `idle_gaps_builder`.
      if (each.end != latest_time) busy.push_back({each.begin, each.end});
    });
  }
  std::sort(busy.begin(), busy.end(), [](time_range a, time_range b) { return a.begin < b.begin; });
  std::vector<time_range> idle;
  time_ns until = part.begin;
  for (const time_range& each : busy) {
    if (each.begin > until) idle.push_back({until, each.begin});
    until = std::max(until, each.end);
  }
  if (until < part.end) idle.push_back({until, part.end});
  return idle;
}

/// Finds the processes whose threads count for a device.
class process_filter {
 public:
  process_filter(const trace::tables& tables, std::optional<trace::device_id> device) : tables_(tables) {
    if (!device) return;
    for (const trace::stream_row& each : tables.streams.rows()) {
      bool& uses_it = users_[each.process];
      uses_it = uses_it || each.device == *device;
    }
  }

  /// The process itself decides, or else its nearest ancestor that has streams.
  [[nodiscard]] bool takes(trace::process_id process) const {
    for (int i = 0; i < max_generations; ++i) {
      const auto found = users_.find(process);
      if (found != users_.end()) return found->second;
      const trace::process_row* row = tables_.processes.find(process);
      if (row == nullptr || row->parent == trace::process_id::none) break;
      process = row->parent;
    }
    return true;
  }

 private:
  const trace::tables& tables_;
  std::map<trace::process_id, bool> users_;  ///< Processes with streams, and whether they have streams on the device.
};

}  // namespace

std::vector<trace::device_id> list_kernel_devices(const index::event_store& store, const trace::tables& tables) {
  std::vector<trace::device_row> rows;
  for (const trace::device_row& each : tables.devices.rows())
    if (store.devices().ran_kernels(each.id)) rows.push_back(each);
  std::stable_sort(rows.begin(), rows.end(), [](const trace::device_row& a, const trace::device_row& b) {
    return std::tie(a.ordinal, a.id) < std::tie(b.ordinal, b.id);
  });
  std::vector<trace::device_id> devices;
  devices.reserve(rows.size());
  for (const trace::device_row& each : rows) devices.push_back(each.id);
  return devices;
}

std::optional<trace::device_id> choose_device(std::optional<trace::device_id> wanted,
                                              const std::vector<trace::device_id>& devices) {
  if (wanted && std::find(devices.begin(), devices.end(), *wanted) != devices.end()) return wanted;
  return devices.empty() ? std::nullopt : std::optional(devices.front());
}

bool host_use_builder::is_launch(trace::string_id name, const trace::tables& tables) {
  const auto [place, fresh] = launches_.try_emplace(raw(name));
  if (fresh) place->second = tables.text(name).find("Launch") != std::string_view::npos;
  return place->second;
}

void host_use_builder::note_launches(const index::event_store& store, const trace::tables& tables, time_range part) {
  for (const auto& [key, work] : store.host().threads()) {
    thread_use& thread = threads_[key];
    if (thread.launches) continue;
    work.calls.for_each(part.begin, part.end, [&](const timeline::slice_item& each, std::uint16_t) {
      thread.launches = thread.launches || (each.begin >= part.begin && is_launch(each.name, tables));
    });
  }
}

std::vector<time_range> host_use_builder::list_counted(const index::event_store& store, time_range part) {
  std::vector<time_range> counted;
  if (device_) counted = list_idle(store, *device_, part);
  for (const time_range& each : counted) saturating_add(idle_, each.length());
  if (!filter_.only_idle) counted.assign(1, part);
  return counted;
}

void host_use_builder::add(const index::event_store& store, const trace::tables& tables, time_range part) {
  const time_range here = intersect(bounded(filter_.range), bounded(part));
  if (here.length() <= 0) return;
  if (!device_) device_ = choose_device(filter_.device, list_kernel_devices(store, tables));
  note_launches(store, tables, here);
  const std::vector<time_range> counted = list_counted(store, here);
  for (const auto& [key, samples] : store.samples().threads()) {
    if (filter_.process != trace::process_id::none && key.process != filter_.process) continue;
    thread_use& thread = threads_[key];
    auto next = counted.begin();
    store.samples().for_each_in(key, here, [&](const index::host_sample& sample, time_range inside) {
      while (next != counted.end() && next->end <= inside.begin) ++next;
      time_ns time = 0;
      for (auto at = next; at != counted.end() && at->begin < inside.end; ++at) time += intersect(*at, inside).length();
      if (time <= 0) return;
      sum& to = thread.work[sample.work()];
      saturating_add(to.time, time);
      ++to.samples;
    });
  }
}

bool host_use_builder::launches_known() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const auto& each) { return each.second.launches; });
}

std::vector<host_share> host_use_builder::get_shares(const trace::tables& tables) const {
  std::unordered_map<index::host_work, sum, index::host_work_hash> sums;
  const bool by_launches = filter_.only_launching && launches_known();
  const process_filter processes(tables, device_);
  for (const auto& [key, thread] : threads_) {
    if ((by_launches && !thread.launches) || thread.work.empty() || !processes.takes(key.process)) continue;
    for (const auto& [work, part] : thread.work) {
      sum& to = sums[work];
      saturating_add(to.time, part.time);
      to.samples += part.samples;
    }
  }
  std::vector<host_share> shares;
  shares.reserve(sums.size());
  for (const auto& [work, whole] : sums) shares.push_back({work, whole.time, whole.samples});
  std::sort(shares.begin(), shares.end(), [](const host_share& a, const host_share& b) { return a.work < b.work; });
  return shares;
}

}  // namespace sluice::metrics
