#include "core/import/nsys/checks.hpp"

#include <algorithm>

namespace sluice::importing {
namespace {

/// The longest possible recording, in ns.
constexpr time_ns longest_recording = time_ns{366} * 24 * 3600 * 1'000'000'000;
/// Times beyond this are invalid for any clock. The limit keeps sums and differences within 64 bits.
constexpr time_ns farthest = INT64_MAX / 4;

}  // namespace

void nsys_checks::learn(const nsys_rows& rows, std::size_t column) {
  if (usual_) return;
  std::vector<time_ns> begins;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const time_ns time = rows.row(i)[column]; time != nsys_rows::null && time != 0) begins.push_back(time);
  if (begins.empty()) return;
  const auto middle = begins.begin() + static_cast<std::ptrdiff_t>(begins.size() / 2);
  std::nth_element(begins.begin(), middle, begins.end());
  if (*middle > -farthest && *middle < farthest) usual_ = *middle;
}

bool nsys_checks::happened(time_ns time) {
  const time_ns usual = usual_.value_or(0);
  if (time > -farthest && time < farthest && time >= usual - longest_recording && time <= usual + longest_recording)
    return true;
  fault("events with an impossible time, more than a year from the others");
  return false;
}

bool nsys_checks::ran(time_ns begin, time_ns end) {
  if (begin != 0 || (end != 0 && end != trace::unknown_time)) return true;
  fault("kernels, copies and waits without times, because they never finished");
  return false;
}

time_ns nsys_checks::get_end(time_ns begin, time_ns end, bool must_end) {
  if (end == trace::unknown_time ? must_end : end > farthest || (end > begin && end - begin > longest_recording)) {
    fault("events without a valid end, which are shown until the end of the recording");
    return trace::unknown_time;
  }
  if (end == trace::unknown_time || end >= begin) return end;
  fault("events with a negative duration");
  return begin;
}

}  // namespace sluice::importing
