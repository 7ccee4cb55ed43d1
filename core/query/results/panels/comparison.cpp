#include "core/query/types/comparison.hpp"

#include "core/query/results/metric_source.hpp"
#include "core/query/results/query_operator.hpp"
#include "core/summary/passes/recording_sections.hpp"

namespace sluice::query {
namespace {

using metrics::compared_side;

compared_side kept(compared_side&& side, const compared_side_query& query) {
  if (query.device) metrics::keep_device(side, *query.device);
  return std::move(side);
}

class side_of_parts final : public range_operator<compared_side> {
 public:
  explicit side_of_parts(const compared_side_query& query)
      : range_operator(query.range), query_(query), builder_(range_, query.process) {}

  result<reading_plan> plan(const sources& /*source*/) override {
    return reading_plan{.ranges = {range_}, .process = query_.process};
  }
  result<void> add(const sources& source, time_range part) override {
    // If the index covers only sections, it already contains only this process.
    const bool reads_process = query_.process != trace::process_id::none && !source.index.is_part();
    if (reads_process) {
      const auto goes_on = [&source] { return !source.cancelled; };
      if (const auto own = summary::read_all_events(source.trace, goes_on, query_.process))
        builder_.add(*own, source.trace, part, source.cancelled);
    } else {
      builder_.add(source.index, source.trace, part, source.cancelled);
    }
    if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
    return {};
  }
  result<compared_side> finish(const sources& origin) override {
    return kept(builder_.side(origin.trace.tables()), query_);
  }

 private:
  const compared_side_query query_;
  metrics::compared_side_builder builder_;
};

/// Gives the names of a side: the known ones if the side belongs to this recording, otherwise new ones.
class names_of_side {
 public:
  names_of_side(const side_of_recording& side, const sources& source)
      : known_(side.trace->is_of_the_file_of(source.trace) ? &source.frames : nullptr) {
    if (known_ == nullptr) own_.emplace(symbols::options_for(*side.trace));
  }
  symbols::frame_cache& book() { return known_ != nullptr ? *known_ : *own_; }

 private:
  symbols::frame_cache* known_;
  std::optional<symbols::frame_cache> own_;
};

}  // namespace

operator_of<compared_side_query> make_operator(const compared_side_query& query) {
  return std::make_unique<side_of_parts>(query);
}

std::optional<result<compared_side>> result_from_metrics(const compared_side_query& query, const sources& source) {
  const summary::stored_metrics& stored = *source.stored->metrics;
  const bool complete = query.process == trace::process_id::none;
  if (!complete || !has_metrics_of(query.range, source)) return std::nullopt;
  auto metrics = summary::metrics_to_compare(stored);
  if (!metrics) return std::nullopt;
  compared_side side;
  side.statistics = stored.metrics.whole;
  side.metrics = std::move(*metrics);
  side.compositions = stored.metrics.compositions;
  metrics::put_steps(*source.stored->facts->steps, stored.span, side);
  return kept(std::move(side), query);
}

result<metrics::comparison> result_to(const comparison_query& query, const sources& source) {
  names_of_side before(query.before, source);
  names_of_side after(query.after, source);
  auto comparison = metrics::make_comparison({*query.before.side, query.before.trace->tables(), before.book()},
                                             {*query.after.side, query.after.trace->tables(), after.book()},
                                             query.options, source.cancelled);
  if (source.cancelled) return fail(error_code::cancelled, "the query was cancelled");
  return comparison;
}

std::optional<result<metrics::comparison>> result_from_metrics(const comparison_query& query, const sources& source) {
  return result_to(query, source);
}

}  // namespace sluice::query
