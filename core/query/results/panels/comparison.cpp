#include "core/query/results/panels/comparison.hpp"

#include "core/index/growing_index.hpp"
#include "core/query/engine/metric_source.hpp"
#include "core/query/engine/section_result.hpp"

namespace sluice::query {
namespace {

using metrics::compared_side;

compared_side kept(compared_side&& of, const compared_side_query& query) {
  if (query.device) metrics::keep_device(of, *query.device);
  return std::move(of);
}

class side_of_parts final : public section_result<compared_side> {
 public:
  explicit side_of_parts(const compared_side_query& query)
      : query_(query), builder_(bounded(query.range), query.process) {}

  result<void> add(const sources& from, time_range part) override {
    builder_.add(from.index, from.trace, part, from.cancelled);
    if (from.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    return {};
  }
  result<compared_side> evaluate(const sources& from) override {
    return kept(builder_.side(from.trace.tables()), query_);
  }

 private:
  const compared_side_query query_;
  metrics::compared_side_builder builder_;
};

/// Uses the known names if the side belongs to this recording, else new ones.
class names_of_side {
 public:
  names_of_side(const side_of_recording& side, const sources& from)
      : known_(side.trace->is_of_the_file_of(from.trace) ? &from.frames : nullptr) {
    if (known_ == nullptr) own_.emplace(symbols::options_for(*side.trace));
  }
  symbols::frame_cache& book() { return known_ != nullptr ? *known_ : *own_; }

 private:
  symbols::frame_cache* known_;
  std::optional<symbols::frame_cache> own_;
};

}  // namespace

section_result_for<compared_side_query> gather(const compared_side_query& query) {
  return std::make_unique<side_of_parts>(query);
}

result<compared_side> result_to(const compared_side_query& query, const sources& from) {
  const auto side = [&](const index::event_store& index) {
    return kept(metrics::side_of(index, from.trace, bounded(query.range), query.process), query);
  };
  // The index of sections is limited to the process already.
  if (query.process == trace::process_id::none || from.index.is_part()) return side(from.index);
  index::growing_index own(query.process);
  while (!own.absorb(from.trace, 1))
    if (from.cancelled) return fail(error_code::cancelled, "the query was cancelled");
  return side(own);
}

std::optional<result<compared_side>> result_from_metrics(const compared_side_query& query, const sources& from) {
  const summary::stored_metrics& stored = *from.stored->metrics;
  const bool all = query.process == trace::process_id::none;
  if (!all || !has_metrics_of(query.range, from)) return std::nullopt;
  auto metrics = summary::metrics_to_compare(stored);
  if (!metrics) return std::nullopt;
  compared_side made;
  made.statistics = stored.metrics.whole;
  made.metrics = std::move(*metrics);
  made.compositions = stored.metrics.compositions;
  metrics::put_steps(*from.stored->facts->steps, stored.span, made);
  return kept(std::move(made), query);
}

result<metrics::comparison> result_to(const comparison_query& query, const sources& from) {
  names_of_side before(query.before, from);
  names_of_side after(query.after, from);
  auto made = metrics::make_comparison({*query.before.side, query.before.trace->tables(), before.book()},
                                       {*query.after.side, query.after.trace->tables(), after.book()}, query.how,
                                       from.cancelled);
  if (from.cancelled) return fail(error_code::cancelled, "the query was cancelled");
  return made;
}

std::optional<result<metrics::comparison>> result_from_metrics(const comparison_query& query, const sources& from) {
  return result_to(query, from);
}

}  // namespace sluice::query
