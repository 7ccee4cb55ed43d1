#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/index/growing_index.hpp"
#include "core/replay/requests.hpp"
#include "core/trace/file/reader.hpp"

/// The requests to PyTorch's allocator in a recording that the user named.
namespace sluice::cli {

struct recorded_requests {
  std::shared_ptr<const trace::snapshot> snapshot;
  std::unique_ptr<analysis::growing_index> index;    ///< Of all events.
  std::vector<replay::allocator_requests> requests;  ///< Not empty.
};

/// The number of a device, as the program counts them; -1 if it is not known.
[[nodiscard]] std::int64_t ordinal_of(trace::device_id device, const trace::tables& tables);

/// Opens a recording and reads its requests, only those to one device if `device` is its number. Errors: those of opening,
/// not_found without requests, and invalid_argument without requests to that device.
[[nodiscard]] result<recorded_requests> requests_recorded_in(const std::string& path,
                                                             std::optional<std::int64_t> device);

}  // namespace sluice::cli
