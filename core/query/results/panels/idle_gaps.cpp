#include "core/query/results/panels/idle_gaps.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>

#include "core/metrics/code_place.hpp"
#include "core/query/engine/section_result.hpp"

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

class gaps_of_parts final : public section_result<idle_gap_list> {
 public:
  explicit gaps_of_parts(time_range range) : scope_{nullptr, bounded(range)} {}

  result<void> add(const sources& source, time_range part) override {
    scope_.trace = &source.trace;
    if (!gaps_) gaps_.emplace(scope_, idle_gap_list::limit);
    gaps_->add(source.index, part);
    return {};
  }

  result<idle_gap_list> evaluate(const sources& source) override {
    idle_gap_list list;
    list.range = scope_.range;
    if (!gaps_) return list;
    const metrics::naming names{source.frames, source.lookup, &source.provisional};
    metrics::code_places places(source.trace.tables(), names);
    list.lengths = gaps_->lengths();
    for (const metrics::idle_gap& each : gaps_->longest()) {
      const metrics::code_place& code_place = places.of(each.stack);
      list.gaps.push_back({each, to_text(code_place), code_place.line});
    }
    list.lines = get_lines(gaps_->gaps(), places);
    list.devices = gaps_->devices();
    return list;
  }

 private:
  metrics::metrics_scope scope_;
  std::optional<metrics::idle_gaps_builder> gaps_;
};

}  // namespace

section_result_for<idle_gaps_query> gather(const idle_gaps_query& query) {
  return std::make_unique<gaps_of_parts>(query.range);
}

result<idle_gap_list> result_to(const idle_gaps_query& query, const sources& source) {
  gaps_of_parts parts(query.range);
  if (const auto added = parts.add(source, bounded(query.range)); !added) return tl::unexpected(added.error());
  return parts.evaluate(source);
}

}  // namespace sluice::query
