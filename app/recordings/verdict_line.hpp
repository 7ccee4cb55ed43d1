#pragma once

#include <cstdint>
#include <string>

#include "core/metrics/report/report.hpp"

namespace sluice::recordings {

/// The verdict on a recording in a few words, for a line of a list.
struct verdict_line {
  std::string text;        ///< Without a final period, such as "GPU 91 % busy, peak 71.0 of 80.0 GiB"; printable.
  bool bad = false;        ///< The program failed, such as for lack of memory: shown in a warning colour.
  std::uint64_t peak = 0;  ///< The highest use of device memory, in bytes; 0 if none was recorded.

  friend bool operator==(const verdict_line&, const verdict_line&) = default;
};

/// The verdict on the recording of `subject`: an error if there was one ("out of memory, short by 1.20 GiB"), otherwise
/// how busy the GPUs were and the peak of their memory, otherwise what was not recorded. O(findings + devices).
[[nodiscard]] verdict_line make_verdict_line(const metrics::report& subject);

}  // namespace sluice::recordings
