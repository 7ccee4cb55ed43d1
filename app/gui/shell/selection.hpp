#pragma once

#include <cstdint>
#include <optional>

#include "core/query/answers/answer_types.hpp"

namespace sluice::gui {

enum class document_id : std::uint32_t { none = 0 };

enum class selection_kind : std::uint8_t {
  none,
  event,
  block,
  track,
  frame  ///< Of the call tree: a query::stack_view's id.
};

/// The one selection of the window.
struct selection {
  document_id document = document_id::none;
  selection_kind kind = selection_kind::none;
  std::uint64_t id = 0;
  friend bool operator==(const selection&, const selection&) = default;
};

/// Where the user is: what going back returns to.
struct location {
  selection selected;
  std::optional<query::time_range> range;  ///< The selected range, in the document's time.
  query::time_range visible;
  std::optional<query::time_ns> moment{};  ///< Of which memory is shown; none: nobody chose one.
  friend bool operator==(const location&, const location&) = default;
};

}  // namespace sluice::gui
