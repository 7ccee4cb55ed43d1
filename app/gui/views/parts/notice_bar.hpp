#pragma once

#include <string>
#include <vector>

#include "app/gui/views/parts/view.hpp"
#include "core/base/error.hpp"

namespace sluice::gui {

/// The message at the bottom of the window: the last problem, or a report that something was done.
class notice_bar {
 public:
  /// Shows a message, such as an error, until another one replaces it or the user dismisses it. If `message` is empty,
  /// removes the message.
  void say(std::string message) { notice_ = std::move(message); }
  /// Shows for a short time that something was done, such as "Saved PATH".
  void tell(std::string message);
  /// Shows the error of a file that could not be opened, and adds it to `failures`.
  void add_failure(const error& failure);

  /// The last message passed to `say`; empty if there is none.
  [[nodiscard]] const std::string& notice() const { return notice_; }
  /// The text that `tell` is showing; empty if there is none.
  [[nodiscard]] const std::string& reported() const { return reported_; }
  /// All files that could not be opened.
  [[nodiscard]] const std::vector<error>& failures() const { return failures_; }
  /// True if a message is shown.
  [[nodiscard]] bool is_shown() const { return !notice_.empty() || !reported_.empty(); }

  /// Removes all messages. Returns true if one of them was passed to `say`.
  [[nodiscard]] bool dismiss();
  void draw(const view_context& with);

 private:
  std::string notice_;
  std::string reported_;
  double reported_at_ = 0;  ///< In ImGui's time.
  std::vector<error> failures_;
};

}  // namespace sluice::gui
