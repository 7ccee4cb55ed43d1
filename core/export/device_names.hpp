#pragma once

#include <string>

#include "core/export/export.hpp"
#include "core/index/labels.hpp"

namespace sluice::exports {

/// A device's name such as "NVIDIA H200 (GPU 0)", redacted like other texts.
[[nodiscard]] inline std::string device_name(trace::device_id id, job& what) {
  return std::string(what.text(analysis::device_label(id, what.tables()), text_role::plain));
}

}  // namespace sluice::exports
