#pragma once

#include <memory>

#include "app/gui/shell/documents.hpp"
#include "core/query/answers/answer_types.hpp"

namespace sluice::gui {

/// What the last search found. The panel of the search changes it; the timeline marks it on the ruler.
struct search_hits {
  document_id of{};
  std::shared_ptr<const query::search_results> found;  ///< Null: nothing is searched for.
};

}  // namespace sluice::gui
