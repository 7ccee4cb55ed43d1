#include "core/query/types/idle_gaps.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "core/query/results/panels/gap_reader.hpp"
#include "core/query/results/query_operator.hpp"

namespace sluice::query {
namespace {

std::vector<gap_line> get_lines(const std::vector<metrics::gap_group>& groups, metrics::code_places& places) {
  std::vector<gap_line> items;
  std::map<std::tuple<trace::device_id, metrics::gap_cause, std::string>, std::size_t> known;
  for (const metrics::gap_group& each : groups) {
    const metrics::code_place& code_place = places.of(each.stack);
    std::string place = to_text(code_place);
    const auto [at, fresh] = known.try_emplace({each.device, each.cause, place}, items.size());
    if (fresh) {
      gap_line& line = items.emplace_back();
      line.device = each.device;
      line.cause = each.cause;
      line.call = each.call;
      line.place = std::move(place);
      line.line = code_place.line;
      line.stack_is_next = each.stack_is_next;
    }
    gap_line& line = items[at->second];
    line.count += each.count;
    line.total += each.total;
    line.saved += each.saved;
    if (each.longest <= line.longest) continue;
    line.longest = each.longest;
    line.longest_gap = each.longest_gap;
    line.call = each.call;
    line.range = each.range;
    line.stack_is_next = each.stack_is_next;
  }
  std::stable_sort(items.begin(), items.end(), [](const gap_line& a, const gap_line& b) { return a.total > b.total; });
  return items;
}

/// What the host did in the longest gaps, as far as it was sampled.
class host_of_gaps {
 public:
  /// Adds the gaps that ended in the last section added to `gaps`.
  void add(const metrics::idle_gaps_builder& gaps) {
    if (!gaps.samples().any()) return;
    gaps.for_each_part([&](const metrics::idle_part& each) {
      if (each.cause == metrics::gap_cause::queued || each.gap.length() < get_shortest(each.device)) return;
      gaps.samples().add_times(each.thread, each.ran, times_[{each.device, each.gap.begin}]);
    });
    keep_listed(gaps.longest());
  }

  [[nodiscard]] const metrics::work_times& get(const metrics::idle_gap& gap) const {
    static const metrics::work_times none;
    const auto found = times_.find({gap.device, gap.span.begin});
    return found == times_.end() ? none : found->second;
  }

 private:
  using times_of_gaps = std::map<std::pair<trace::device_id, time_ns>, metrics::work_times>;  ///< By start of the gap.

  [[nodiscard]] time_ns get_shortest(trace::device_id device) const {
    const auto found = shortest_.find(device);
    return found == shortest_.end() ? 0 : found->second;
  }

  /// Forgets gaps that are not listed any more, and notes how long a gap must be to be listed.
  void keep_listed(const std::vector<metrics::idle_gap>& longest) {
    times_of_gaps kept;
    std::map<trace::device_id, std::size_t> count;
    for (const metrics::idle_gap& each : longest) {
      if (auto found = times_.extract({each.device, each.span.begin})) kept.insert(std::move(found));
      if (++count[each.device] == idle_gap_list::limit) shortest_[each.device] = each.span.length();
    }
    times_ = std::move(kept);
  }

  times_of_gaps times_;
  std::map<trace::device_id, time_ns> shortest_;  ///< Shorter gaps cannot be listed.
};

class gaps_of_parts final : public range_operator<idle_gap_list> {
 public:
  explicit gaps_of_parts(time_range range) : range_operator(range), scope_{nullptr, range_} {}

  result<void> add(const sources& source, time_range part) override {
    scope_.trace = &source.trace;
    if (!gaps_) gaps_.emplace(scope_, idle_gap_list::limit).keep_parts();
    gaps_->add(source.index, part);
    host_.add(*gaps_);
    if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    return {};
  }

  result<idle_gap_list> finish(const sources& source) override {
    idle_gap_list list;
    list.range = scope_.range;
    if (!gaps_) return list;
    const metrics::naming names{source.frames, source.lookup, &source.provisional};
    metrics::code_places places(source.trace.tables(), names);
    list.lengths = gaps_->lengths();
    gap_reader reader(source.trace.tables(), names);
    for (const metrics::idle_gap& each : gaps_->longest())
      list.gaps.push_back({each, reader.describe(host_.get(each), each.stack, each.stack_is_next)});
    list.lines = get_lines(gaps_->gaps(), places);
    list.devices = gaps_->devices();
    return list;
  }

 private:
  metrics::metrics_scope scope_;
  std::optional<metrics::idle_gaps_builder> gaps_;
  host_of_gaps host_;
};

}  // namespace

operator_of<idle_gaps_query> make_operator(const idle_gaps_query& query) {
  return std::make_unique<gaps_of_parts>(query.range);
}

result<gap_stacks> result_to(const gap_stacks_query& query, const sources& source) {
  const auto get_lines = [&](trace::stack_id stack) {
    return source.frames.stack(stack, source.trace.tables(), source.lookup, &source.provisional);
  };
  gap_stacks stacks;
  if (query.host != trace::stack_id::none) stacks.host = get_lines(query.host);
  if (query.next != trace::stack_id::none) stacks.next = get_lines(query.next);
  return stacks;
}

}  // namespace sluice::query
