#include "app/gui/views/memory_map/film.hpp"

#include <algorithm>
#include <iterator>

namespace sluice::gui {

std::optional<time_ns> film::advance(time_ns now, time_range over, bool drawn, double seconds) {
  if (!playing_ || over.length() <= 0) return std::nullopt;
  waited_ += seconds;
  if (!drawn) {
    waited_ = std::min(waited_, max_waited);
    return std::nullopt;
  }
  const double per_second = static_cast<double>(over.length()) * speeds[std::min(speed, std::size(speeds) - 1)];
  const auto by = static_cast<time_ns>(waited_ * per_second);
  if (by <= 0) return std::nullopt;
  waited_ = 0;
  if (now < over.begin || now >= over.end) return over.begin;
  const time_ns next = now + std::min(by, over.length());
  return next >= over.end ? over.begin : next;
}

std::optional<time_range> step_around(const std::vector<query::slice>& steps, time_ns time) {
  if (steps.empty()) return std::nullopt;
  const auto next = std::find_if(steps.begin(), steps.end(), [=](const query::slice& each) { return each.end > time; });
  const query::slice& slice = next == steps.end() ? steps.back() : *next;
  return time_range{slice.begin, slice.end};
}

std::optional<time_ns> neighbour_step(const std::vector<query::slice>& steps, time_ns time, bool forward) {
  std::optional<time_ns> found;
  for (const query::slice& each : steps) {
    if (forward && each.begin > time && (!found || each.begin < *found)) found = each.begin;
    if (!forward && each.begin < time && (!found || each.begin > *found)) found = each.begin;
  }
  return found;
}

}  // namespace sluice::gui
