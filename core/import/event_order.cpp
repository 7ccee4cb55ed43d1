#include "core/import/event_order.hpp"

#include <algorithm>

namespace sluice::importing {

trace::time_ns event_order::next(trace::time_ns time, bool is_free) {
  auto behind = moments_.end();
  if (!moments_.empty() && time < moments_.back().said) {
    behind = std::upper_bound(moments_.begin(), moments_.end(), time,
                              [](trace::time_ns at, const moment& each) { return at < each.said; });
  }
  moment now{time, time, false};
  const bool has_before = behind != moments_.begin();
  // An event of the previous time may have been moved to this time or beyond it.
  if (has_before && std::prev(behind)->last >= time) {
    now.last = std::prev(behind)->last;
    now.allocated = std::prev(behind)->allocated;
  }
  if (is_free && now.allocated) ++now.last;
  now.allocated = !is_free;
  if (has_before && std::prev(behind)->said == time) {
    *std::prev(behind) = now;
    return now.last;
  }
  moments_.insert(behind, now);
  if (moments_.size() > max_times) {
    moments_.erase(moments_.begin(), moments_.begin() + static_cast<std::ptrdiff_t>(max_times / 2));
  }
  return now.last;
}

}  // namespace sluice::importing
