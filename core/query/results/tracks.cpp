#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/base/format.hpp"
#include "core/index/curves.hpp"
#include "core/index/labels.hpp"
#include "core/query/results/opening_range.hpp"
#include "core/query/results/result_functions.hpp"
#include "core/query/sources/bin_source.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

using trace::curve_kind;
using trace::device_id;
using trace::lane_kind;

/// This is more rows than a user can view. If a file has more, only the first ones are listed.
constexpr std::size_t track_limit = 4096;

using visitor = std::function<void(track&&)>;

/// Returns the position of a kind of track among the tracks of its device: memory first, then what the device does.
int find_section(const track& row) {
  switch (row.kind) {
    case track_kind::memory:
      return 0;
    case track_kind::stream:
      return 1;
    case track_kind::direction:
      return 2;
    case track_kind::pool:
      return 3;
    case track_kind::bandwidth:
      return 4;
    case track_kind::host_thread:
      return 5;
    case track_kind::counter:
      return 6;
    case track_kind::steps:
      break;
  }
  return 7;
}

track made(track_kind kind, device_id device = {}, trace::process_id process = {}) {
  track row;
  row.kind = kind;
  row.device = device;
  row.process = process;
  return row;
}

/// Returns an upper bound of the bytes that a device's memory track shows, without samples. The track stacks the
/// driver's memory, which includes the memory of the other layers.
double highest_memory(const bin_source& source, device_id device, const trace::tables& tables) {
  double stacked = 0;
  double highest = 0;
  for (const trace::curve_row& curve : source.curves()) {
    if (curve.type == curve_kind::memory && curve.device == device && index::has_bytes(curve.kind)) {
      if (index::is_in_driver_stack(curve)) {
        stacked += curve.maximum;
      } else {
        highest = std::max(highest, curve.maximum);
      }
    } else if (curve.type == curve_kind::pool_reserved) {
      const trace::pool_row* about = tables.pools.find(curve.pool);
      if (about != nullptr && about->device == device && index::is_driver_pool(*about, curve.has_segments))
        stacked += curve.maximum;
    }
  }
  const trace::device_row* about = tables.devices.find(device);
  if (about != nullptr && about->memory_bytes > 0)
    stacked = std::min(stacked, static_cast<double>(about->memory_bytes));
  return std::max(stacked, highest);
}

void visit_curves(const bin_source& source, const trace::tables& tables, const visitor& visit) {
  std::set<device_id> devices;
  for (const trace::curve_row& curve : source.curves()) {
    const bool of_memory = curve.type == curve_kind::memory || curve.type == curve_kind::device_used;
    if (!of_memory || !devices.insert(curve.device).second) continue;
    track row = made(track_kind::memory, curve.device);
    row.maximum = highest_memory(source, curve.device, tables);
    visit(std::move(row));
  }
  std::set<trace::pool_id> pools;
  for (const trace::curve_row& curve : source.curves()) {
    if (curve.pool == trace::pool_id::none || !pools.insert(curve.pool).second) continue;
    track row = made(track_kind::pool);
    row.pool = curve.pool;
    for (const trace::curve_row& each : source.curves())
      if (each.pool == curve.pool) row.maximum = std::max(row.maximum, each.maximum);
    if (const trace::pool_row* about = tables.pools.find(curve.pool)) {
      row.process = about->process;
      if (!index::is_host_resident(about->kind)) row.device = about->device;
    }
    visit(std::move(row));
  }
  for (const trace::curve_row& curve : source.curves()) {
    if (curve.type != curve_kind::counter) continue;
    track row = made(track_kind::counter);
    row.counter = curve.counter;
    row.maximum = curve.maximum;
    if (const trace::counter_row* about = tables.counters.find(curve.counter)) {
      row.process = about->process;
      row.device = about->device;
    }
    visit(std::move(row));
  }
}

void visit_slices(const bin_source& source, const visitor& visit) {
  std::set<std::pair<device_id, trace::direction>> axes;
  std::map<std::pair<trace::process_id, trace::thread_id>, track> threads;
  for (const bin_source::owner& owner : source.owners()) {
    const trace::lane_row& about = owner.about;
    switch (about.type) {
      case lane_kind::direction: {
        const trace::direction axis = get_axis(about.way);
        if (axes.insert({about.device, axis}).second) {
          track row = made(track_kind::bandwidth, about.device);
          row.direction = axis;
          visit(std::move(row));
        }
        track row = made(track_kind::direction, about.device);
        row.direction = about.way;
        row.depth = static_cast<std::uint16_t>(owner.lanes);
        visit(std::move(row));
        break;
      }
      case lane_kind::stream: {
        track row = made(track_kind::stream, about.device, about.process);
        row.stream = about.stream;
        row.depth = static_cast<std::uint16_t>(owner.lanes);
        visit(std::move(row));
        break;
      }
      case lane_kind::host_ranges:
      case lane_kind::host_calls: {
        const auto [place, fresh] = threads.try_emplace({about.process, about.thread});
        track& row = place->second;
        if (fresh) row = made(track_kind::host_thread, {}, about.process);
        row.thread = about.thread;
        row.depth = static_cast<std::uint16_t>((fresh ? 0 : row.depth) + owner.lanes);
        break;
      }
      case lane_kind::steps:  // The steps come from `tensor_facts`, which every recording has.
      case lane_kind::unknown:
        break;
    }
  }
  for (auto& [key, row] : threads) visit(std::move(row));
}

/// Visits a track of steps for every process, by rank. The track list removes processes without steps later, so that
/// other queries need not wait for the steps.
void visit_steps(const sources& source, const visitor& visit) {
  std::vector<std::pair<std::int64_t, trace::process_id>> processes;
  for (const trace::process_row& row : source.trace.tables().processes.rows()) processes.emplace_back(row.rank, row.id);
  std::stable_sort(processes.begin(), processes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& each : processes) visit(made(track_kind::steps, {}, each.second));
}

/// Returns the position of each device. Devices are sorted by lowest rank, then by number, because files list them in
/// order of first use.
std::map<device_id, std::size_t> places_of_devices(const trace::tables& tables) {
  std::map<device_id, std::int64_t> ranks;
  for (const trace::context_row& each : tables.contexts.rows()) {
    const trace::process_row* user = tables.processes.find(each.process);
    if (user == nullptr || user->rank < 0) continue;
    const auto [subject, fresh] = ranks.try_emplace(each.device, user->rank);
    if (!fresh) subject->second = std::min(subject->second, user->rank);
  }
  std::vector<const trace::device_row*> rows;
  for (const trace::device_row& row : tables.devices.rows()) rows.push_back(&row);
  const auto before = [&](const trace::device_row* row) {
    const auto found = ranks.find(row->id);
    return std::pair(found == ranks.end() ? std::int64_t{-1} : found->second, row->ordinal);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto* a, const auto* b) { return before(a) < before(b); });
  std::map<device_id, std::size_t> places;
  for (const trace::device_row* row : rows) places.emplace(row->id, places.size());
  return places;
}

/// Returns the tracks in display order: those of listed devices, then of devices known only from events, then tracks
/// without a device.
std::vector<track> in_order(const sources& source) {
  std::vector<track> tracks;
  const auto facts = get_facts(source);
  for_each_track(source, [&](track&& row) {
    if (row.kind != track_kind::steps || facts->steps->sources().contains(row.process))
      tracks.push_back(std::move(row));
  });
  std::map<device_id, std::size_t> position = places_of_devices(source.trace.tables());
  position[device_id::none] = SIZE_MAX;
  const auto rank = [&](const track& row) {
    const auto known = position.find(row.device);
    return std::tuple(known == position.end() ? SIZE_MAX - 1 : known->second, row.device, find_section(row));
  };
  std::stable_sort(tracks.begin(), tracks.end(), [&](const track& a, const track& b) { return rank(a) < rank(b); });
  return tracks;
}

/// Returns the losses in order of time, merged so that a view can draw them.
std::vector<lost_span> list_losses(const sources& source) {
  std::vector<lost_span> spans;
  const auto add = [&](time_ns begin, time_ns end, std::uint64_t events, std::uint64_t memory_events) {
    if (end == trace::unknown_time) end = begin;
    spans.push_back({bounded(time_range{begin, end}), events, memory_events});
  };
  if (source.stored != nullptr) {
    for (const summary::loss_span& loss : source.stored->metrics->losses)
      add(loss.begin, loss.end, loss.events, loss.memory_events);
  } else {
    for (const trace::loss_event& row : source.index.memory().losses())
      add(row.time, row.end, row.events, row.memory_events);
  }
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
  const std::size_t joined = spans.size() / track_list::lost_limit + 1;
  std::vector<lost_span> few;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i % joined == 0) {
      few.push_back(spans[i]);
      continue;
    }
    few.back().span.end = std::max(few.back().span.end, spans[i].span.end);
    few.back().events += spans[i].events;
    few.back().memory_events += spans[i].memory_events;
  }
  return few;
}

time_ns complete_until(const sources& source) {
  time_ns least = trace::unknown_time;
  const auto add = [&](time_ns mark) {
    if (mark != trace::unknown_time && (least == trace::unknown_time || mark < least)) least = mark;
  };
  if (source.stored != nullptr) {
    for (const metrics::process_watermark& mark : source.stored->metrics->metrics.watermarks) add(mark.complete_until);
  } else {
    for (const auto& [process, mark] : source.index.watermarks()) add(mark);
  }
  return least;
}

/// Returns ", rank 3" or ", process 4711".
std::string of_process(trace::process_id process, const trace::tables& tables) {
  const trace::process_row* row = tables.processes.find(process);
  if (row == nullptr) return {};
  return row->rank < 0 ? fmt::format(", process {}", row->pid) : fmt::format(", rank {}", row->rank);
}

void put_words(track& row, const trace::tables& tables, bool many_processes) {
  switch (row.kind) {
    case track_kind::memory:
      row.label = row.device == device_id::none ? "Host memory" : "Device memory";
      break;
    case track_kind::pool:
      row.label = index::pool_label(row.pool, tables);
      break;
    case track_kind::bandwidth:
      row.label = row.direction == trace::direction::d2d   ? "Bandwidth, on device"
                  : row.direction == trace::direction::p2p ? "Bandwidth, peer to peer"
                                                           : "Bandwidth";
      break;
    case track_kind::direction:
      row.label = get_name(row.direction);
      row.label[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(row.label[0])));
      break;
    case track_kind::stream:
      row.label = index::stream_label(row.stream, tables);
      if (many_processes) row.label += of_process(row.process, tables);
      break;
    case track_kind::host_thread:
      row.label = index::thread_label(row.thread, tables);
      break;
    case track_kind::counter: {
      const trace::counter_row* about = tables.counters.find(row.counter);
      const std::string_view name = about == nullptr ? std::string_view{} : tables.text(about->name);
      row.label = name.empty() ? fmt::format("Counter {}", raw(row.counter)) : std::string(name);
      break;
    }
    case track_kind::steps:
      row.label = "Steps";
      break;
  }
  if (row.device != device_id::none) row.detail = index::device_label(row.device, tables);
  const bool names_process =
      row.process != trace::process_id::none && (many_processes || row.kind == track_kind::host_thread);
  if (names_process) row.detail += (row.detail.empty() ? "" : ", ") + index::process_label(row.process, tables);
}

}  // namespace

std::uint64_t track_id(const track& subject) {
  const std::uint64_t properties[] = {static_cast<std::uint64_t>(subject.kind),
                                      raw(subject.process),
                                      raw(subject.device),
                                      raw(subject.stream),
                                      raw(subject.thread),
                                      raw(subject.pool),
                                      raw(subject.counter),
                                      static_cast<std::uint64_t>(subject.direction)};
  const std::uint64_t id = XXH3_64bits(properties, sizeof properties);
  return id == 0 ? 1 : id;
}

void for_each_track(const sources& source, const visitor& visit) {
  const auto with_id = [&](track&& row) {
    row.id = track_id(row);
    visit(std::move(row));
  };
  const bin_source whole(source, false);
  visit_curves(whole, source.trace.tables(), with_id);
  visit_slices(whole, with_id);
  visit_steps(source, with_id);
}

result<track> find_track(std::uint64_t id, const sources& source) {
  std::optional<track> found;
  for_each_track(source, [&](track&& row) {
    if (row.id == id) found = std::move(row);
  });
  if (!found) return fail(error_code::not_found, "the recording has no track with this id", source.trace.path());
  return std::move(*found);
}

namespace {

/// Returns the time from the first to the last work of a device, to a thousandth of `active`; empty if there is none.
time_range find_work(const bin_source& whole, time_range active) {
  time_range work{active.end, active.begin};
  std::vector<timeline::drawn_slice> slices;
  for (std::size_t place = 0; place < whole.owners().size(); ++place) {
    const lane_kind kind = whole.owners()[place].about.type;
    if (kind != lane_kind::stream && kind != lane_kind::direction) continue;
    if (!whole.draw(place, active, 1000, slices)) continue;
    for (const timeline::drawn_slice& each : slices)
      work = {std::min(work.begin, each.item.begin), std::max(work.end, each.item.end)};
  }
  return work.begin < work.end ? work : time_range{};
}

/// Returns the range that the window shows first. While the recording grows, this is the active time.
time_range find_opening(const sources& source, time_range active, const index::step_facts& steps) {
  std::span<const index::step> most;
  for (const auto& [process, list] : steps.lists())
    if (list.steps.size() > most.size()) most = list.steps;
  if (active.length() <= 0 || source.trace.growing()) return active;
  const bin_source whole(source, false);
  std::optional<std::uint32_t> place;
  for (std::uint32_t i = 0; i < whole.curves().size(); ++i) {
    const trace::curve_row& curve = whole.curves()[i];
    if (curve.type != curve_kind::memory || !index::has_bytes(curve.kind)) continue;
    if (!place || curve.maximum > whole.curves()[*place].maximum) place = i;
  }
  result<bin_source::sampled> memory = bin_source::sampled{};
  if (place) memory = whole.sample({&*place, 1}, active, 4096);
  return choose_opening(active, find_work(whole, active), most, [&](time_range over) {
    if (!memory || memory->bins.empty() || memory->bins.front().empty()) return 0.0;
    const std::vector<bin>& bins = memory->bins.front();
    const double per_ns = static_cast<double>(bins.size()) / static_cast<double>(memory->range.length());
    const auto at = [&](time_ns time) {
      const double found = static_cast<double>(time - memory->range.begin) * per_ns;
      return static_cast<std::size_t>(std::clamp(found, 0.0, static_cast<double>(bins.size() - 1)));
    };
    double highest = 0;
    for (std::size_t i = at(over.begin); i <= at(over.end); ++i) highest = std::max(highest, bins[i].maximum);
    return highest;
  });
}

}  // namespace

result<track_list> result_to(const tracks_query&, const sources& source) {
  track_list list;
  list.span = index::recorded_range(source.trace);
  list.active = source.stored != nullptr && source.stored->metrics ? source.stored->metrics->metrics.whole.active
                                                                   : metrics::active_span(source.index, list.span);
  list.lost = list_losses(source);
  list.complete_until = complete_until(source);
  const bool many_processes = source.trace.tables().processes.rows().size() > 1;
  list.tracks = in_order(source);
  if (list.tracks.size() > track_limit) list.tracks.resize(track_limit);
  for (track& row : list.tracks) put_words(row, source.trace.tables(), many_processes);
  const auto facts = get_facts(source);
  const auto& sources_of_steps = facts->steps->sources();
  for (track& row : list.tracks) {
    if (row.kind != track_kind::steps) continue;
    if (sources_of_steps.size() > 1) row.label += of_process(row.process, source.trace.tables());
    if (sources_of_steps.at(row.process) == index::step_source::pattern) row.label += " (inferred)";
  }
  list.opening = find_opening(source, list.active, *facts->steps);
  return list;
}

}  // namespace sluice::query
