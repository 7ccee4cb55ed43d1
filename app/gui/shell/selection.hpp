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
  frame  ///< A frame of the call tree; `id` is its id in a query::stack_view.
};

/// The selection; the window has exactly one.
struct selection {
  document_id document = document_id::none;
  selection_kind kind = selection_kind::none;
  std::uint64_t id = 0;
  friend bool operator==(const selection&, const selection&) = default;
};

/// The user's position, as stored in the history for going back.
struct location {
  selection selected;
  std::optional<query::time_range> range;  ///< The selected range, in the document's time.
  query::time_range visible;
  std::optional<query::time_ns> moment{};  ///< The moment whose memory is shown; none if not chosen.
  friend bool operator==(const location&, const location&) = default;
};

}  // namespace sluice::gui
