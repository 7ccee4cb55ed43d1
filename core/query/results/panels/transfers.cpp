#include "core/query/results/panels/transfers.hpp"

#include <memory>
#include <optional>

#include "core/query/engine/section_result.hpp"

namespace sluice::query {
namespace {

metrics::naming naming_of(const sources& from) { return {from.frames, from.lookup, &from.provisional}; }

class transfers_of_parts final : public section_result<metrics::copy_table> {
 public:
  explicit transfers_of_parts(time_range range) : scope_{nullptr, bounded(range)} {}

  result<void> add(const sources& from, time_range part) override {
    if (!lines_) {
      contents_ = index::read_contents(from.trace);
      scope_.trace = &from.trace;
      lines_.emplace(contents_, scope_);
    }
    lines_->add(from.index, part);
    return {};
  }
  result<metrics::copy_table> evaluate(const sources& from) override {
    if (!lines_) return metrics::copy_table{};
    const metrics::naming names = naming_of(from);
    metrics::code_places places(from.trace.tables(), names);
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

result<metrics::copy_table> result_to(const transfers_query& query, const sources& from) {
  const metrics::metrics_scope scope{&from.trace, bounded(query.range)};
  metrics::copy_lines_builder lines(from.index.contents(from.trace), scope);
  lines.add(from.index, scope.range);
  const metrics::naming names = naming_of(from);
  metrics::code_places places(from.trace.tables(), names);
  return lines.table(places);
}

}  // namespace sluice::query
