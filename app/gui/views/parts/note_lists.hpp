#pragma once

#include <map>
#include <vector>

#include "app/gui/shell/side_files.hpp"

namespace sluice::gui {

/// The notes of the open recordings, sorted by time. The panel Notes modifies them; the timeline shows them as marks.
struct note_lists {
  std::map<document_id, std::vector<user_note>> by_document;
};

}  // namespace sluice::gui
