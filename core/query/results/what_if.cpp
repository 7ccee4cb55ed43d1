#include <algorithm>
#include <optional>
#include <vector>

#include "core/index/labels.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/report/report.hpp"
#include "core/metrics/statistics/allocation_retries.hpp"
#include "core/query/results/long_queries.hpp"
#include "core/replay/policy.hpp"
#include "core/replay/recorded_events.hpp"
#include "core/replay/replay.hpp"
#include "core/replay/requests.hpp"
#include "core/summary/sections/section_cache.hpp"

namespace sluice::query {
namespace {

constexpr std::size_t sections_at_a_time = 6;
/// Replaying a policy takes about this many times as long as reading `sections_at_a_time` sections. The progress bar
/// uses this.
constexpr std::size_t steps_a_policy = 4;

/// Runs the replay in steps: first reads one section per step, then replays one policy per step.
class replayer final : public long_result<what_if_curves> {
 public:
  /// Reads the sections of the file; `source.stored->sections` must be set.
  explicit replayer(const sources& source)
      : trace_(source.trace),
        reader_(&source.stored->sections->store()),
        goes_on_([&cancelled = source.cancelled] { return !cancelled; }),
        events_(what_if_curves::block_limit),
        policies_(replay::default_policies()),
        facts_(get_facts(source)) {
    if (source.stored->metrics == nullptr) return;
    for (const metrics::failed_allocation& each : source.stored->metrics->metrics.failures) {
      trace::alloc_failed_event& row = failed_.emplace_back();
      row.time = each.time;
      row.process = each.process;
      row.device = each.device;
    }
  }

  /// With `whole`, reads no sections but uses the blocks of `source.index`, which must cover the whole recording.
  struct whole {};
  replayer(const sources& source, whole /*as*/)
      : trace_(source.trace),
        events_(what_if_curves::block_limit),
        policies_(replay::default_policies()),
        facts_(get_facts(source)),
        failed_(metrics::failures_that_reached(source.index.memory(), source.trace)) {
    events_.add(source.index.memory(), all_time);
  }

  result<bool> work(deadline_type deadline, const std::atomic<bool>& cancelled) override {
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

  [[nodiscard]] float progress() const override {
    const std::size_t replays = policies_.size() * (requests_found_ ? requests_.size() : 1) * steps_a_policy;
    const std::size_t total = sections() / sections_at_a_time + 1 + replays;
    const std::size_t done = next_section_ / sections_at_a_time + next_replay_ * steps_a_policy;
    return std::min(1.0F, static_cast<float>(done) / static_cast<float>(total));
  }

  result<what_if_curves> so_far(bool& /*provisional*/) override { return made_; }

 private:
  [[nodiscard]] std::size_t sections() const { return reader_ == nullptr ? 0 : reader_->sections().size(); }

  result<void> read_next() {
    const std::size_t last = std::min(next_section_ + sections_at_a_time, sections()) - 1;
    const auto index = reader_->get_index(next_section_, last, index::section_scope::memory, goes_on_);
    if (!index) return tl::unexpected(index.error());
    events_.add((*index)->memory(), reader_->find_run(next_section_, last));
    next_section_ = last + 1;
    return {};
  }

  void find_requests() {
    requests_found_ = true;
    made_.too_many = events_.gave_up();
    if (made_.too_many) return;
    const auto recorded = events_.take(trace_.tables());
    const bool several = recorded.size() > 1;
    for (const replay::recorded_events& each : recorded) {
      requests_.push_back(replay::collect_requests(each, trace_.tables()));
      const replay::allocator_requests& requests = requests_.back();
      replayed_allocator& allocator = made_.allocators.emplace_back();
      allocator.label = index::short_label(requests.device, trace_.tables());
      if (several) allocator.label += ", " + index::process_label(requests.process, trace_.tables());
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

  const trace::snapshot& trace_;
  const summary::section_reader* reader_ = nullptr;  ///< Null if the blocks of the index are used.
  const std::function<bool()> goes_on_;
  std::size_t next_section_ = 0;
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

unique_result start_long(const what_if_query& /*query*/, const sources& source) {
  return has_sections(source) ? std::make_unique<replayer>(source) : nullptr;
}

result<what_if_curves> result_to(const what_if_query& /*question*/, const sources& source) {
  return replayer(source, replayer::whole{}).finish(source.cancelled, source.provisional);
}

}  // namespace sluice::query
