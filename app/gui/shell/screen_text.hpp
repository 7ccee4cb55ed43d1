#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/printable.hpp"
#include "core/query/engine/engine.hpp"

/// Makes names from recordings and file systems safe to display, because they may contain any bytes
/// (core/base/printable.hpp). Views get texts only through `screen_slot` and `view_context::text`, so that no unchecked
/// text is displayed.
namespace sluice::gui {

/// `text` for use as an ImGui label. Inserts a hair space into "##", because ImGui hides what follows it.
[[nodiscard]] std::string make_label(std::string_view text);

/// The result with all of its texts made printable. If they already are, returns the same object.
template <class Result>
[[nodiscard]] std::shared_ptr<const Result> for_screen(std::shared_ptr<const Result> result);

/// A view's query slot. Works like query::slot, except that all texts of the results are printable.
template <class Query>
class screen_slot {
 public:
  query::query_result<typename Query::result_type> ask(query::engine& engine, const Query& query) {
    auto known = slot_.ask(engine, query);
    if (known.value != asked_) {
      asked_ = known.value;
      shown_ = for_screen(asked_);
    }
    known.value = shown_;
    if (known.failure) known.failure->message = printable(known.failure->message);
    return known;
  }

 private:
  using value = std::shared_ptr<const typename Query::result_type>;
  query::slot<Query> slot_;
  value asked_;
  value shown_;
};

}  // namespace sluice::gui
