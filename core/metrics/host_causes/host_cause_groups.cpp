#include "core/metrics/host_causes/host_cause_groups.hpp"

#include <algorithm>
#include <utility>

namespace sluice::metrics {
namespace {

constexpr std::uint64_t min_known_steps = 3;  ///< With fewer steps, "before the second step" is most of the run.

/// Nine tenths of a time, rounded up.
time_ns get_nine_tenths(time_ns total) { return total - total / 10; }

}  // namespace

void growing_histogram::add(time_ns at, time_ns amount) {
  const time_ns offset = std::max<time_ns>(at - start_, 0);
  while (offset / width_ >= static_cast<time_ns>(bin_count)) {
    for (std::size_t i = 0; i < bin_count; ++i) bins_[i] = 2 * i + 1 < bin_count ? bins_[2 * i] + bins_[2 * i + 1] : 0;
    width_ *= 2;
  }
  bins_[static_cast<std::size_t>(offset / width_)] += amount;
}

time_ns growing_histogram::sum_before(time_ns time) const {
  time_ns sum = 0;
  for (std::size_t i = 0; i < bin_count && static_cast<time_ns>(i) * width_ < time - start_; ++i) sum += bins_[i];
  return sum;
}

/// A gap has at most 1024 pieces, so that a file with absurd times costs no more than others.
time_ns host_cause_groups::find_piece_end(time_ns begin) const {
  const time_ns piece = std::max(piece_length_, gap_.length() / 1024);
  const time_ns inside = (begin - gap_.begin) % piece;
  return begin + std::min(piece - inside, std::max<time_ns>(gap_.end - begin, 1));
}

void host_cause_groups::begin_gap(const host_gap& gap) {
  gap_ = gap.span;
  ++gap_count_;
  steps_begun_ = std::max(steps_begun_, gap.steps_begun);
}

void host_cause_groups::extend_piece(time_range span) {
  if (piece_time_ > 0 && span.begin >= piece_end_) end_piece();
  if (piece_time_ == 0) {
    piece_ = span;
    piece_end_ = find_piece_end(span.begin);
  }
  piece_.end = std::max(piece_.end, span.end);
  piece_time_ += span.length();
}

void host_cause_groups::add_sample(const host_cause& cause, trace::stack_id stack, time_ns length) {
  // Samples never explain more time than there is, whatever a file contains.
  sampled_.add(cause, stack, std::min(length, piece_time_ - sampled_.total()));
}

void host_cause_groups::end_piece() {
  const time_ns sampled = sampled_.total();
  if (sampled > 0) {
    const sampled_verdict verdict = sampled_.judge();
    count(verdict.cause, verdict.stack, sampled);
  }
  if (piece_time_ > sampled) count(host_cause{}, trace::stack_id{}, piece_time_ - sampled);
  piece_time_ = 0;
  sampled_.clear();
}

void host_cause_groups::count(const host_cause& cause, trace::stack_id stack, time_ns time) {
  const auto [at, added] = groups_.try_emplace(cause, gathered{{}, growing_histogram(start_)});
  gathered& to = at->second;
  host_cause_group& group = to.group;
  if (added) {
    group.cause = cause;
    group.first = piece_.begin;
  }
  if (to.gap_number != gap_count_) {
    to.gap_number = gap_count_;
    to.in_gap = 0;
    ++group.gaps;
    if (steps_begun_ > to.last_step) ++group.steps;
    to.last_step = steps_begun_;
  }
  to.in_gap += time;
  if (to.in_gap > group.longest) {
    group.longest = to.in_gap;
    group.longest_gap = gap_;
  }
  if (time > to.example_time) {
    to.example_time = time;
    group.example_stack = stack;
  }
  group.last = std::max(group.last, piece_.end);
  group.total += time;
  total_ += time;
  to.over_time.add(piece_.begin, time);
  if (steps_begun_ < 2) to.before_second_step += time;
}

namespace {

/// A group, and the time of it that does not recur: at the start of the run.
struct early_group {
  host_cause_group group;
  time_ns early = 0;
};

void join(early_group& to, const early_group& more) {
  to.early += more.early;
  to.group.total += more.group.total;
  to.group.gaps += more.group.gaps;
  to.group.steps += more.group.steps;
  to.group.first = std::min(to.group.first, more.group.first);
  to.group.last = std::max(to.group.last, more.group.last);
  if (more.group.longest <= to.group.longest) return;
  to.group.longest = more.group.longest;
  to.group.longest_gap = more.group.longest_gap;
  to.group.example_stack = more.group.example_stack;
}

void sort_by_total(std::vector<early_group>& groups) {
  std::stable_sort(groups.begin(), groups.end(),
                   [](const early_group& a, const early_group& b) { return a.group.total > b.group.total; });
}

/// Joins the groups beyond the first `limit` that have the same cause after `shorten(cause)`.
template <class Shorten>
void join_rest(std::vector<early_group>& groups, std::size_t limit, Shorten&& shorten) {
  if (groups.size() <= limit) return;
  std::map<host_cause, std::size_t> places;
  for (std::size_t i = 0; i < limit; ++i) places.emplace(groups[i].group.cause, i);
  std::size_t kept = limit;
  for (std::size_t i = limit; i < groups.size(); ++i) {
    early_group each = std::move(groups[i]);
    shorten(each.group.cause);
    const auto [place, fresh] = places.try_emplace(each.group.cause, kept);
    if (fresh)
      groups[kept++] = std::move(each);
    else
      join(groups[place->second], each);
  }
  groups.resize(kept);
  sort_by_total(groups);
}

}  // namespace

std::vector<host_cause_group> host_cause_groups::groups(time_ns end, std::size_t limit) const {
  const time_ns tenth = start_ + std::max<time_ns>((end - start_) / 10, 1);
  std::vector<early_group> all;
  all.reserve(groups_.size());
  for (const auto& [cause, each] : groups_)
    all.push_back({each.group, std::max(each.over_time.sum_before(tenth),
                                        steps_begun_ >= min_known_steps ? each.before_second_step : 0)});
  sort_by_total(all);
  join_rest(all, limit, [](host_cause& cause) { cause.line = 0; });
  join_rest(all, 2 * limit, [](host_cause& cause) { cause = {cause.reason, {}, 0}; });
  std::vector<host_cause_group> found;
  found.reserve(all.size());
  for (early_group& each : all) {
    each.group.recurs = std::max(each.early, each.group.longest) < get_nine_tenths(each.group.total);
    found.push_back(std::move(each.group));
  }
  return found;
}

}  // namespace sluice::metrics
