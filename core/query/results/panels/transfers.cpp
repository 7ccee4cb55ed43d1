#include "core/query/results/panels/transfers.hpp"

#include <memory>
#include <optional>

#include "core/query/engine/section_result.hpp"

namespace sluice::query {
namespace {

metrics::naming get_naming(const sources& source) { return {source.frames, source.lookup, &source.provisional}; }

class transfers_of_parts final : public section_result<metrics::copy_table> {
 public:
  explicit transfers_of_parts(time_range range) : scope_{nullptr, bounded(range)} {}

  result<void> add(const sources& source, time_range part) override {
    if (!lines_) {
      contents_ = index::read_contents(source.trace);
      scope_.trace = &source.trace;
      lines_.emplace(contents_, scope_);
    }
    lines_->add(source.index, part);
    return {};
  }
  result<metrics::copy_table> evaluate(const sources& source) override {
    if (!lines_) return metrics::copy_table{};
    const metrics::naming names = get_naming(source);
    metrics::code_places places(source.trace.tables(), names);
    return lines_->table(places);
  }

 private:
  metrics::metrics_scope scope_;
  index::copy_contents contents_;
  std::optional<metrics::copy_lines_builder> lines_;
};

}  // namespace

section_result_for<transfers_query> gather(const transfers_query& query) {
  return std::make_unique<transfers_of_parts>(query.range);
}

result<metrics::copy_table> result_to(const transfers_query& query, const sources& source) {
  const metrics::metrics_scope scope{&source.trace, bounded(query.range)};
  metrics::copy_lines_builder lines(source.index.contents(source.trace), scope);
  lines.add(source.index, scope.range);
  const metrics::naming names = get_naming(source);
  metrics::code_places places(source.trace.tables(), names);
  return lines.table(places);
}

}  // namespace sluice::query
