#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/printable.hpp"
#include "core/query/engine/engine.hpp"

/// What recordings and file systems call things, on its way to the screen: it may hold anything, and is drawn as core/base/printable.hpp has it.
/// Views ask by `screen_slot` and `view_context::text`, so that none of them can forget it.
namespace sluice::gui {

/// `text` as one of ImGui's labels, which would not show what follows "##": with a hair between two such marks.
[[nodiscard]] std::string label_of(std::string_view text);

/// The answer with all its texts printable; the same one if they are.
template <class Answer>
[[nodiscard]] std::shared_ptr<const Answer> for_screen(std::shared_ptr<const Answer> answer);

/// A view's standing question: query::slot, with answers that can be drawn.
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
