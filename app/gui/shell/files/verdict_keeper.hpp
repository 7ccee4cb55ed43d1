#pragma once

#include <utility>

#include "app/gui/shell/background.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/screen_text.hpp"
#include "app/gui/shell/settings.hpp"

namespace sluice::gui {

/// Stores the verdict on each recording that the user opens, for the list of recent files. Needs the objects that it
/// gets, which must outlive this object.
class verdict_keeper {
 public:
  verdict_keeper(documents& session, settings& remembered) : session_(session), settings_(remembered) {}

  /// Stores the verdict on the active document once its report is complete. Call once per frame.
  void follow();

 private:
  documents& session_;
  settings& settings_;
  document_id asked_ = document_id::none;  ///< The document that `report_` is about.
  document_id kept_ = document_id::none;   ///< The document whose verdict was stored last.
  screen_slot<query::report_query> report_;
  background<std::pair<std::string, recent_verdict>> reading_;
};

}  // namespace sluice::gui
