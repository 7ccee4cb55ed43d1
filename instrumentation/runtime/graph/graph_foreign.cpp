#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/graph/capture_list.hpp"

// Captures begun by other code. Their graphs keep their memory until that code reports that they are destroyed.

namespace sluice::runtime {

namespace {

using capture_ptr = std::shared_ptr<active_capture>;

/// Graphs that share memory.
struct capture_group {
  int graphs = 0;
  int open = 0;
  std::function<bool(std::uintptr_t)> takes;
  capture_ptr memory;  ///< keeps the memory of all captures of the group; null until the first capture is seen
};

struct foreign_list {
  std::mutex mutex;
  std::map<std::pair<const backend::device*, std::uint64_t>, capture_ptr> seen;  ///< by device and the driver's id
  std::map<std::tuple<const backend::device*, std::uint64_t, std::uint64_t>, capture_group> groups;
  std::vector<std::pair<device_ref, capture_ptr>> gone;  ///< graph destroyed, but its launches may still run
};
foreign_list& foreign() {
  // Never destroyed, because memory in static storage uses it when it is freed.
  static auto* const only = new foreign_list;
  return *only;
}

/// Releases the captures in `gone` once the device has finished their launches.
void settle() {
  foreign_list& list = foreign();
  std::vector<std::pair<device_ref, capture_ptr>> gone;
  {
    const std::lock_guard lock(list.mutex);
    gone.swap(list.gone);
  }
  for (auto& [device, capture] : gone) {
    {
      const captures_held_off held;
      if (!capturing() && device.backend().synchronize()) continue;
    }
    const std::lock_guard lock(list.mutex);
    list.gone.emplace_back(device, std::move(capture));
  }
  // `gone` is destroyed without the lock, because pools then take their memory back.
}

/// Call with the lock held.
void put_away(foreign_list& list, const device_ref& device, capture_ptr capture) {
  std::erase_if(list.seen, [&](const auto& entry) { return entry.second == capture; });
  if (capture) list.gone.emplace_back(device, std::move(capture));
}

}  // namespace

capture_ptr capture_by_anybody(const stream_ref& stream) {
  backend::device& device = stream.device().backend();
  const auto info = device.stream_capture(stream.handle());
  if (!info || info->status == backend::capture_status::none) return nullptr;
  const std::pair<const backend::device*, std::uint64_t> key{&device, info->id};
  {
    capture_list& own = capture_list::get();
    const std::lock_guard lock(own.mutex);
    if (const auto it = own.by_id.find(key); it != own.by_id.end()) return it->second;
  }
  foreign_list& list = foreign();
  const std::lock_guard lock(list.mutex);
  capture_ptr& place = list.seen[key];
  if (place) return place;
  // The group's function only queries the driver, so it may run under the lock.
  const auto takes = [&](const auto& entry) {
    const capture_group& group = entry.second;
    return std::get<0>(entry.first) == &device && group.open != 0 && group.takes && group.takes(stream.get());
  };
  const auto group = std::find_if(list.groups.begin(), list.groups.end(), takes);
  if (group != list.groups.end() && group->second.memory) return place = group->second.memory;
  place = std::make_shared<active_capture>(info->id, capture_mode::relaxed);
  if (group != list.groups.end()) group->second.memory = place;
  return place;
}

void forget_capture(const device_ref& device, std::uint64_t id) {
  foreign_list& list = foreign();
  {
    const std::lock_guard lock(list.mutex);
    if (const auto it = list.seen.find({&device.backend(), id}); it != list.seen.end()) {
      put_away(list, device, capture_ptr(it->second));
    }
  }
  settle();
}

void announced_captures::begin(const device_ref& device, key group, std::function<bool(std::uintptr_t)> takes) {
  foreign_list& list = foreign();
  capture_list& own = capture_list::get();
  const std::lock_guard beginning(own.beginning);
  const std::lock_guard lock(list.mutex);
  capture_group& g = list.groups[{&device.backend(), group.first, group.second}];
  g.takes = std::move(takes);
  ++g.graphs;
  ++g.open;
  own.announced.fetch_add(1, std::memory_order_relaxed);
  detail::captures.fetch_add(1, std::memory_order_release);
}

void announced_captures::end(const device_ref& device, key group) {
  foreign_list& list = foreign();
  {
    const std::lock_guard lock(list.mutex);
    const auto it = list.groups.find({&device.backend(), group.first, group.second});
    if (it == list.groups.end() || it->second.open == 0) return;
    if (--it->second.open == 0) it->second.takes = nullptr;
    capture_list::get().announced.fetch_sub(1, std::memory_order_relaxed);
    detail::captures.fetch_sub(1, std::memory_order_release);
  }
  settle();
}

void announced_captures::release(const device_ref& device, key group) {
  foreign_list& list = foreign();
  {
    const std::lock_guard lock(list.mutex);
    const auto it = list.groups.find({&device.backend(), group.first, group.second});
    if (it == list.groups.end() || --it->second.graphs > 0) return;
    put_away(list, device, std::move(it->second.memory));
    if (it->second.open == 0) list.groups.erase(it);
  }
  settle();
}

}  // namespace sluice::runtime
