#pragma once

#include <optional>

#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// Goes from the selected event to the next or previous event with the same name.
class event_stepper {
 public:
  void add_commands(const command_home& home);
  /// Selects and shows the event to which the user stepped, once the event is known. Call once per frame.
  void follow(const view_context& with);
  /// Discards a pending step.
  void reset();

 private:
  void step(const documents& state, query::same_name which);
  std::optional<query::details_query> wanted_;  ///< The query for the event to step to, until its result is known.
  query::slot<query::details_query> query_;
};

}  // namespace sluice::gui
