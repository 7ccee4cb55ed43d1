#include "core/query/engine/operator_run.hpp"

#include <algorithm>

namespace sluice::query {
namespace {

/// A range with more sections than this is added in parts of a few sections.
constexpr std::size_t max_sections = 16;
constexpr std::size_t sections_in_a_part = 6;

}  // namespace

operator_run::operator_run(std::unique_ptr<any_operator> operation, index::section_scope scope, const sources& source)
    : operation_(std::move(operation)), scope_(scope), from_(source) {
  const auto plan = operation_->plan(from_);
  if (!plan) {
    failure_ = plan.error();
    return;
  }
  process_ = plan->process;
  for (const time_range range : plan->ranges) plan_range(range, plan->order);
  if (plan->order == reading_plan::direction::backward_one_by_one) std::reverse(parts_.begin(), parts_.end());
}

void operator_run::plan_range(time_range range, reading_plan::direction order) {
  const summary::section_reader& store = from_.stored->sections->store();
  const std::size_t begin = store.section_at(bounded(range.begin));
  const std::size_t end = store.section_at(std::max(bounded(range.begin), bounded(range.end) - 1)) + 1;
  const bool few = end - begin <= max_sections;
  const bool singly = order != reading_plan::direction::forward;
  const std::size_t length = singly ? 1 : few ? end - begin : sections_in_a_part;
  for (std::size_t first = begin; first < end; first += length) {
    const std::size_t last = std::min(first + length, end) - 1;
    // The first section begins with all times before it, and the last ends with all times after it.
    const time_range here = intersect(range, store.find_run(first, last));
    parts_.push_back({first, last, here, few || singly});
  }
}

result<void> operator_run::add_next() {
  const part& next = parts_[next_++];
  summary::section_cache& cache = *from_.stored->sections;
  const auto goes_on = [this] { return !from_.cancelled; };
  const bool kept = next.kept && process_ == trace::process_id::none;
  const auto index = kept ? cache.get(next.first, next.last, scope_, goes_on)
                          : cache.store().get_index(next.first, next.last, scope_, goes_on, process_);
  if (!index) return tl::unexpected(index.error());
  if (parts_.size() == 1) only_ = *index;
  return operation_->add(with_index(from_, **index, from_.provisional), next.range);
}

result<bool> operator_run::work(deadline_type deadline) {
  const auto parts_left = [this] { return next_ < parts_.size() && !operation_->satisfied(); };
  const auto work_left = [this] {
    const auto share = operation_->remaining_work();
    return share.done < share.total;
  };
  if (failure_) return tl::unexpected(*failure_);
  while (parts_left() || work_left()) {
    if (from_.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    const auto done = parts_left() ? add_next() : operation_->work(from_);
    if (!done) return tl::unexpected(done.error());
    if (std::chrono::steady_clock::now() >= deadline) break;
  }
  return !parts_left() && !work_left();
}

float operator_run::progress() const {
  if (failure_) return 0;
  const auto share = operation_->remaining_work();
  const std::size_t total = parts_.size() + share.total;
  const std::size_t done = (operation_->satisfied() ? parts_.size() : next_) + share.done;
  return total == 0 ? 1 : static_cast<float>(done) / static_cast<float>(total);
}

result<any_value> operator_run::any_so_far(bool& provisional) {
  return operation_->finish_any(with_index(from_, only_ ? *only_ : from_.index, provisional));
}

}  // namespace sluice::query
