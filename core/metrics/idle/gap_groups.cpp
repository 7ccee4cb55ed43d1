#include "core/metrics/idle/gap_groups.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

#include "core/base/saturating.hpp"

namespace sluice::metrics {

void gap_lengths::add(time_ns length) {
  const auto place = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(length)) - 1);
  bin& into = bins[std::min(place, bins.size() - 1)];
  ++count;
  ++into.count;
  saturating_add(total, length);
  saturating_add(into.total, length);
}

// --- groups ----------------------------------------------------------------------------------------------------------

std::size_t gap_groups::hash::operator()(const key& subject) const {
  std::uint64_t mixed = raw(subject.stack) * 0x9E3779B97F4A7C15U;  // 2^64 / golden ratio: Fibonacci hashing.
  mixed ^= raw(subject.call) * 0xC2B2AE3D27D4EB4FU;                // A prime of xxHash64.
  mixed ^= (raw(subject.device) << 8U) | static_cast<std::uint64_t>(subject.cause);
  return static_cast<std::size_t>(mixed ^ (mixed >> 29U));
}

void gap_groups::count(const gap_group& one, time_range gap, time_ns length, time_ns progress) {
  gathered& subject = all_[{one.device, one.cause, one.call, one.stack}];
  if (subject.group.count == 0) subject.group = one;
  ++subject.group.count;
  saturating_add(subject.group.total, length);
  subject.progress.add(static_cast<double>(progress));
  time_ns rest = length;
  for (time_ns& each : subject.longest)
    if (rest > each) std::swap(rest, each);
  if (length <= subject.group.longest) return;
  subject.group.longest = length;
  subject.group.range = one.range;
  subject.group.longest_gap = gap;
}

std::vector<gap_group> gap_groups::get_groups(const std::map<trace::device_id, time_ns>& busy, time_ns gain) const {
  time_ns blocked = 0;
  for (const auto& [place, group] : all_)
    if (blocks_host(group.group.cause)) saturating_add(blocked, group.group.total);
  const double gain_of_one =  // The gain per nanosecond of gap.
      gain >= 0 ? static_cast<double>(gain) / static_cast<double>(std::max<time_ns>(blocked, 1)) : 1;
  std::vector<gap_group> groups;
  groups.reserve(all_.size());
  for (const auto& [place, group] : all_) {
    gap_group& each = groups.emplace_back(group.group);
    each.recurring = each.total - std::min(each.total, group.longest[0] + group.longest[1] + group.longest[2]);
    each.spread = group.progress.spread(static_cast<double>(std::max<time_ns>(busy.at(each.device), 1)));
    each.saved = blocks_host(each.cause) ? static_cast<time_ns>(static_cast<double>(each.recurring) * gain_of_one)
                                         : each.recurring;
  }
  const auto order = [](const gap_group& each) {
    return std::tuple(-each.total, each.device, each.cause, each.call, each.stack);
  };
  std::sort(groups.begin(), groups.end(), [&](const gap_group& a, const gap_group& b) { return order(a) < order(b); });
  return groups;
}

// --- single gaps -----------------------------------------------------------------------------------------------------

namespace {

bool is_longer(const idle_gap& a, const idle_gap& b) {
  return a.span.length() != b.span.length() ? a.span.length() > b.span.length() : a.span.begin < b.span.begin;
}

}  // namespace

void longest_gaps::add(const idle_gap& gap) {
  if (listed_ == 0) return;
  lengths_[gap.device].add(gap.span.length());
  std::vector<idle_gap>& kept = longest_[gap.device];
  if (kept.size() == listed_) {
    if (!is_longer(gap, kept.front())) return;
    std::pop_heap(kept.begin(), kept.end(), is_longer);
    kept.pop_back();
  }
  kept.push_back(gap);
  std::push_heap(kept.begin(), kept.end(), is_longer);
}

std::vector<idle_gap> longest_gaps::get_longest() const {
  std::vector<idle_gap> items;
  for (const auto& [device, kept] : longest_) items.insert(items.end(), kept.begin(), kept.end());
  std::stable_sort(items.begin(), items.end(), is_longer);
  return items;
}

}  // namespace sluice::metrics
