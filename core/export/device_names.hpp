#pragma once

#include <string>

#include "core/export/export.hpp"
#include "core/index/labels.hpp"

namespace sluice::exports {

/// Returns a device's label, such as "NVIDIA H200 (GPU 0)", redacted like any other text.
[[nodiscard]] inline std::string device_name(trace::device_id id, job& what) {
  return std::string(what.text(index::device_label(id, what.tables()), text_role::plain));
}

}  // namespace sluice::exports
