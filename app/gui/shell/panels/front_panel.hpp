#pragma once

#include <set>
#include <string_view>

#include "app/gui/shell/panels/panel_focus.hpp"
#include "app/gui/shell/screen_text.hpp"

namespace sluice::gui {

/// What a recording contains, as far as it decides which panel is in front.
struct recording_facts {
  bool kernels = false;
  bool memory = false;  ///< Blocks of a GPU's memory.
  bool out_of_memory = false;
  bool ranks = false;  ///< Several ranks of a job.
  friend bool operator==(const recording_facts&, const recording_facts&) = default;
};

[[nodiscard]] recording_facts find_facts(const metrics::report& of);

/// The title of the panel below the timeline that is in front when a recording is opened. Memory that ran out comes
/// first, then what differs between ranks; a recording of kernels alone shows why the GPU was idle, and one of memory
/// alone (a snapshot) the memory over time.
[[nodiscard]] std::string_view choose_front_panel(const recording_facts& of);

/// Brings that panel to the front when a recording is first shown, unless the user has chosen another one. Needs the
/// objects that it gets, which must outlive this object.
class front_panel {
 public:
  front_panel(const panel_set& panels, const panel_focus& focus) : panels_(panels), focus_(focus) {}

  /// Call once per frame, before the panels are drawn. `settling`: a new layout brings its own panels to the front.
  void follow(const documents& state, bool settling);
  /// True until the panel is in front.
  [[nodiscard]] bool pending() const { return tries_ > 0; }

 private:
  const panel_set& panels_;
  const panel_focus& focus_;
  std::set<document_id> shown_;  ///< The documents for which a panel was chosen.
  document_id document_ = document_id::none;
  std::size_t raised_ = 0;  ///< `panel_focus::raised` when `document_` became active.
  screen_slot<query::report_query> query_;
  view* chosen_ = nullptr;
  int tries_ = 0;  ///< Number of frames left in which to bring `chosen_` forward.
};

}  // namespace sluice::gui
