#include "app/cli/metrics/failure_line.hpp"

#include <fmt/format.h>

#include "app/cli/metrics/metrics_of_recording.hpp"
#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/base/code_place.hpp"

namespace sluice::cli {

result<std::optional<std::string>> failure_line(const std::string& path) {
  auto opened = metrics_of_recording::open(path);
  if (!opened) return tl::unexpected<error>(opened.error());
  const auto whole_report = opened->report();
  if (!whole_report) return tl::unexpected<error>(whole_report.error());
  if (whole_report->failures.empty()) return std::nullopt;
  const metrics::failed_allocation& failed = whole_report->failures.back();
  const trace::tables& tables = opened->tables();
  std::string text = fmt::format("out of memory: {} requested", format_bytes(failed.bytes));
  if (tables.devices.rows().size() > 1) text += " on " + index::short_label(failed.device, tables);
  if (const std::string_view call = tables.text(failed.call); !call.empty()) text += fmt::format(" with {}", call);

  trace::stack_id stack{};
  const auto read = opened->snapshot().for_each<trace::alloc_failed_event>([&](const trace::alloc_failed_event& row) {
    if (row.id == failed.event) stack = row.stack;
  });
  if (!read) return tl::unexpected<error>(read.error());
  const metrics::naming names{opened->names()};
  metrics::code_places places(tables, names);
  if (const std::string place = to_text(places.of(stack)); !place.empty()) text += " by " + place;

  const auto until = opened->statistics(time_range{whole_report->whole.range.begin, failed.time});
  if (!until) return tl::unexpected<error>(until.error());
  std::uint64_t in_use = 0;
  for (const metrics::memory_statistics& each : until->memory) {
    if (each.device == failed.device && each.layer == failed.layer && each.kind == failed.kind)
      saturating_add(in_use, each.at_end);
  }
  return text + fmt::format(", {} in use", format_bytes(in_use));
}

}  // namespace sluice::cli
