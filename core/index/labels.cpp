#include "core/index/labels.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"

namespace sluice::analysis {
namespace {

/// The machine of a device: that of a process that has a context on it.
trace::host_id host_of(trace::device_id id, const trace::tables& tables) {
  for (const trace::context_row& each : tables.contexts.rows())
    if (each.device == id)
      if (const trace::process_row* process = tables.processes.find(each.process)) return process->host;
  return trace::host_id::none;
}

/// "GPU 0", or "GPU 0 of node7" if another machine has a GPU of that number, too.
std::string numbered(const trace::device_row& of, const trace::tables& tables) {
  std::string label = fmt::format("GPU {}", of.ordinal);
  if (tables.hosts.rows().size() < 2) return label;
  const auto& all = tables.devices.rows();
  const bool unique = std::none_of(all.begin(), all.end(), [&](const trace::device_row& each) {
    return each.id != of.id && each.ordinal == of.ordinal;
  });
  const trace::host_row* host = unique ? nullptr : tables.hosts.find(host_of(of.id, tables));
  if (host != nullptr && !tables.text(host->name).empty()) label += fmt::format(" of {}", tables.text(host->name));
  return label;
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

std::string short_label(trace::device_id id, const trace::tables& tables) {
  if (id == trace::device_id::none) return "host";
  const trace::device_row* row = tables.devices.find(id);
  return row != nullptr && row->ordinal >= 0 ? numbered(*row, tables) : fmt::format("device {}", raw(id));
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
  // The program's name: the first word, without its folder.
  std::string_view program = command.substr(0, command.find(' '));
  if (const auto slash = program.rfind('/'); slash != std::string_view::npos) program.remove_prefix(slash + 1);
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

}  // namespace sluice::analysis
