#pragma once

#include <memory>

#include "app/gui/shell/documents.hpp"
#include "core/query/types/result_types.hpp"

namespace sluice::gui {

/// The results of the last search. The panel Search modifies them; the timeline marks them on the ruler.
struct search_hits {
  document_id document{};
  std::shared_ptr<const query::search_results> found;  ///< Null if there was no search.
};

}  // namespace sluice::gui
