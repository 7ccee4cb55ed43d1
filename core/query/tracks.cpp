#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <set>

#include "core/analysis/labels.hpp"
#include "core/format.hpp"
#include "core/query/answering.hpp"

namespace sluice::query {
namespace {

using trace::device_id;

/// More rows than anybody can look at; a file that claims more gets the first ones.
constexpr std::size_t track_limit = 4096;

/// Devices in the order of the table, then those that only events name, then none.
std::vector<device_id> devices_of(const sources& from) {
  std::vector<device_id> order;
  std::set<device_id> seen;
  const auto put = [&](device_id id) {
    if (id != device_id::none && seen.insert(id).second) order.push_back(id);
  };
  for (const trace::device_row& row : from.trace.tables().devices.rows()) put(row.id);
  for (const auto& [key, tree] : from.index.memory().use()) put(key.device);
  for (const auto& [id, samples] : from.index.memory().devices()) put(id);
  for (const auto& [key, work] : from.index.devices().directions()) put(key.device);
  for (const auto& [key, slices] : from.index.devices().streams()) put(key.device);
  order.push_back(device_id::none);
  return order;
}

device_id pool_device(trace::pool_id id, const trace::tables& tables) {
  const trace::pool_row* row = tables.pools.find(id);
  return row == nullptr || analysis::is_host_resident(row->kind) ? device_id::none : row->device;
}

void visit_memory(const sources& from, device_id device, const std::function<void(track&&)>& visit) {
  const auto& memory = from.index.memory();
  const bool used = std::any_of(memory.use().begin(), memory.use().end(),
                                [&](const auto& entry) { return entry.first.device == device; });
  if (used || memory.devices().contains(device)) {
    track row;
    row.kind = track_kind::memory;
    row.device = device;
    visit(std::move(row));
  }
  for (const auto& [id, pool] : memory.pools()) {
    if (pool_device(id, from.trace.tables()) != device) continue;
    track row;
    row.kind = track_kind::pool;
    row.device = device;
    row.pool = id;
    if (const trace::pool_row* about = from.trace.tables().pools.find(id)) row.process = about->process;
    visit(std::move(row));
  }
}

void visit_transfers(const sources& from, device_id device, const std::function<void(track&&)>& visit) {
  const auto& directions = from.index.devices().directions();
  const auto first = directions.lower_bound({device, trace::direction::unknown});
  const auto of_device = [&](auto at) { return at != directions.end() && at->first.device == device; };
  bool over_link = false;
  bool inside = false;
  for (auto at = first; of_device(at); ++at) {
    (at->first.direction == trace::direction::d2d ? inside : over_link) = true;
  }
  track row;
  row.device = device;
  row.kind = track_kind::bandwidth;
  if (over_link) visit(track(row));
  // Copies inside a device are so much faster that they need an axis of their own.
  row.direction = trace::direction::d2d;
  if (inside) visit(track(row));
  row.kind = track_kind::direction;
  for (auto at = first; of_device(at); ++at) {
    row.direction = at->first.direction;
    row.depth = static_cast<std::uint16_t>(at->second.slices.lanes());
    visit(track(row));
  }
}

void visit_streams(const sources& from, device_id device, const std::function<void(track&&)>& visit) {
  for (const auto& [key, slices] : from.index.devices().streams()) {
    if (key.device != device) continue;
    track row;
    row.kind = track_kind::stream;
    row.process = key.process;
    row.device = key.device;
    row.stream = key.stream;
    row.depth = static_cast<std::uint16_t>(slices.lanes());
    visit(std::move(row));
  }
}

void visit_host(const sources& from, const std::function<void(track&&)>& visit) {
  for (const auto& [key, work] : from.index.host().threads()) {
    track row;
    row.kind = track_kind::host_thread;
    row.process = key.process;
    row.thread = key.thread;
    row.depth = static_cast<std::uint16_t>(std::max<std::size_t>(1, work.ranges.lanes() + work.calls.lanes()));
    visit(std::move(row));
  }
  for (const auto& [id, tree] : from.index.counters()) {
    track row;
    row.kind = track_kind::counter;
    row.counter = id;
    if (const trace::counter_row* about = from.trace.tables().counters.find(id)) {
      row.process = about->process;
      row.device = about->device;
    }
    visit(std::move(row));
  }
}

void put_words(track& row, const trace::tables& tables, bool many_processes) {
  switch (row.kind) {
    case track_kind::memory:
      row.label = row.device == device_id::none ? "Host memory" : "Device memory";
      break;
    case track_kind::pool:
      row.label = analysis::pool_label(row.pool, tables);
      break;
    case track_kind::bandwidth:
      row.label = row.direction == trace::direction::d2d ? "Bandwidth inside the device" : "Bandwidth";
      break;
    case track_kind::direction:
      row.label = name_of(row.direction);
      row.label[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(row.label[0])));
      break;
    case track_kind::stream:
      row.label = analysis::stream_label(row.stream, tables);
      break;
    case track_kind::host_thread:
      row.label = analysis::thread_label(row.thread, tables);
      break;
    case track_kind::counter: {
      const trace::counter_row* about = tables.counters.find(row.counter);
      const std::string_view name = about == nullptr ? std::string_view{} : tables.text(about->name);
      row.label = name.empty() ? fmt::format("Counter {}", raw(row.counter)) : std::string(name);
      break;
    }
  }
  if (row.device != device_id::none) row.detail = analysis::device_label(row.device, tables);
  const bool of_process =
      row.process != trace::process_id::none && (many_processes || row.kind == track_kind::host_thread);
  if (of_process) row.detail += (row.detail.empty() ? "" : ", ") + analysis::process_label(row.process, tables);
}

}  // namespace

std::uint64_t track_id(const track& of) {
  const std::uint64_t properties[] = {static_cast<std::uint64_t>(of.kind),
                                      raw(of.process),
                                      raw(of.device),
                                      raw(of.stream),
                                      raw(of.thread),
                                      raw(of.pool),
                                      raw(of.counter),
                                      static_cast<std::uint64_t>(of.direction)};
  const std::uint64_t id = XXH3_64bits(properties, sizeof properties);
  return id == 0 ? 1 : id;
}

void for_each_track(const sources& from, const std::function<void(track&&)>& visit) {
  const auto with_id = [&](track&& row) {
    row.id = track_id(row);
    visit(std::move(row));
  };
  for (const device_id device : devices_of(from)) {
    visit_memory(from, device, with_id);
    visit_transfers(from, device, with_id);
    visit_streams(from, device, with_id);
  }
  visit_host(from, with_id);
}

result<track> find_track(std::uint64_t id, const sources& from) {
  std::optional<track> found;
  for_each_track(from, [&](track&& row) {
    if (row.id == id) found = std::move(row);
  });
  if (!found) return fail(error_code::not_found, "there is no such track", from.trace.path());
  return std::move(*found);
}

result<track_list> answer_to(const tracks_question&, const sources& from) {
  track_list list;
  list.span = analysis::whole_of(from.trace);
  const bool many_processes = from.trace.tables().processes.rows().size() > 1;
  for_each_track(from, [&](track&& row) {
    if (list.tracks.size() >= track_limit) return;
    put_words(row, from.trace.tables(), many_processes);
    list.tracks.push_back(std::move(row));
  });
  return list;
}

}  // namespace sluice::query
