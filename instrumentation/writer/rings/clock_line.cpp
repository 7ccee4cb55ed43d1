#include "instrumentation/writer/rings/clock_line.hpp"

#include <algorithm>

#include "instrumentation/ring/clock.hpp"

namespace sluice::writer {

namespace {
constexpr std::int64_t one_second = 1'000'000'000;
constexpr std::int64_t kept_dense = 10 * one_second;
}  // namespace

clock_anchor read_clocks() {
  clock_anchor best;
  std::uint64_t least = UINT64_MAX;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const std::uint64_t realtime_before = ring::read_clock(CLOCK_REALTIME);
    const std::uint64_t before = ring::read_tsc();
    const std::uint64_t monotonic = ring::read_clock(CLOCK_MONOTONIC);
    const std::uint64_t after = ring::read_tsc();
    const std::uint64_t realtime_after = ring::read_clock(CLOCK_REALTIME);
    const std::uint64_t gap = realtime_after - realtime_before;
    if (gap >= least) continue;
    least = gap;
    best.tsc = before + (after - before) / 2;
    best.monotonic = static_cast<std::int64_t>(monotonic);
    best.realtime = static_cast<std::int64_t>(realtime_before + gap / 2);
  }
  return best;
}

void clock_line::add(const clock_anchor& anchor) {
  if (!anchors_.empty() && (anchor.tsc <= anchors_.back().tsc || anchor.monotonic <= anchors_.back().monotonic)) return;
  anchors_.push_back(anchor);
  if (anchors_.size() - thinned_ > 2048) thin_out();
  if (anchors_.size() > 1) last_ = {anchors_[anchors_.size() - 2], anchors_.back()};
}

void clock_line::thin_out() {
  const std::int64_t newest = anchors_.back().monotonic;
  std::size_t kept = thinned_;
  for (std::size_t i = thinned_; i < anchors_.size(); ++i) {
    const bool dense = newest - anchors_[i].monotonic < kept_dense;
    const bool apart = kept == 0 || anchors_[i].monotonic - anchors_[kept - 1].monotonic >= one_second;
    if (!dense && !apart) continue;
    anchors_[kept++] = anchors_[i];
    if (!dense) thinned_ = kept;
  }
  anchors_.resize(kept);
}

std::int64_t clock_line::to_monotonic_before(std::uint64_t tsc) const {
  if (anchors_.empty()) return 0;
  if (anchors_.size() == 1) return anchors_.front().monotonic;
  // The right end of the segment that contains `tsc`.
  const auto right = std::lower_bound(anchors_.begin() + 1, anchors_.end() - 1, tsc,
                                      [](const clock_anchor& a, std::uint64_t t) { return a.tsc < t; });
  return segment(*(right - 1), *right).at(tsc);
}

}  // namespace sluice::writer
