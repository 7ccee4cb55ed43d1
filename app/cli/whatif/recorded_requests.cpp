#include "app/cli/whatif/recorded_requests.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/options/recording_file.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/statistics/allocation_retries.hpp"
#include "core/replay/recorded_events.hpp"
#include "core/summary/passes/recording_sections.hpp"

namespace sluice::cli {

std::int64_t find_ordinal(trace::device_id device, const trace::tables& tables) {
  const trace::device_row* row = tables.devices.find(device);
  return row == nullptr ? -1 : row->ordinal;
}

namespace {

/// Reads the requests, section by section.
result<void> read_requests(summary::recording_sections& sections, recorded_requests& into) {
  const trace::tables& tables = into.snapshot->tables();
  const metrics::metrics_scope scope{into.snapshot.get(), all_time};
  replay::recorded_events_builder events;
  metrics::retries_builder retries(scope);
  std::vector<trace::alloc_failed_event> failed;
  const auto read =
      sections.for_each(index::section_scope::memory, all_time, [&](const index::event_store& store, time_range part) {
        const index::memory_use& memory = store.memory();
        events.add(memory, part);
        retries.add(memory);
        failed.assign(memory.failed().begin(), memory.failed().end());  // Each section has all failures.
        into.categories.add(memory, store.tensors(*into.snapshot)->categories, part);
        return true;
      });
  if (!read) return read;
  for (const replay::recorded_events& each : events.take(tables))
    into.requests.push_back(replay::collect_requests(each, tables));
  const auto steps = sections.steps();
  if (!steps) return tl::unexpected(steps.error());
  replay::put_moments(into.requests, (*steps)->lists(), metrics::failures_that_reached(retries, failed));
  return {};
}

}  // namespace

result<recorded_requests> requests_recorded_in(const std::string& path, std::optional<std::int64_t> device) {
  const auto file = open_recording(path, wanted_of_recording::metrics);
  if (!file) return tl::unexpected(file.error());
  recorded_requests requests{(*file)->latest(), {}, {}};
  const auto sections = summary::recording_sections::open(requests.snapshot);
  if (!sections) return tl::unexpected(sections.error());
  if (const auto read = read_requests(**sections, requests); !read) return tl::unexpected(read.error());
  const trace::tables& tables = requests.snapshot->tables();
  if (requests.requests.empty())
    return fail(error_code::not_found, "the recording has no PyTorch allocations", path,
                "record a program that uses torch.cuda, or open a snapshot of torch.cuda.memory");
  if (!device) return requests;
  std::erase_if(requests.requests, [&](const auto& each) { return find_ordinal(each.device, tables) != *device; });
  if (requests.requests.empty())
    return fail(error_code::invalid_argument, fmt::format("PyTorch allocated nothing on device {}", *device), path,
                "omit --device to list the devices");
  return requests;
}

}  // namespace sluice::cli
