#include <algorithm>
#include <memory>
#include <vector>

#include "core/index/labels.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/report/report.hpp"
#include "core/metrics/statistics/allocation_retries.hpp"
#include "core/query/results/query_operator.hpp"
#include "core/replay/policy.hpp"
#include "core/replay/recorded_events.hpp"
#include "core/replay/replay.hpp"
#include "core/replay/requests.hpp"

namespace sluice::query {
namespace {

/// Replaying a policy takes about this many times as long as adding a part.
constexpr std::size_t replay_units = 4;

/// Collects the requests to the allocators, then replays them for one policy after another.
class replayer final : public query_operator<what_if_curves> {
 public:
  replayer() : events_(what_if_curves::block_limit), policies_(replay::default_policies()) {}

  result<reading_plan> plan(const sources& source) override {
    facts_ = get_facts(source);
    if (source.stored == nullptr) {
      failed_ = metrics::failures_that_reached(source.index.memory(), source.trace);
    } else if (source.stored->metrics != nullptr) {
      for (const metrics::failed_allocation& each : source.stored->metrics->metrics.failures) {
        trace::alloc_failed_event& row = failed_.emplace_back();
        row.time = each.time;
        row.process = each.process;
        row.device = each.device;
      }
    }
    return reading_plan{{all_time}};
  }

  result<void> add(const sources& source, time_range part) override {
    events_.add(source.index.memory(), part);
    return {};
  }
  [[nodiscard]] bool satisfied() const override { return events_.gave_up(); }

  [[nodiscard]] share remaining_work() const override {
    const std::size_t replays = policies_.size() * (requests_found_ ? requests_.size() : 1);
    return {requests_found_ ? 1 + next_replay_ * replay_units : 0, 1 + replays * replay_units};
  }
  result<void> work(const sources& source) override {
    if (requests_found_) {
      replay_next();
    } else {
      find_requests(source.trace);
    }
    return {};
  }

  /// Leaves out allocators without a replayed policy.
  result<what_if_curves> finish(const sources& /*source*/) override {
    what_if_curves curves = made_;
    std::erase_if(curves.allocators, [](const replayed_allocator& each) { return each.policies.empty(); });
    return curves;
  }

 private:
  void find_requests(const trace::snapshot& trace) {
    requests_found_ = true;
    made_.too_many = events_.gave_up();
    if (made_.too_many) return;
    const auto recorded = events_.take(trace.tables());
    const bool several = recorded.size() > 1;
    for (const replay::recorded_events& each : recorded) {
      requests_.push_back(replay::collect_requests(each, trace.tables()));
      const replay::allocator_requests& requests = requests_.back();
      replayed_allocator& allocator = made_.allocators.emplace_back();
      allocator.label = index::short_label(requests.device, trace.tables());
      if (several) allocator.label += ", " + index::process_label(requests.process, trace.tables());
      allocator.process = requests.process;
      allocator.device = requests.device;
      allocator.recorded_peak = requests.recorded.segments_known ? requests.recorded.peak_reserved : 0;
      const time_range asked{bounded(requests.times.front()), bounded(requests.times.back()) + 1};
      const bool first = made_.allocators.size() == 1;
      made_.span =
          first ? asked : time_range{std::min(made_.span.begin, asked.begin), std::max(made_.span.end, asked.end)};
      const auto error = replay::to_error(requests, replay::replay_policy(requests, {}));
      allocator.reproduced = error && error->peak_reserved == 0 && requests.recorded.empty_segments == 0;
    }
    if (facts_ != nullptr && facts_->steps != nullptr) replay::put_moments(requests_, facts_->steps->lists(), failed_);
    policies_ = replay::policies_for(requests_);
  }

  void replay_next() {
    const replay::policy& by = policies_[next_replay_ % policies_.size()];
    const std::size_t which = next_replay_ / policies_.size();
    replay::reserved_curve curve{made_.span, std::vector<std::uint64_t>(what_if_curves::parts)};
    const auto metrics = replay::replay_policy(requests_[which], by, &curve);
    made_.allocators[which].policies.push_back({by.text, metrics, std::move(curve.highest)});
    ++next_replay_;
  }

  replay::recorded_events_builder events_;
  bool requests_found_ = false;
  std::vector<replay::allocator_requests> requests_;
  std::vector<replay::policy> policies_;
  std::shared_ptr<const index::tensor_facts> facts_;  ///< Facts of the whole recording; null if unknown.
  std::vector<trace::alloc_failed_event> failed_;     ///< Failures that were reported to the program.
  std::size_t next_replay_ = 0;                       ///< The number of policies replayed so far, over all allocators.
  what_if_curves made_;
};

}  // namespace

operator_of<what_if_query> make_operator(const what_if_query& /*query*/) { return std::make_unique<replayer>(); }

}  // namespace sluice::query
