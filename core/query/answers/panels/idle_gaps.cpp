#include "core/query/answers/panels/idle_gaps.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>

#include "core/figures/code_place.hpp"
#include "core/query/engine/section_answer.hpp"

namespace sluice::query {
namespace {

std::vector<gap_line> lines_of(const std::vector<analysis::gap_group>& groups, analysis::code_places& places) {
  std::vector<gap_line> made;
  std::map<std::tuple<trace::device_id, analysis::gap_cause, std::string>, std::size_t> known;
  for (const analysis::gap_group& each : groups) {
    const analysis::code_place& of = places.of(each.stack);
    std::string place = text_of(of);
    const auto [at, fresh] = known.try_emplace({each.device, each.cause, place}, made.size());
    if (fresh) {
      gap_line& line = made.emplace_back();
      line.device = each.device;
      line.cause = each.cause;
      line.call = each.call;
      line.place = std::move(place);
      line.line = of.line;
      line.stack_is_next = each.stack_is_next;
    }
    gap_line& line = made[at->second];
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
  std::stable_sort(made.begin(), made.end(), [](const gap_line& a, const gap_line& b) { return a.total > b.total; });
  return made;
}

class gaps_of_parts final : public section_answer<idle_gap_list> {
 public:
  explicit gaps_of_parts(time_range range) : scope_{nullptr, analysis::bounded(range)} {}

  result<void> add(const sources& from, time_range part) override {
    scope_.trace = &from.trace;
    if (!gaps_) gaps_.emplace(scope_, idle_gap_list::limit);
    gaps_->add(from.index, part);
    return {};
  }

  result<idle_gap_list> answer(const sources& from) override {
    idle_gap_list made;
    made.range = scope_.range;
    if (!gaps_) return made;
    const analysis::naming names{from.frames, from.lookup, &from.provisional};
    analysis::code_places places(from.trace.tables(), names);
    made.lengths = gaps_->lengths();
    for (const analysis::idle_gap& each : gaps_->longest()) {
      const analysis::code_place& of = places.of(each.stack);
      made.gaps.push_back({each, text_of(of), of.line});
    }
    made.lines = lines_of(gaps_->gaps(), places);
    return made;
  }

 private:
  analysis::figures_scope scope_;
  std::optional<analysis::idle_gaps_builder> gaps_;
};

}  // namespace

section_answer_for<idle_gaps_question> gather(const idle_gaps_question& question) {
  return std::make_unique<gaps_of_parts>(question.range);
}

result<idle_gap_list> answer_to(const idle_gaps_question& question, const sources& from) {
  gaps_of_parts all(question.range);
  if (const auto added = all.add(from, analysis::bounded(question.range)); !added) return tl::unexpected(added.error());
  return all.answer(from);
}

}  // namespace sluice::query
