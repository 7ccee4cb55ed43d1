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
        of(first),
        scope{&of.trace(), index::time_range_of(of.trace())},
        settled(scope, *of.sections->whole()->steps, *of.unsectioned) {}

  /// The added sections lack rows that arrived late. True once adding everything again would take only a small part of
  /// the elapsed time.
  [[nodiscard]] bool is_worth_a_new_beginning(std::size_t late_chunks) const {
    return late_chunks > first_late_chunks && beginning.is_worth_another(of.unsectioned->events);
  }

  /// False if the sections added so far are not valid for `next`.
  bool go_on(const growing_summary::outcome& next) {
    const time_range range = index::time_range_of(next.trace());
    if (of.beginning != next.beginning || !of.trace().is_of_the_file_of(next.trace()) ||
        range.begin != scope.range.begin || added > next.settled ||
        !found_alike(*of.sections->whole(), *next.sections->whole()))
      return false;
    // Keeps the old outcome until nothing refers to it any more.
    const growing_summary::outcome before = std::exchange(of, next);
    scope = {&of.trace(), range};
    const time_ns until = added > 0 ? before.sections->run_of(added - 1, added - 1).end : range.begin;
    return settled.go_on(*of.sections->whole()->steps, *of.unsectioned, until);
  }

  /// Returns the number of sections that can be added permanently.
  [[nodiscard]] std::size_t settled_now() const {
    const time_ns last = scope.range.end - settling_time(*of.sections->whole()->steps, scope.range);
    std::size_t behind = added;
    while (behind < of.settled && of.sections->run_of(behind, behind).end <= last) ++behind;
    return behind;
  }

  new_beginning beginning;
  std::size_t first_late_chunks = 0;
  growing_summary::outcome of;
  metrics::metrics_scope scope;
  stored_metrics_builder settled;
  std::size_t added = 0;  ///< Number of sections.
};

growing_metrics::growing_metrics(const stored_metrics_options& options) : options_(options) {}
growing_metrics::~growing_metrics() = default;

std::size_t growing_metrics::added() const { return state_ == nullptr ? 0 : state_->added; }

result<stored_metrics> growing_metrics::build(const growing_summary::outcome& made,
                                              const std::function<bool()>& goes_on) {
  auto now = std::move(state_);
  if (now != nullptr && (now->is_worth_a_new_beginning(made.late_chunks) || !now->go_on(made))) now.reset();
  if (now == nullptr) now = std::make_unique<state>(made);
  section_feed feed(*made.sections, options_, goes_on);
  const std::size_t behind = now->settled_now();
  if (const auto settled = feed.add(now->settled, now->added, behind); !settled) return tl::unexpected(settled.error());
  now->added = behind;
  stored_metrics_builder rest(now->settled);
  if (const auto added = feed.add(rest, behind, made.sections->sections().size()); !added)
    return tl::unexpected(added.error());
  if (const auto looked = feed.revisit(rest); !looked) return tl::unexpected(looked.error());
  now->beginning.ended(made.unsectioned->events);
  state_ = std::move(now);
  return rest.take();
}

}  // namespace sluice::summary
