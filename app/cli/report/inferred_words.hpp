#pragma once

#include <algorithm>
#include <string_view>

#include "core/trace/model/inferred_frames.hpp"
#include "core/trace/model/tables.hpp"

namespace sluice::cli {

/// Words for how the callers of inferred frames were determined: from the backward pass, if any frame is from there, or
/// else from the code that was running then. O(frames).
[[nodiscard]] inline std::string_view inferred_words(const trace::tables& tables) {
  const auto& frames = tables.frames.rows();
  const bool is_of_backward = std::any_of(frames.begin(), frames.end(), [&](const trace::frame_row& frame) {
    const std::string_view mark = tables.text(frame.function);
    return mark.starts_with(trace::inferred_mark) && mark.find("while this ran") == std::string_view::npos;
  });
  return is_of_backward ? "probably in the backward pass" : "inferred from the code that ran then";
}

}  // namespace sluice::cli
