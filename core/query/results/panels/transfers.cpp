#include "core/query/types/transfers.hpp"

#include <memory>
#include <optional>

#include "core/query/results/query_operator.hpp"

namespace sluice::query {
namespace {

class transfers_of_parts final : public range_operator<metrics::copy_table> {
 public:
  explicit transfers_of_parts(time_range range) : range_operator(range), scope_{nullptr, range_} {}

  result<void> add(const sources& source, time_range part) override {
    if (!lines_) {
      contents_ = source.index.contents(source.trace);  // A copy, because later parts have other indexes.
      scope_.trace = &source.trace;
      lines_.emplace(contents_, scope_);
    }
    lines_->add(source.index, part);
    return {};
  }
  result<metrics::copy_table> finish(const sources& source) override {
    if (!lines_) return metrics::copy_table{};
    const metrics::naming names{source.frames, source.lookup, &source.provisional};
    metrics::code_places places(source.trace.tables(), names);
    return lines_->table(places);
  }

 private:
  metrics::metrics_scope scope_;
  index::copy_contents contents_;
  std::optional<metrics::copy_lines_builder> lines_;
};

}  // namespace

operator_of<transfers_query> make_operator(const transfers_query& query) {
  return std::make_unique<transfers_of_parts>(query.range);
}

}  // namespace sluice::query
