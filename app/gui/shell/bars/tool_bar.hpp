#pragma once

#include "app/gui/shell/bars/tab_strip.hpp"
#include "app/gui/shell/bars/verdict_bar.hpp"
#include "app/gui/shell/programs/recorder_process.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// The bars below the menu bar: buttons, the tabs of the open recordings, and the program that is being recorded; below
/// them the header (`verdict_bar`). Not drawn if there is neither a document nor a program.
class tool_bar {
 public:
  /// `session` must outlive this object.
  explicit tool_bar(documents& session) : tabs_(session) {}

  /// `progress`: that of the recorded program, 0..1; negative if unknown.
  void draw(const view_context& with, const recorder_process& recorder, double progress);
  /// True if the area below the bars, which lags by a frame, excludes both bars.
  [[nodiscard]] bool placed() const { return placed_ && verdict_.placed(); }
  /// What the header shows; for tests.
  [[nodiscard]] const header_text& header() const { return verdict_.shown(); }

 private:
  void draw_buttons(const view_context& with, const recorder_process& recorder, double progress);

  tab_strip tabs_;
  verdict_bar verdict_;
  bool drawn_ = false;
  bool placed_ = false;
};

}  // namespace sluice::gui
