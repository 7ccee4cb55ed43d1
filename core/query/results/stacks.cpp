#include <algorithm>
#include <utility>

#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/base/attribution_choice.hpp"
#include "core/metrics/idle/host_use.hpp"
#include "core/query/results/memory_choices.hpp"
#include "core/query/results/metric_source.hpp"
#include "core/query/results/query_operator.hpp"
#include "core/query/results/stack_lines.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

memory_wanted get_wanted(const stacks_query& query) { return {query.layer, query.device, query.kind}; }

/// Returns the filter for the time of host threads: of all of them, and not only while a device is idle.
metrics::host_use_filter get_host_filter(const stacks_query& query) {
  metrics::host_use_filter filter{.range = query.range, .only_idle = false, .only_launching = false};
  filter.device = query.device;
  filter.thread = query.thread;
  filter.state = query.state;
  return filter;
}

/// Adds up the memory, copies or time of stacks in a range.
class use_of_range {
 public:
  explicit use_of_range(const stacks_query& query)
      : query_(query), range_(bounded(query.range)), host_(get_host_filter(query)) {}

  void add(const sources& source, time_range part) {
    const bool first = !std::exchange(begun_, true);
    if (first) about_.choices = list_choices(source);
    if (query_.measure == stack_measure::transferred) {
      use_.join(
          metrics::copying_stacks(source.index, {query_.device, query_.direction}, range_, source.cancelled, part));
      if (first) use_.time = range_.begin;
      return;
    }
    if (query_.measure == stack_measure::host) {
      host_.add(source.index, source.trace.tables(), part, source.cancelled);
      return;
    }
    if (first) about_.choice = choose(about_.choices, get_wanted(query_));
    if (!about_.choice) return;
    const memory_choice& chosen = about_.choices[*about_.choice];
    const metrics::block_filter filter{chosen.layer, chosen.device, chosen.kind};
    const index::memory_use& memory = source.index.memory();
    if (query_.measure == stack_measure::allocated) {
      use_.join(metrics::allocating_stacks(memory, filter, part, source.cancelled));
      if (first) use_.time = range_.begin;
      return;
    }
    if (query_.measure == stack_measure::live) {
      use_ = metrics::live_stacks(memory, filter, bounded(query_.at), source.cancelled);
      return;
    }
    const time_ns highest = metrics::peak_time(memory, filter, part, source.cancelled);
    metrics::stack_use held = metrics::live_stacks(memory, filter, highest, source.cancelled);
    if (first || held.bytes() > use_.bytes()) use_ = std::move(held);
  }

  [[nodiscard]] metrics::stack_use get_use(const trace::tables& tables) const {
    return query_.measure == stack_measure::host ? host_.get_stacks(tables) : use_;
  }
  /// Returns a view that has only the choices of memory and which of them is shown.
  [[nodiscard]] const stack_view& about() const { return about_; }

 private:
  const stacks_query query_;
  const time_range range_;
  bool begun_ = false;
  metrics::stack_use use_;
  metrics::host_use_builder host_;  ///< For `stack_measure::host`, instead of `use_`.
  stack_view about_;
};

/// Completes `view` with its choices and tree.
result<stack_view> make_view(const stacks_query& query, const metrics::stack_use& use, const sources& source,
                             stack_view view) {
  const trace::tables& tables = source.trace.tables();
  view.recorded = !tables.stacks.rows().empty();
  view.time = use.time;
  view.kernels_known = use.kernels_known;
  for (const metrics::stack_share& share : use.shares)
    if (share.stack == trace::stack_id::none) view.without = share.metrics;
  metrics::stack_lines lines = make_stack_lines(source, query.fold, &view.symbols_pending);
  symbols::attributor who(source.frames, tables, source.lookup, &view.symbols_pending);
  if (query.grouping.grouped) {
    view.grouped_by = query.grouping.by.value_or(metrics::most_even(use, who).by);
    lines.group = [&](trace::stack_id stack) {
      return stack == trace::stack_id::none ? lines.none : who.of(stack, *view.grouped_by);
    };
  }
  view.tree = metrics::merge_stacks(use, tables, lines, query.order, query.weight, source.cancelled);
  if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
  source.provisional |= view.symbols_pending;
  put_lines(source, view);
  return view;
}

time_range get_range(const stacks_query& query) {
  return query.measure == stack_measure::live ? time_range{query.at, query.at} : query.range;
}

class stacks_of_parts final : public range_operator<stack_view> {
 public:
  explicit stacks_of_parts(const stacks_query& query) : range_operator(get_range(query)), query_(query), use_(query) {}

  result<void> add(const sources& source, time_range part) override {
    use_.add(source, part);
    if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    return {};
  }
  result<stack_view> finish(const sources& source) override {
    return query::make_view(query_, use_.get_use(source.trace.tables()), source, use_.about());
  }

 private:
  const stacks_query query_;
  use_of_range use_;
};

}  // namespace

operator_of<stacks_query> make_operator(const stacks_query& query) { return std::make_unique<stacks_of_parts>(query); }

std::optional<result<stack_view>> result_from_metrics(const stacks_query& query, const sources& source) {
  const summary::stored_metrics& stored_metrics = *source.stored->metrics;
  const bool is_stored = query.measure != stack_measure::live && query.measure != stack_measure::host;
  if (!is_stored || !has_metrics_of(query.range, source)) return {};
  stack_view view;
  for (const summary::memory_stacks& memory : stored_metrics.memory)
    view.choices.push_back(make_choice(memory.memory, source.trace.tables()));
  if (query.measure == stack_measure::transferred) {
    if (!query.device && !query.direction) return make_view(query, stored_metrics.all_copies, source, std::move(view));
    for (const summary::copy_stacks& copies : stored_metrics.copies)
      if (query.device == copies.device && query.direction == copies.direction)
        return make_view(query, copies.use, source, std::move(view));
    return {};
  }
  view.choice = choose(view.choices, get_wanted(query));
  if (!view.choice) return make_view(query, {}, source, std::move(view));
  const summary::memory_stacks& chosen = stored_metrics.memory[*view.choice];
  const bool peak = query.measure == stack_measure::peak;
  return make_view(query, peak ? chosen.at_peak : chosen.allocated, source, std::move(view));
}

}  // namespace sluice::query
