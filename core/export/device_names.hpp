#pragma once

#include <string>

#include "core/export/export.hpp"
#include "core/index/labels.hpp"

namespace sluice::exports {

/// Returns a device's label, such as "NVIDIA H200 (GPU 0)", redacted like any other text.
[[nodiscard]] inline std::string device_name(trace::device_id id, job& export_job) {
  return std::string(export_job.text(index::device_label(id, export_job.tables()), text_role::plain));
}

}  // namespace sluice::exports
