#include "core/metrics/idle/idle_spans.hpp"

#include <algorithm>

namespace sluice::metrics {

idle_span_merger::idle_span_merger(time_range range, std::uint32_t width)
    : range_(bounded(range)),
      ns_per_pixel_(std::max(1.0, static_cast<double>(range_.length()) / std::max<std::uint32_t>(width, 1))) {}

std::int64_t idle_span_merger::get_pixel(time_ns time) const {
  return static_cast<std::int64_t>(static_cast<double>(time - range_.begin) / ns_per_pixel_);
}

void idle_span_merger::add(const idle_part& part, const recent_samples& samples) {
  const time_range inside = intersect(part.span, range_);
  if (inside.length() <= 0) return;
  const auto get_host = [&] {
    work_times times;
    if (comes_from_thread(part.cause) || part.cause == gap_cause::launch)
      samples.add_times(part.thread, part.ran, times);
    return times;
  };
  if (static_cast<double>(inside.length()) >= ns_per_pixel_) {
    flush(spans_);
    open_ = {};
    spans_.push_back({inside, part.cause, 1, inside.length(), part, get_host()});
    return;
  }
  const std::int64_t number = get_pixel(inside.begin);
  if (open_.parts > 0 && open_.number != number) {
    flush(spans_);
    open_ = {};
  }
  if (open_.parts == 0) open_.span = inside;
  open_.number = number;
  open_.span.end = inside.end;
  ++open_.parts;
  open_.idle += inside.length();
  cause_sum& sum = open_.causes[static_cast<std::size_t>(part.cause)];
  sum.time += inside.length();
  if (inside.length() <= sum.longest_time) return;
  sum.longest_time = inside.length();
  sum.longest = part;
  sum.host = get_host();
}

void idle_span_merger::flush(std::vector<idle_span>& to) const {
  if (open_.parts == 0) return;
  const auto most = std::max_element(open_.causes.begin(), open_.causes.end(),
                                     [](const cause_sum& a, const cause_sum& b) { return a.time < b.time; });
  const auto cause = static_cast<gap_cause>(most - open_.causes.begin());
  to.push_back({open_.span, cause, open_.parts, open_.idle, most->longest, most->host});
}

std::vector<idle_span> idle_span_merger::get_spans() const {
  std::vector<idle_span> spans = spans_;
  flush(spans);
  return spans;
}

}  // namespace sluice::metrics
