#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

namespace sluice::metrics {
namespace {

bool has_allocator_of_pytorch(const report& subject) {
  return std::any_of(subject.whole.memory.begin(), subject.whole.memory.end(),
                     [](const memory_statistics& each) { return each.layer == trace::layer::framework; });
}

/// Returns the frameworks that frames of the recording belong to.
std::set<std::string_view> find_frameworks(const trace::tables& tables) {
  std::set<std::string_view> found;
  for (const trace::frame_row& each : tables.frames.rows())
    if (const std::string_view name = framework_of(each, tables); !name.empty()) found.insert(name);
  return found;
}

/// True for a command such as "/opt/app/solver --steps 10"; false for an interpreter, and if the command is unknown.
bool is_compiled_program(std::string_view command) {
  const std::string_view program = command.substr(0, command.find(' '));
  const std::string_view name = program.substr(program.find_last_of("/\\") + 1);
  if (name.empty() || name.ends_with(".py")) return false;
  constexpr auto interpreters =
      std::to_array<std::string_view>({"python", "pypy", "ipython", "jupyter", "julia", "R", "Rscript", "MATLAB",
                                       "matlab", "java", "node", "torchrun"});
  return std::none_of(interpreters.begin(), interpreters.end(),
                      [&](std::string_view each) { return each.size() > 1 ? name.starts_with(each) : name == each; });
}

}  // namespace

double working_time(const report& subject) {
  const double active = static_cast<double>(subject.whole.active.length());
  double least = active;
  for (const device_activity& device : subject.whole.devices) {
    if (device.kernels == 0) continue;
    double once = 0;
    for (const gap_group& gap : subject.waste.gaps)
      if (gap.device == device.device) once += static_cast<double>(gap.total - gap.recurring);
    least = std::min(least, once);
  }
  // If no kernels were recorded, idle gaps are unknown.
  return std::max(least < active ? active - least : active, 1.0);
}

double finder::peak_share(std::uint64_t bytes, std::uint64_t own, trace::device_id on_device) const {
  std::uint64_t peak = std::max<std::uint64_t>(own, 1);
  if (const memory_peak* main = main_peak(whole); main != nullptr && main->device == on_device)
    peak = std::max(peak, main->bytes);
  return static_cast<double>(bytes) / static_cast<double>(peak);
}

double finder::reserved_share(std::uint64_t bytes, std::uint64_t own, trace::device_id on_device) const {
  std::uint64_t most = std::max<std::uint64_t>(own, 1);
  for (const memory_statistics& each : whole.whole.memory)
    if (each.device == on_device && index::is_device_resident(each.kind)) most = std::max(most, each.maximum);
  return static_cast<double>(bytes) / static_cast<double>(most);
}

std::string finder::share_of_time(double ns) const {
  return fmt::format("{} of the time after start-up", format_share(std::min(ns / working, 1.0)));
}

std::string finder::share_if_less(time_ns part) const {
  return static_cast<double>(part) > working ? std::string() : ", " + share_of_time(static_cast<double>(part));
}

bool finder::has(finding_kind kind) const {
  return std::any_of(found.begin(), found.end(), [&](const finding& each) { return each.kind == kind; });
}

bool finder::has(finding_kind kind, const code_place& place) const {
  return std::any_of(found.begin(), found.end(),
                     [&](const finding& each) { return each.kind == kind && to_text(each.where) == to_text(place); });
}

time_ns finder::time_of_two_steps() const {
  time_ns longest = 0;
  for (const step_summary& each : whole.steps) longest = std::max(longest, each.median_duration);
  return longest > latest_time / 2 ? latest_time : 2 * longest;
}

bool finder::trains() const {
  return std::any_of(whole.compositions.begin(), whole.compositions.end(), [](const peak_composition& peak) {
    return peak.get_bytes(index::category::gradient) > 0 || peak.get_bytes(index::category::optimizer_state) > 0;
  });
}

std::string finder::on(trace::device_id one) const {
  return tables.devices.rows().size() > 1 ? " on " + index::short_label(one, tables) : std::string();
}

std::string finder::gpu(trace::device_id one) const {
  return tables.devices.rows().size() > 1 ? index::short_label(one, tables) : std::string("The GPU");
}

bool finder::has_allocator(trace::memory_kind kind) const {
  return std::any_of(whole.whole.memory.begin(), whole.whole.memory.end(), [&](const memory_statistics& each) {
    return (each.layer == trace::layer::framework || each.layer == trace::layer::pool) && each.kind == kind;
  });
}

std::string finder::find_framework(const code_place& place, trace::layer layer) const {
  if (std::string maker = find_maker(place, layer); !maker.empty()) return maker;
  if (place.known && place.line.kind == trace::frame_kind::python) return {};
  if (has_allocator_of_pytorch(whole)) return "PyTorch";
  const std::set<std::string_view> packages = find_frameworks(tables);
  if (packages.size() == 1) return std::string(*packages.begin());
  // Several frameworks, or an interpreter: it is not known which code called CUDA.
  const bool all_compiled =
      !whole.processes.empty() && std::all_of(whole.processes.begin(), whole.processes.end(),
                                              [](const auto& each) { return is_compiled_program(each.command); });
  return packages.empty() && all_compiled ? "CUDA C++" : "";
}

std::string from_place(const code_place& place) {
  const std::string text = to_text(place);
  return text.empty() ? text : " from " + text;
}

}  // namespace sluice::metrics
