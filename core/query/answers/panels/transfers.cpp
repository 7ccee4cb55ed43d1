#include "core/query/answers/panels/transfers.hpp"

#include <memory>
#include <optional>

#include "core/query/engine/section_answer.hpp"

namespace sluice::query {
namespace {

analysis::naming naming_of(const sources& from) { return {from.frames, from.lookup, &from.provisional}; }

class transfers_of_parts final : public section_answer<analysis::copy_table> {
 public:
  explicit transfers_of_parts(time_range range) : scope_{nullptr, analysis::bounded(range)} {}

  result<void> add(const sources& from, time_range part) override {
    if (!lines_) {
      contents_ = analysis::read_contents(from.trace);
      scope_.trace = &from.trace;
      lines_.emplace(contents_, scope_);
    }
    lines_->add(from.index, part);
    return {};
  }
  result<analysis::copy_table> answer(const sources& from) override {
    if (!lines_) return analysis::copy_table{};
    const analysis::naming names = naming_of(from);
    analysis::code_places places(from.trace.tables(), names);
    return lines_->table(places);
  }

 private:
  analysis::figures_scope scope_;
  analysis::copy_contents contents_;
  std::optional<analysis::copy_lines_builder> lines_;
};

}  // namespace

section_answer_for<transfers_question> gather(const transfers_question& question) {
  return std::make_unique<transfers_of_parts>(question.range);
}

result<analysis::copy_table> answer_to(const transfers_question& question, const sources& from) {
  const analysis::figures_scope scope{&from.trace, analysis::bounded(question.range)};
  analysis::copy_lines_builder lines(from.index.contents(from.trace), scope);
  lines.add(from.index, scope.range);
  const analysis::naming names = naming_of(from);
  analysis::code_places places(from.trace.tables(), names);
  return lines.table(places);
}

}  // namespace sluice::query
