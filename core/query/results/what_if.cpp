#include "core/query/results/what_if.hpp"

#include <algorithm>

#include "core/index/labels.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/allocation_retries.hpp"
#include "core/metrics/report.hpp"
#include "core/replay/replay.hpp"
#include "core/summary/sections/section_cache.hpp"

namespace sluice::query {
namespace {

constexpr std::size_t sections_at_a_time = 6;
/// Replaying a policy takes about this many times as long as reading some sections: for the progress bar.
constexpr std::size_t steps_a_policy = 4;

}  // namespace

replayer::replayer(const sources& from)
    : trace_(from.trace),
      reader_(&from.stored->sections->store()),
      goes_on_([&cancelled = from.cancelled] { return !cancelled; }),
      events_(what_if_curves::block_limit),
      policies_(replay::default_policies()),
      facts_(facts_of(from)) {
  if (from.stored->metrics == nullptr) return;
  for (const metrics::failed_allocation& each : from.stored->metrics->metrics.failures) {
    trace::alloc_failed_event& row = failed_.emplace_back();
    row.time = each.time;
    row.process = each.process;
    row.device = each.device;
  }
}

replayer::replayer(const sources& from, whole /*as*/)
    : trace_(from.trace),
      events_(what_if_curves::block_limit),
      policies_(replay::default_policies()),
      facts_(facts_of(from)),
      failed_(metrics::failures_that_reached(from.index.memory(), from.trace)) {
  events_.add(from.index.memory(), all_time);
}

std::size_t replayer::sections() const { return reader_ == nullptr ? 0 : reader_->sections().size(); }

result<bool> replayer::work(std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& cancelled) {
  for (;;) {
    if (cancelled) return fail(error_code::cancelled, "the query was cancelled");
    if (next_section_ < sections() && !events_.gave_up()) {
      if (const auto read = read_next(); !read) return tl::unexpected(read.error());
    } else if (!requests_found_) {
      find_requests();
    } else if (next_replay_ < policies_.size() * requests_.size()) {
      replay_next();
    } else {
      return true;
    }
    if (std::chrono::steady_clock::now() >= deadline) return false;
  }
}

float replayer::progress() const {
  const std::size_t replays = policies_.size() * (requests_found_ ? requests_.size() : 1) * steps_a_policy;
  const std::size_t all = sections() / sections_at_a_time + 1 + replays;
  const std::size_t done = next_section_ / sections_at_a_time + next_replay_ * steps_a_policy;
  return std::min(1.0F, static_cast<float>(done) / static_cast<float>(all));
}

result<what_if_curves> replayer::so_far(bool& /*provisional*/) { return made_; }

result<void> replayer::read_next() {
  const std::size_t last = std::min(next_section_ + sections_at_a_time, sections()) - 1;
  const auto index = reader_->index_of(next_section_, last, index::section_scope::memory, goes_on_);
  if (!index) return tl::unexpected(index.error());
  events_.add((*index)->memory(), reader_->run_of(next_section_, last));
  next_section_ = last + 1;
  return {};
}

void replayer::find_requests() {
  requests_found_ = true;
  made_.too_many = events_.gave_up();
  if (made_.too_many) return;
  const auto recorded = events_.take(trace_.tables());
  const bool several = recorded.size() > 1;
  for (const replay::recorded_events& each : recorded) {
    requests_.push_back(replay::requests_of(each, trace_.tables()));
    const replay::allocator_requests& of = requests_.back();
    replayed_allocator& made = made_.allocators.emplace_back();
    made.label = index::short_label(of.device, trace_.tables());
    if (several) made.label += ", " + index::process_label(of.process, trace_.tables());
    made.process = of.process;
    made.device = of.device;
    made.recorded_peak = of.recorded.segments_known ? of.recorded.peak_reserved : 0;
    const time_range asked{bounded(of.times.front()), bounded(of.times.back()) + 1};
    const bool first = made_.allocators.size() == 1;
    made_.span =
        first ? asked : time_range{std::min(made_.span.begin, asked.begin), std::max(made_.span.end, asked.end)};
    const auto error = replay::error_of(of, replay::replay_policy(of, {}));
    made.reproduced = error && error->peak_reserved == 0 && of.recorded.empty_segments == 0;
  }
  if (facts_ != nullptr && facts_->steps != nullptr) replay::put_moments(requests_, facts_->steps->lists(), failed_);
  policies_ = replay::policies_for(requests_);
}

void replayer::replay_next() {
  const replay::policy& by = policies_[next_replay_ % policies_.size()];
  const std::size_t which = next_replay_ / policies_.size();
  replay::reserved_curve curve{made_.span, std::vector<std::uint64_t>(what_if_curves::parts)};
  const auto metrics = replay::replay_policy(requests_[which], by, &curve);
  made_.allocators[which].policies.push_back({by.text, metrics, std::move(curve.highest)});
  ++next_replay_;
}

result<what_if_curves> result_to(const what_if_query& /*question*/, const sources& from) {
  replayer all(from, replayer::whole{});
  if (const auto done = all.work(std::chrono::steady_clock::time_point::max(), from.cancelled); !done)
    return tl::unexpected(done.error());
  return all.so_far(from.provisional);
}

}  // namespace sluice::query
