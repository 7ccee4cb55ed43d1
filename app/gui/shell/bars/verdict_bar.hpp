#pragma once

#include <memory>

#include "app/gui/shell/bars/header_text.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// The header below the toolbar: the verdict on the active document, and its most important numbers. Says what is
/// computed while there is no verdict yet. Not drawn without a document.
class verdict_bar {
 public:
  void draw(const view_context& with);
  /// True if the area below the bars, which lags by a frame, excludes this bar.
  [[nodiscard]] bool placed() const { return placed_; }
  /// What the bar showed in the last frame; for tests.
  [[nodiscard]] const header_text& shown() const { return text_; }

 private:
  void follow(const document& shown);

  screen_slot<query::report_query> query_;
  std::shared_ptr<const metrics::report> of_;  ///< The report whose header is `text_`; null if there is none yet.
  document_id document_ = document_id::none;
  header_text text_;
  bool drawn_ = false;
  bool placed_ = false;
};

}  // namespace sluice::gui
