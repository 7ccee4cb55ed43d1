#include "app/gui/views/lanes/track_order.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "app/gui/window/format.hpp"
#include "core/base/format.hpp"
#include "core/base/printable.hpp"
#include "core/base/recorded_path.hpp"
#include "core/index/labels.hpp"

namespace sluice::gui {
namespace {

/// True if a process was recorded in memory mode, in which no kernels are recorded.
bool lacks_kernels(const trace::tables& tables) {
  const auto& rows = tables.processes.rows();
  return std::any_of(rows.begin(), rows.end(),
                     [](const auto& row) { return row.mode == trace::recording_mode::memory; });
}

track_group find_group(const query::track& track, const trace::tables& tables) {
  if (const trace::device_row* device = tables.devices.find(track.device)) {
    // Use the same name as the tracks' details do, so that the details need not repeat it.
    const std::string name = printable(index::device_label(track.device, tables));
    std::string detail;
    if (device->link_generation != 0)
      detail = "PCIe " + std::to_string(device->link_generation) + " x" + std::to_string(device->link_width);
    if (device->memory_bytes != 0)
      detail += (detail.empty() ? "" : ", ") + format_bytes(static_cast<double>(device->memory_bytes));
    if (lacks_kernels(tables))
      detail.append(detail.empty() ? "" : ",  ").append("recorded in memory mode, without kernels");
    return {"device " + std::to_string(trace::raw(track.device)), name, detail};
  }
  if (const trace::process_row* process = tables.processes.find(track.process)) {
    const std::string whole = printable(tables.text(process->command));
    std::string_view command = whole;
    const std::string_view program = command.substr(0, command.find(' '));
    command.remove_prefix(program.size() - file_name(program).size());
    return {"process " + std::to_string(trace::raw(track.process)),
            command.empty() ? "Process" : format::apart(command),
            process->pid != 0 ? "process " + std::to_string(process->pid) : ""};
  }
  return {"host", "Host", ""};
}

/// The group of a process. It contains all tracks that belong to the process, including streams of devices.
track_group group_by_process(const query::track& track, const trace::tables& tables) {
  query::track host = track;
  if (tables.processes.find(track.process) != nullptr) host.device = trace::device_id::none;
  return find_group(host, tables);
}

bool counts_bytes(const query::track& track, const trace::tables& tables) {
  const trace::counter_row* row = tables.counters.find(track.counter);
  return track.kind == query::track_kind::counter && row != nullptr && row->unit == trace::counter_unit::bytes;
}

bool is_memory(const query::track& track) {
  return track.kind == query::track_kind::memory || track.kind == query::track_kind::pool;
}

/// Makes all memory of a device use the scale of the device's memory track.
void share_scales(std::vector<placed_track>& tracks, const trace::tables& tables) {
  struct scale {
    double largest = 0;
    std::uint64_t memory = 0;
  };
  std::map<trace::device_id, scale> table;
  for (const placed_track& each : tracks) {
    if (!is_memory(*each.track)) continue;
    scale& own = table[each.track->device];
    own.largest = std::max(own.largest, each.track->maximum);
    if (each.track->kind == query::track_kind::memory) own.memory = each.track->id;
  }
  for (placed_track& each : tracks) {
    const auto found = table.find(each.track->device);
    if (found == table.end() || found->second.memory == 0) continue;
    // A counter may count anything, such as bytes of network traffic. Therefore counters use the scale but do not
    // influence it.
    if (!is_memory(*each.track) && !(counts_bytes(*each.track, tables) && each.track->maximum <= found->second.largest))
      continue;
    each.largest = found->second.largest;
    each.memory = found->second.memory;
  }
}

}  // namespace

void track_order::toggle_pin(std::uint64_t track) {
  if (pinned_.erase(track) == 0) pinned_.insert(track);
  ++version_;
}

void track_order::hide(std::uint64_t track) {
  hidden_.insert(track);
  ++version_;
}

void track_order::move(std::uint64_t track, int by, const track_layout& layout) {
  const auto& tracks = layout.tracks;
  const auto found =
      std::find_if(tracks.begin(), tracks.end(), [&](const placed_track& each) { return each.track->id == track; });
  if (found == tracks.end() || (by < 0 && found == tracks.begin())) return;
  const auto other = by < 0 ? std::prev(found) : std::next(found);
  if (other == tracks.end() || other->group != found->group) return;
  // Fix the position of each track at the place where it is shown now.
  for (std::size_t i = 0; i < tracks.size(); ++i) places_[tracks[i].track->id] = i;
  std::swap(places_[track], places_[other->track->id]);
  ++version_;
}

void track_order::reset() {
  pinned_.clear();
  hidden_.clear();
  places_.clear();
  ++version_;
}

void track_order::toggle_by_process() {
  by_process_ = !by_process_;
  places_.clear();
  ++version_;
}

void track_order::keep(kept_view& into) const {
  into.pinned.assign(pinned_.begin(), pinned_.end());
  into.hidden.assign(hidden_.begin(), hidden_.end());
  into.by_process = by_process_;
  std::vector<std::pair<std::size_t, std::uint64_t>> order;
  for (const auto& [track, place] : places_) order.emplace_back(place, track);
  std::sort(order.begin(), order.end());
  into.order.clear();
  for (const auto& [place, track] : order) into.order.push_back(track);
}

void track_order::restore(const kept_view& view) {
  pinned_ = {view.pinned.begin(), view.pinned.end()};
  hidden_ = {view.hidden.begin(), view.hidden.end()};
  by_process_ = view.by_process;
  places_.clear();
  for (std::size_t i = 0; i < view.order.size(); ++i) places_.emplace(view.order[i], i);
  ++version_;
}

track_layout track_order::arrange(const query::track_list& list, const trace::tables& tables) const {
  track_layout layout;
  std::map<std::string, std::size_t> groups;  // keyed by `track_group::key`
  if (!pinned_.empty()) {
    layout.groups.push_back({"pinned", "Pinned", ""});
    groups.emplace("pinned", 0);
  }
  for (const query::track& each : list.tracks) {
    if (each.kind == query::track_kind::steps) continue;
    if (hidden_.contains(each.id)) {
      ++layout.hidden;
      continue;
    }
    std::size_t group = 0;
    if (!pinned(each.id)) {
      track_group own = by_process_ ? group_by_process(each, tables) : find_group(each, tables);
      const auto [place, fresh] = groups.try_emplace(own.key, layout.groups.size());
      if (fresh) layout.groups.push_back(std::move(own));
      group = place->second;
    }
    layout.tracks.push_back({&each, group, 0, 0});
  }
  const auto place = [&](const placed_track& each) {
    const auto known = places_.find(each.track->id);
    return std::tuple(each.group, known == places_.end() ? SIZE_MAX : known->second);
  };
  std::stable_sort(layout.tracks.begin(), layout.tracks.end(),
                   [&](const placed_track& a, const placed_track& b) { return place(a) < place(b); });
  share_scales(layout.tracks, tables);
  return layout;
}

}  // namespace sluice::gui
