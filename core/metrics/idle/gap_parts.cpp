#include "core/metrics/idle/gap_parts.hpp"

#include <algorithm>
#include <initializer_list>

namespace sluice::metrics {

bool gap_splitter::counts(const host_call& call) const {
  const bool beside = call.cause == gap_cause::file || call.cause == gap_cause::loading;
  return !beside || enqueuing_ == nullptr || call.thread == enqueuing_->thread;
}

void gap_splitter::find_calls(const process_timeline* host, time_range gap, std::optional<time_ns> enqueued) {
  enqueuing_ = running_ = nullptr;
  if (host == nullptr) return;
  if (enqueued && *enqueued <= gap.begin) {
    running_ = host->blocking().find_open(gap.begin, [&](const host_call& each) {
      return each.cause == gap_cause::blocking_copy && *enqueued >= each.begin && *enqueued < each.end;
    });
    enqueuing_ = running_;
    return;
  }
  if (enqueued) enqueuing_ = host->find_enqueuing(*enqueued);
  running_ = host->blocking().find_open(gap.begin, [&](const host_call& each) { return counts(each); });
}

std::span<const gap_part> gap_splitter::split(const process_timeline* host, time_range gap,
                                              std::optional<time_ns> enqueued) {
  parts_.clear();
  find_calls(host, gap, enqueued);
  if (enqueued && *enqueued <= gap.begin && running_ == nullptr) {
    parts_.push_back({gap, gap_cause::queued, nullptr});
    return parts_;
  }
  time_ns now = gap.begin;
  if (running_ != nullptr) {
    now += std::min(running_->end - running_->begin, gap.length());
    if (now > gap.begin) parts_.push_back({{gap.begin, now}, running_->cause, running_});
  }
  const time_ns launched = enqueued ? std::clamp(*enqueued, now, gap.end) : gap.end;
  if (host != nullptr)
    split_host(*host, gap, {now, launched});
  else if (launched > now)
    parts_.push_back({{now, launched}, gap_cause::host, nullptr});
  split_launch({launched, gap.end});
  merge_short();
  return parts_;
}

void gap_splitter::split_host(const process_timeline& host, time_range gap, time_range window) {
  if (window.length() <= 0) return;
  const std::size_t before = parts_.size();
  free_.assign(1, window);
  level_.clear();
  host.blocking().for_each_in(window, [&](const host_call& each) {
    if (&each == enqueuing_ || each.begin <= gap.begin || !counts(each)) return;
    if (each.cause == gap_cause::wait && each.end - each.begin < min_idle_wait) return;
    level_.push_back({{each.begin, each.end}, each.cause, &each});
  });
  take_level();
  if (window.length() >= short_host) {
    for (const gap_cause cause : {gap_cause::garbage, gap_cause::compilation, gap_cause::data}) {
      level_.clear();
      host.ranges().for_each_in(window, [&](const host_range& each) {
        if (each.cause == cause) level_.push_back({{each.begin, each.end}, cause, nullptr});
      });
      take_level();
    }
    level_.clear();
    waits_.clear();
    host.find_waits(window, gap.begin, waits_);
    for (const host_range& each : waits_) level_.push_back({{each.begin, each.end}, each.cause, nullptr});
    take_level();
  }
  for (const time_range& each : free_) parts_.push_back({each, gap_cause::host, nullptr});
  if (parts_.size() - before > 1)
    std::sort(parts_.begin() + static_cast<std::ptrdiff_t>(before), parts_.end(),
              [](const gap_part& a, const gap_part& b) { return a.span.begin < b.span.begin; });
}

void gap_splitter::take_level() {
  if (level_.empty() || free_.empty()) return;
  left_.clear();
  std::size_t next = 0;
  for (time_range piece : free_) {
    for (; next < level_.size() && level_[next].span.begin < piece.end; ++next) {
      gap_part part = level_[next];
      const time_range open{std::max(part.span.begin, piece.begin), piece.end};
      part.span = intersect(part.span, open);
      if (part.span.length() > 0) {
        if (part.span.begin > piece.begin) left_.push_back({piece.begin, part.span.begin});
        parts_.push_back(part);
        piece.begin = part.span.end;
      }
      if (level_[next].span.end > piece.end) break;  // It may also cover part of the next piece.
    }
    if (piece.length() > 0) left_.push_back(piece);
  }
  free_.swap(left_);
}

void gap_splitter::split_launch(time_range rest) {
  if (rest.length() <= 0) return;
  if (enqueuing_ != nullptr) {
    const time_range inside{rest.begin, std::min(enqueuing_->end, rest.end)};
    const bool own_cause = enqueuing_->cause != gap_cause::host;
    if (inside.length() > 0 && (own_cause || inside.length() >= longest_launch)) {
      parts_.push_back({inside, enqueuing_->cause, enqueuing_});
      rest.begin = inside.end;
    }
  }
  if (rest.length() > 0) parts_.push_back({rest, gap_cause::launch, nullptr});
}

void gap_splitter::merge_short() {
  time_ns own = 0;
  for (const gap_part& each : parts_)
    if (each.cause == gap_cause::host && each.call == nullptr) own += each.span.length();
  if (own == 0 || own >= short_host) return;
  for (gap_part& each : parts_)
    if (each.cause == gap_cause::host && each.call == nullptr) each.cause = gap_cause::launch;
}

}  // namespace sluice::metrics
