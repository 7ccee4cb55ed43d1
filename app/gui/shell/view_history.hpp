#pragma once

#include <cstdint>
#include <vector>

#include "app/gui/shell/selection.hpp"

namespace sluice::gui {

/// The positions to which the user can go back, and then forward again. Holds at most 200 positions in each direction.
class view_history {
 public:
  /// Starts a user action: all changes until the next call form one step in the history. If this is never called, each
  /// change is a step of its own.
  void begin_action() { action_ = action::begun; }
  /// True if a step was added to the history since `begin_action`.
  [[nodiscard]] bool in_step() const { return action_ == action::remembered; }
  /// Adds a step: stores `here`, the position that is about to change. Does nothing if `in_step`.
  void remember(const location& here);

  [[nodiscard]] bool can_go_back() const { return !back_.empty(); }
  [[nodiscard]] bool can_go_forward() const { return !forward_.empty(); }
  /// Returns the previous position. `here`, the current position, is then the next one to go forward to. Call only if
  /// `can_go_back`.
  [[nodiscard]] location go_back(const location& here);
  /// Does the reverse of `go_back`. Call only if `can_go_forward`.
  [[nodiscard]] location go_forward(const location& here);
  /// Removes the positions in a document that has been closed.
  void forget(document_id closed);

 private:
  enum class action : std::uint8_t { single, begun, remembered };

  action action_ = action::single;
  std::vector<location> back_;
  std::vector<location> forward_;
};

}  // namespace sluice::gui
