#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/window/screen_text.hpp"
#include "app/gui/window/theme.hpp"

namespace sluice::gui {

/// What a view is given to draw one frame with. Views change nothing: they invoke commands.
struct view_context {
  const documents& state;
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

/// What the commands of a view work on. All of it outlives them.
struct command_home {
  command_registry& commands;
  documents& state;
  settings& remembered;
};

/// Where a fresh layout puts a panel. The one in the centre has no tab and cannot be hidden.
enum class panel_place : std::uint8_t { centre, right, below };

/// What the user can choose that a panel tells of.
enum class topic : std::uint8_t { none, selection, range };

/// A panel of the window. One file a view; views.cpp lists them.
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
  [[nodiscard]] virtual panel_place place() const { return panel_place::below; }
  /// The panel comes forward when the user chooses one of these.
  [[nodiscard]] virtual topic tells_of() const { return topic::none; }
  /// The user chooses one thing after another here: panels that tell of it do not come forward in its place.
  [[nodiscard]] virtual bool offers_choices() const { return false; }

  /// Registers the view's own commands; called once, at the start.
  virtual void add_commands(const command_home& /*home*/) {}
  /// Once a frame, before anything is drawn, whether the panel is shown or not.
  virtual void follow(const view_context& /*with*/) {}
  /// Something that was begun is not finished: a picture waits for it.
  [[nodiscard]] virtual bool busy() const { return false; }
  /// Escape calls `cancel` instead of clearing the selection.
  [[nodiscard]] virtual bool can_cancel() const { return false; }
  virtual void cancel() {}
  /// The time under the mouse in the last frame.
  [[nodiscard]] virtual std::optional<query::time_ns> hovered_time() const { return std::nullopt; }

  /// Puts the panel in front of those that share its place.
  void bring_forward() const;

  bool visible = true;
};

}  // namespace sluice::gui
