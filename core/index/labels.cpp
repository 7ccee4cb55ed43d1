#include "core/index/labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/printable.hpp"
#include "core/base/recorded_path.hpp"

namespace sluice::index {
namespace {

/// Returns a process that has a context or a stream on the device; null if no such process is known.
const trace::process_row* find_user(trace::device_id id, const trace::tables& tables) {
  const auto in = [&](const auto& rows) -> const trace::process_row* {
    for (const auto& each : rows)
      if (each.device == id)
        if (const trace::process_row* process = tables.processes.find(each.process)) return process;
    return nullptr;
  };
  const trace::process_row* const user = in(tables.contexts.rows());
  return user != nullptr ? user : in(tables.streams.rows());
}

/// Returns "GPU 0". If other devices have the same number, the label also identifies the device: "GPU 0 of node7" or,
/// if they are in one machine, where each process numbers its own devices, "GPU 0 of rank 3" (if `says_rank`) or "GPU 0
/// of process 4711". O(devices with the number * (contexts + streams)).
std::string numbered(const trace::device_row& row, const trace::tables& tables, bool says_rank = true) {
  const std::string label = fmt::format("GPU {}", row.ordinal);
  const auto is_alike = [&](const trace::device_row* each) {
    return each != nullptr && each->id != row.id && each->ordinal == row.ordinal;
  };
  const auto& devices = tables.devices.rows();
  if (std::none_of(devices.begin(), devices.end(), [&](const auto& each) { return is_alike(&each); })) return label;
  const trace::process_row* user = find_user(row.id, tables);
  if (user == nullptr) return label;
  bool shares_machine = false, shares_process = false;
  for (const trace::device_row& each : devices) {
    const trace::process_row* const other = is_alike(&each) ? find_user(each.id, tables) : nullptr;
    shares_machine = shares_machine || (other != nullptr && other->host == user->host);
    shares_process = shares_process || (other != nullptr && other->pid == user->pid);
  }
  if (shares_machine) {
    if (user->rank >= 0) return says_rank ? fmt::format("{} of rank {}", label, user->rank) : label;
    return user->pid == 0 || shares_process ? label : fmt::format("{} of process {}", label, user->pid);
  }
  const trace::host_row* host = tables.hosts.find(user->host);
  const std::string_view name = host == nullptr ? std::string_view{} : tables.text(host->name);
  return name.empty() ? label : fmt::format("{} of {}", label, name);
}

std::string short_words(trace::device_id id, const trace::tables& tables, bool says_rank) {
  if (id == trace::device_id::none) return "host";
  const trace::device_row* row = tables.devices.find(id);
  return row != nullptr && row->ordinal >= 0 ? numbered(*row, tables, says_rank) : fmt::format("device {}", raw(id));
}

}  // namespace

std::string device_label(trace::device_id id, const trace::tables& tables) {
  const trace::device_row* row = tables.devices.find(id);
  if (row == nullptr) return fmt::format("Device {}", raw(id));
  const std::string_view name = tables.text(row->name);
  if (row->kind == trace::device_kind::simulated) return name.empty() ? "simulated device" : std::string(name);
  if (row->ordinal < 0) return name.empty() ? fmt::format("Device {}", raw(id)) : std::string(name);
  return fmt::format("{} ({})", name.empty() ? "Device" : name, numbered(*row, tables));
}

std::string short_label(trace::device_id id, const trace::tables& tables) { return short_words(id, tables, true); }

std::string label_beside_rank(trace::device_id id, const trace::tables& tables) {
  return short_words(id, tables, false);
}

std::string device_names(const trace::tables& tables, bool simulated) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  std::map<std::string, std::size_t> places;
  for (const trace::device_row& row : tables.devices.rows()) {
    if (!simulated && row.kind == trace::device_kind::simulated) continue;
    std::string name = printable(tables.text(row.name));
    if (name.empty()) continue;
    const auto [at, fresh] = places.try_emplace(name, counts.size());
    if (fresh) counts.emplace_back(std::move(name), 0);
    ++counts[at->second].second;
  }
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", count > 1 ? fmt::format("{} x ", count) : "", name);
  return text;
}

std::string stream_label(trace::stream_id id, const trace::tables& tables) {
  if (id == trace::stream_id::none) return "No stream";
  const trace::stream_row* row = tables.streams.find(id);
  if (row == nullptr) return fmt::format("Stream #{}", raw(id));
  if (const std::string_view name = tables.text(row->name); !name.empty()) return std::string(name);
  return row->is_default ? "Default stream" : fmt::format("Stream {}", row->handle);
}

std::string thread_label(trace::thread_id id, const trace::tables& tables) {
  const trace::thread_row* row = tables.threads.find(id);
  if (row == nullptr) return id == trace::thread_id::none ? "No thread" : fmt::format("Thread #{}", raw(id));
  if (const std::string_view name = tables.text(row->name); !name.empty())
    return fmt::format("{} ({})", name, row->tid);
  return fmt::format("Thread {}", row->tid);
}

std::string process_label(trace::process_id id, const trace::tables& tables) {
  const trace::process_row* row = tables.processes.find(id);
  if (row == nullptr) return fmt::format("process #{}", raw(id));
  const std::string_view command = tables.text(row->command);
  // The name of the program is the first word, without the folder.
  const std::string_view program = file_name(command.substr(0, command.find(' ')));
  const std::string label =
      program.empty() ? fmt::format("process {}", row->pid) : fmt::format("{} ({})", program, row->pid);
  return row->rank < 0 ? label : fmt::format("rank {}, {}", row->rank, label);
}

std::string pool_label(trace::pool_id id, const trace::tables& tables) {
  const trace::pool_row* row = tables.pools.find(id);
  if (row == nullptr) return fmt::format("Pool #{}", raw(id));
  const std::string_view name = tables.text(row->name);
  return name.empty() ? fmt::format("Pool {}", format_address(row->handle)) : std::string(name);
}

}  // namespace sluice::index
