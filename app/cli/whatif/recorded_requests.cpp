#include "app/cli/whatif/recorded_requests.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/options/recording_file.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/allocation_retries.hpp"

namespace sluice::cli {

std::int64_t find_ordinal(trace::device_id device, const trace::tables& tables) {
  const trace::device_row* row = tables.devices.find(device);
  return row == nullptr ? -1 : row->ordinal;
}

result<recorded_requests> requests_recorded_in(const std::string& path, std::optional<std::int64_t> device) {
  const auto file = open_recording(path, wanted_of_recording::rows);
  if (!file) return tl::unexpected(file.error());
  recorded_requests requests{(*file)->latest(), std::make_unique<index::growing_index>(), {}};
  while (!requests.index->absorb(*requests.snapshot, requests.snapshot->chunks().size() + 1)) {
  }
  const trace::tables& tables = requests.snapshot->tables();
  requests.requests = replay::collect_requests(requests.index->memory(), tables);
  replay::put_moments(requests.requests, requests.index->tensors(*requests.snapshot)->steps->lists(),
                      metrics::failures_that_reached(requests.index->memory(), *requests.snapshot));
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
