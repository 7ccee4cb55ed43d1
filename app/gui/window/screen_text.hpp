#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/printable.hpp"
#include "core/query/engine/engine.hpp"

/// Makes names from recordings and file systems safe to display: they may contain anything (core/base/printable.hpp).
/// Views get texts only through `screen_slot` and `view_context::text`, so that none is displayed unchecked.
namespace sluice::gui {

/// `text` for use as an ImGui label. Puts a hair space into "##", because ImGui hides what follows it.
[[nodiscard]] std::string label_of(std::string_view text);

/// The answer with all texts made printable; the same object if they already are.
template <class Answer>
[[nodiscard]] std::shared_ptr<const Answer> for_screen(std::shared_ptr<const Answer> answer);

/// A view's query slot: like query::slot, but all texts of the answers are printable.
template <class Question>
class screen_slot {
 public:
  query::answer<typename Question::answer_type> ask(query::engine& from, const Question& question) {
    auto known = slot_.ask(from, question);
    if (known.value != asked_) {
      asked_ = known.value;
      shown_ = for_screen(asked_);
    }
    known.value = shown_;
    if (known.failure) known.failure->message = printable(known.failure->message);
    return known;
  }

 private:
  using value = std::shared_ptr<const typename Question::answer_type>;
  query::slot<Question> slot_;
  value asked_;
  value shown_;
};

}  // namespace sluice::gui
