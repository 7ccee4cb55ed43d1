#include "core/metrics/idle/host_use.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"

namespace sluice::metrics {
namespace {

/// The most generations of processes between a data loader's worker and the process that launches kernels. The limit
/// matters only in a damaged file, in which parents may form a cycle.
constexpr int max_generations = 64;

/// Which devices processes use: see `host_use_filter`.
class process_devices {
 public:
  explicit process_devices(const trace::tables& tables) : tables_(tables) {
    for (const trace::stream_row& each : tables.streams.rows()) used_[each.process].insert(each.device);
  }

  [[nodiscard]] bool uses(trace::process_id process, trace::device_id device) const {
    for (int i = 0; i < max_generations; ++i) {
      const auto found = used_.find(process);
      if (found != used_.end()) return found->second.contains(device);
      const trace::process_row* row = tables_.processes.find(process);
      if (row == nullptr || row->parent == trace::process_id::none) break;
      process = row->parent;
    }
    return true;
  }

 private:
  const trace::tables& tables_;
  std::map<trace::process_id, std::set<trace::device_id>> used_;
};

/// When devices work in a part of the recording.
class device_times {
 public:
  /// The arguments must outlive this object.
  device_times(const index::event_store& store, time_range part) : store_(store), part_(part) {}

  /// Returns when at least one of these devices works; null without devices. Looks at each set of devices once.
  [[nodiscard]] const timeline::coverage* find(const std::vector<trace::device_id>& devices) {
    if (devices.empty()) return nullptr;
    const auto [place, fresh] = known_.try_emplace(devices);
    if (fresh) cover(devices, place->second);
    return &place->second;
  }

 private:
  void cover(const std::vector<trace::device_id>& devices, timeline::coverage& times) const {
    for (const auto& [key, slices] : store_.devices().streams()) {
      if (std::find(devices.begin(), devices.end(), key.device) == devices.end()) continue;
      slices.for_each(part_.begin, part_.end, [&](const timeline::slice_item& each, std::uint16_t) {
        // Work without a known end is of no length, as for `idle_gaps_builder`.
        if (each.end != latest_time) times.add(each.begin, each.end);
      });
    }
    times.settle();
  }

  const index::event_store& store_;
  const time_range part_;
  std::map<std::vector<trace::device_id>, timeline::coverage> known_;
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

bool host_use_builder::takes(const index::thread_key& thread) const {
  return (filter_.process == trace::process_id::none || thread.process == filter_.process) &&
         (!filter_.thread || thread.thread == *filter_.thread);
}

void host_use_builder::add_sample(thread_use& thread, const index::host_sample& sample, time_range part,
                                  const timeline::coverage* busy) const {
  if (filter_.state && sample.state != *filter_.state) return;
  const time_ns idle = busy == nullptr ? 0 : part.length() - busy->busy(part.begin, part.end);
  const time_ns time = filter_.only_idle ? idle : part.length();
  if (time <= 0) return;
  sum& to = thread.work[sample.work()];
  saturating_add(to.time, time);
  saturating_add(to.idle, idle);
  // The samples of a thread do not overlap, so a sample that was counted in the part before has the same begin.
  if (std::exchange(thread.last, sample.begin) != sample.begin) ++to.samples;
}

void host_use_builder::add(const index::event_store& store, const trace::tables& tables, time_range part,
                           const std::atomic<bool>& cancelled) {
  const time_range here = intersect(bounded(filter_.range), bounded(part));
  if (here.length() <= 0) return;
  if (filter_.only_launching) note_launches(store, tables, here);
  std::vector<trace::device_id> devices = list_kernel_devices(store, tables);
  if (filter_.device) std::erase_if(devices, [&](trace::device_id each) { return each != *filter_.device; });
  kernels_known_ = kernels_known_ || !devices.empty();
  device_times times(store, here);
  if (filter_.device)
    if (const timeline::coverage* busy = times.find(devices))
      saturating_add(idle_, here.length() - busy->busy(here.begin, here.end));
  const process_devices processes(tables);
  for (const auto& [key, samples] : store.samples().threads()) {
    if (cancelled) return;
    if (!takes(key)) continue;
    std::vector<trace::device_id> used;
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(used),
                 [&, &process = key.process](trace::device_id each) { return processes.uses(process, each); });
    const timeline::coverage* busy = times.find(used);
    thread_use& thread = threads_[key];
    store.samples().for_each_in(key, here, [&](const index::host_sample& sample, time_range inside) {
      add_sample(thread, sample, inside, busy);
    });
  }
}

bool host_use_builder::launches_known() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const auto& each) { return each.second.launches; });
}

std::vector<host_share> host_use_builder::get_shares(const trace::tables& tables) const {
  std::unordered_map<index::host_work, sum, index::host_work_hash> sums;
  const bool by_launches = filter_.only_launching && launches_known();
  const process_devices processes(tables);
  for (const auto& [key, thread] : threads_) {
    if ((by_launches && !thread.launches) || thread.work.empty()) continue;
    if (filter_.device && !processes.uses(key.process, *filter_.device)) continue;
    for (const auto& [work, part] : thread.work) {
      sum& to = sums[work];
      saturating_add(to.time, part.time);
      saturating_add(to.idle, part.idle);
      to.samples += part.samples;
    }
  }
  std::vector<host_share> shares;
  shares.reserve(sums.size());
  for (const auto& [work, whole] : sums) shares.push_back({work, whole.time, whole.idle, whole.samples});
  std::sort(shares.begin(), shares.end(), [](const host_share& a, const host_share& b) { return a.work < b.work; });
  return shares;
}

stack_use host_use_builder::get_stacks(const trace::tables& tables) const {
  stack_use use;
  use.time = bounded(filter_.range).begin;
  use.kernels_known = kernels_known_;
  for (const host_share& each : get_shares(tables)) {
    if (use.shares.empty() || use.shares.back().stack != each.work.stack) use.shares.push_back({each.work.stack, {}});
    use.shares.back().metrics.add({0, each.samples, each.time, each.idle});
  }
  return use;
}

}  // namespace sluice::metrics
