#pragma once

#include <optional>
#include <string>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/window/screen_text.hpp"
#include "app/gui/window/theme.hpp"

namespace sluice::gui {

/// What a view is given to draw one frame with. Views change nothing: they invoke commands.
struct view_context {
  const session& state;
  const command_registry& commands;
  const theme& colours;
  const typefaces& fonts;
  draw::box_renderer& boxes;
  float scale = 1;  ///< Pixels to a design pixel.
  /// The time under the mouse, shared by the tracks and the overview; of the frame before.
  std::optional<query::time_ns> hovered_time;

  [[nodiscard]] float px(float design_pixels) const {
    return static_cast<float>(static_cast<int>(design_pixels * scale + 0.5F));
  }
  /// The text behind a string of the active document's trace, demangled, and printable (core/base/printable.hpp).
  [[nodiscard]] std::string_view text(trace::string_id id) const;
};

/// A panel of the window. One file a view.
class view {
 public:
  view() = default;
  virtual ~view() = default;
  view(const view&) = delete;
  view& operator=(const view&) = delete;

  /// The panel's title and its stable name: "Blocks".
  [[nodiscard]] virtual const char* name() const = 0;
  /// Draws into the current ImGui window. Only called when a document is ready.
  virtual void draw(view_context& with) = 0;
  /// The active document changed: forget what was asked about the one before.
  virtual void reset() {}
  [[nodiscard]] virtual bool scrolls() const { return true; }
  /// The arrow keys are the view's own: they do not go from control to control.
  [[nodiscard]] virtual bool uses_arrows() const { return false; }

  bool visible = true;
};

}  // namespace sluice::gui
