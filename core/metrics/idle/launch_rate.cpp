#include "core/metrics/idle/launch_rate.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"

namespace sluice::metrics {

void launch_meter::add(time_range gap, time_ns launch, bool queued, std::uint64_t works, time_ns busy) {
  if (launch * 2 > gap.length()) {
    current_.launches += works;
    saturating_add(current_.idle, launch);
    saturating_add(current_.busy, busy);
    return;
  }
  if (!queued) return end_stretch();
  if (current_.launches == 0) return;
  // The device's own gap between two pieces of work of the stretch.
  current_.launches += works;
  saturating_add(current_.busy, busy);
}

void launch_meter::end_stretch() {
  if (current_.launches == 0) return;
  ended_.launches += current_.launches;
  saturating_add(ended_.idle, current_.idle);
  saturating_add(ended_.busy, current_.busy);
  ++ended_.stretches;
  const time_ns as_graph = launch_rate::graph_launch + launch_rate::node_gap * static_cast<time_ns>(current_.launches);
  saturating_add(ended_.saved, std::max<time_ns>(current_.idle - as_graph, 0));
  current_ = {};
}

launch_rate launch_meter::get_rate() const {
  launch_meter at_end = *this;
  at_end.end_stretch();
  return at_end.ended_;
}

}  // namespace sluice::metrics
