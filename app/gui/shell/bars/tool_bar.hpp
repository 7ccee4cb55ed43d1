#pragma once

#include "app/gui/shell/bars/tab_strip.hpp"
#include "app/gui/shell/programs/recorder_process.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// The bar below the menu bar: buttons, the tabs of the open recordings, and the program that is being recorded. Not
/// drawn if there is neither a document nor a program.
class tool_bar {
 public:
  /// `session` must outlive this object.
  explicit tool_bar(documents& session) : tabs_(session) {}

  /// `progress`: that of the recorded program, 0..1; negative if unknown.
  void draw(const view_context& with, const recorder_process& recorder, double progress);
  /// True if the area below the bars, which lags by a frame, excludes this bar.
  [[nodiscard]] bool placed() const { return placed_; }

 private:
  tab_strip tabs_;
  bool drawn_ = false;
  bool placed_ = false;
};

}  // namespace sluice::gui
