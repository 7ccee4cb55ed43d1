#include "core/query/answers/panels/comparison.hpp"

#include "core/index/growing_index.hpp"
#include "core/query/engine/figure_source.hpp"
#include "core/query/engine/section_answer.hpp"

namespace sluice::query {
namespace {

using analysis::compared_side;

compared_side kept(compared_side&& of, const compared_side_question& question) {
  if (question.device) analysis::keep_device(of, *question.device);
  return std::move(of);
}

class side_of_parts final : public section_answer<compared_side> {
 public:
  explicit side_of_parts(const compared_side_question& question)
      : question_(question), builder_(analysis::bounded(question.range), question.process) {}

  result<void> add(const sources& from, time_range part) override {
    builder_.add(from.index, from.trace, part, from.cancelled);
    if (from.cancelled) return fail(error_code::cancelled, "the question was withdrawn");
    return {};
  }
  result<compared_side> answer(const sources& from) override {
    return kept(builder_.side(from.trace.tables()), question_);
  }

 private:
  const compared_side_question question_;
  analysis::compared_side_builder builder_;
};

/// The names that are known already if the side is of this recording, else new ones.
class names_of_side {
 public:
  names_of_side(const side_of_recording& side, const sources& from)
      : known_(side.trace->is_of_the_file_of(from.trace) ? &from.frames : nullptr) {
    if (known_ == nullptr) own_.emplace(symbols::options_for(*side.trace));
  }
  symbols::frame_book& book() { return known_ != nullptr ? *known_ : *own_; }

 private:
  symbols::frame_book* known_;
  std::optional<symbols::frame_book> own_;
};

}  // namespace

section_answer_for<compared_side_question> gather(const compared_side_question& question) {
  return std::make_unique<side_of_parts>(question);
}

result<compared_side> answer_to(const compared_side_question& question, const sources& from) {
  const auto side = [&](const analysis::index& index) {
    return kept(analysis::side_of(index, from.trace, analysis::bounded(question.range), question.process), question);
  };
  // The index of sections is of the process already.
  if (question.process == trace::process_id::none || from.index.is_part()) return side(from.index);
  analysis::growing_index own(question.process);
  while (!own.absorb(from.trace, 1))
    if (from.cancelled) return fail(error_code::cancelled, "the question was withdrawn");
  return side(own);
}

std::optional<result<compared_side>> answer_from_figures(const compared_side_question& question, const sources& from) {
  const analysis::stored_figures& stored = *from.stored->figures;
  const bool all = question.process == trace::process_id::none;
  if (!all || !has_figures_of(question.range, from)) return std::nullopt;
  auto figures = analysis::figures_to_compare(stored);
  if (!figures) return std::nullopt;
  compared_side made;
  made.statistics = stored.figures.whole;
  made.figures = std::move(*figures);
  made.compositions = stored.figures.compositions;
  analysis::put_steps(*from.stored->facts->steps, stored.span, made);
  return kept(std::move(made), question);
}

result<analysis::comparison> answer_to(const comparison_question& question, const sources& from) {
  names_of_side before(question.before, from);
  names_of_side after(question.after, from);
  auto made = analysis::make_comparison({*question.before.side, question.before.trace->tables(), before.book()},
                                        {*question.after.side, question.after.trace->tables(), after.book()},
                                        question.how, from.cancelled);
  if (from.cancelled) return fail(error_code::cancelled, "the question was withdrawn");
  return made;
}

std::optional<result<analysis::comparison>> answer_from_figures(const comparison_question& question,
                                                                const sources& from) {
  return answer_to(question, from);
}

}  // namespace sluice::query
