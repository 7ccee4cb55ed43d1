#include "core/query/results/query_operator.hpp"

namespace sluice::query {

result<void> run_on_index(any_operator& operation, const sources& source) {
  const auto plan = operation.plan(source);
  if (!plan) return tl::unexpected(plan.error());
  const auto cancelled = [&] { return fail(error_code::cancelled, "the query was cancelled"); };
  for (const time_range range : plan->ranges) {
    if (operation.satisfied()) break;
    if (source.cancelled) return cancelled();
    if (auto added = operation.add(source, range); !added) return added;
  }
  for (auto share = operation.remaining_work(); share.done < share.total; share = operation.remaining_work()) {
    if (source.cancelled) return cancelled();
    if (auto worked = operation.work(source); !worked) return worked;
  }
  return {};
}

}  // namespace sluice::query
