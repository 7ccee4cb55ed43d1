#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/replay/batch.hpp"
#include "core/replay/requests.hpp"
#include "core/trace/file/reader.hpp"

/// The requests to PyTorch's allocator that are stored in a recording named by the user.
namespace sluice::cli {

struct recorded_requests {
  std::shared_ptr<const trace::snapshot> snapshot;
  std::vector<replay::allocator_requests> requests;  ///< Not empty.
  replay::block_categories categories;
};

/// The number of a device in the recorded program's numbering; -1 if unknown.
[[nodiscard]] std::int64_t find_ordinal(trace::device_id device, const trace::tables& tables);

/// Opens a recording and reads its requests; if `device` is set, only the requests to the device with that number.
/// Errors: those of opening; not_found if the recording has no requests; invalid_argument if it has none to that
/// device.
[[nodiscard]] result<recorded_requests> requests_recorded_in(const std::string& path,
                                                             std::optional<std::int64_t> device);

}  // namespace sluice::cli
