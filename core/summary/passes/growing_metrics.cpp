#include "core/summary/passes/growing_metrics.hpp"

#include <algorithm>
#include <utility>

#include "core/index/recording_facts.hpp"
#include "core/summary/metrics/section_feed.hpp"
#include "core/summary/passes/new_beginning.hpp"
#include "core/summary/passes/settling.hpp"

namespace sluice::summary {
struct growing_metrics::state {
  explicit state(const growing_summary::outcome& first)
      : first_late_chunks(first.late_chunks),
        built(first),
        scope{&built.trace(), index::recorded_range(built.trace())},
        settled(scope, *built.sections->whole()->steps, *built.unsectioned) {}

  /// True if the added sections lack rows that arrived late, and adding everything again would take only a small part
  /// of the elapsed time.
  [[nodiscard]] bool is_worth_a_new_beginning(std::size_t late_chunks) const {
    return late_chunks > first_late_chunks && beginning.is_worth_another(built.unsectioned->events);
  }

  /// False if the sections added so far are not valid for `next`.
  bool go_on(const growing_summary::outcome& next) {
    const time_range range = index::recorded_range(next.trace());
    if (built.beginning != next.beginning || !built.trace().is_of_the_file_of(next.trace()) ||
        range.begin != scope.range.begin || added > next.settled ||
        !found_alike(*built.sections->whole(), *next.sections->whole()))
      return false;
    // Keeps the old outcome until nothing refers to it any more.
    const growing_summary::outcome before = std::exchange(built, next);
    scope = {&built.trace(), range};
    const time_ns until = added > 0 ? before.sections->find_run(added - 1, added - 1).end : range.begin;
    return settled.go_on(*built.sections->whole()->steps, *built.unsectioned, until);
  }

  /// Returns the number of sections that can be added permanently.
  [[nodiscard]] std::size_t settled_now() const {
    const time_ns last = scope.range.end - settling_time(*built.sections->whole()->steps, scope.range);
    std::size_t behind = added;
    while (behind < built.settled && built.sections->find_run(behind, behind).end <= last) ++behind;
    return behind;
  }

  new_beginning beginning;
  std::size_t first_late_chunks = 0;
  growing_summary::outcome built;
  metrics::metrics_scope scope;
  stored_metrics_builder settled;
  std::size_t added = 0;  ///< Number of sections.
};

growing_metrics::growing_metrics(const stored_metrics_options& options) : options_(options) {}
growing_metrics::~growing_metrics() = default;

std::size_t growing_metrics::added() const { return state_ == nullptr ? 0 : state_->added; }

result<stored_metrics> growing_metrics::build(const growing_summary::outcome& output,
                                              const std::function<bool()>& goes_on) {
  auto now = std::move(state_);
  if (now != nullptr && (now->is_worth_a_new_beginning(output.late_chunks) || !now->go_on(output))) now.reset();
  if (now == nullptr) now = std::make_unique<state>(output);
  section_feed feed(*output.sections, options_, goes_on);
  const std::size_t behind = now->settled_now();
  if (const auto settled = feed.add(now->settled, now->added, behind); !settled) return tl::unexpected(settled.error());
  now->added = behind;
  stored_metrics_builder rest(now->settled);
  if (const auto added = feed.add(rest, behind, output.sections->sections().size()); !added)
    return tl::unexpected(added.error());
  if (const auto looked = feed.revisit(rest); !looked) return tl::unexpected(looked.error());
  now->beginning.ended(output.unsectioned->events);
  state_ = std::move(now);
  return rest.take();
}

}  // namespace sluice::summary
