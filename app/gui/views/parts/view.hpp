#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/screen_text.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/shell/table_choice.hpp"
#include "app/gui/window/theme.hpp"

namespace sluice::gui {

/// The data that a view needs to draw one frame. Views do not modify this state; they invoke commands.
struct view_context {
  const documents& state;
  const command_registry& commands;
  const theme& colours;
  const typefaces& fonts;
  draw::box_renderer& boxes;
  table_requests& tables;  ///< Requests made by menus. Tables handle them through `view_tables`.
  float scale = 1;         ///< Pixels per design pixel.
  /// The time that was under the mouse in the previous frame. All tracks and the overview use it.
  std::optional<time_ns> hovered_time{};
  bool tips = true;  ///< False from a key press until the mouse moves, because a tooltip could cover what the key press
                     ///< shows.

  [[nodiscard]] float px(float design_pixels) const {
    return static_cast<float>(static_cast<int>(design_pixels * scale + 0.5F));
  }
  /// The text of a string id of the active document, demangled and printable (core/base/printable.hpp).
  [[nodiscard]] std::string_view text(trace::string_id id) const;
};

/// The objects that a view's commands use. All of them outlive the commands.
struct command_home {
  command_registry& commands;
  documents& state;
  settings& remembered;
};

/// Where the default layout places a panel. The center panel has no tab and cannot be hidden.
enum class panel_place : std::uint8_t { centre, right, below };

/// The kind of selection whose details a panel shows.
enum class topic : std::uint8_t { none, selection, range };

/// A panel of the window. Each view has its own file; views.cpp lists the views.
class view {
 public:
  view() = default;
  virtual ~view() = default;
  view(const view&) = delete;
  view& operator=(const view&) = delete;

  /// The panel's title, which is also its stable name, e.g. "Blocks".
  [[nodiscard]] virtual const char* name() const = 0;
  /// Draws the panel into the current ImGui window. Called only if a document is ready.
  virtual void draw(view_context& with) = 0;
  /// Discards query results. Called when another document becomes active.
  virtual void reset() {}
  [[nodiscard]] virtual bool scrolls() const { return true; }
  /// True if the view handles the arrow keys itself, so that they do not move the focus.
  [[nodiscard]] virtual bool uses_arrows() const { return false; }
  [[nodiscard]] virtual panel_place place() const { return panel_place::below; }
  /// The kind of selection that brings the panel to the front.
  [[nodiscard]] virtual topic tells_of() const { return topic::none; }
  /// False if the panel appears only on request, that is, through a link, a command or the View menu.
  [[nodiscard]] virtual bool shown_at_first() const { return true; }
  /// True if the panel should be in front when a recording is first shown.
  [[nodiscard]] virtual bool wants_front() const { return false; }
  /// True if the panel's tab should be marked because the panel has a warning for the user.
  [[nodiscard]] virtual bool warns() const { return false; }
  /// True if users choose one item after another in this panel. Panels with details then do not cover it.
  [[nodiscard]] virtual bool offers_choices() const { return false; }

  /// Registers the view's commands. Called once, when the window starts.
  virtual void add_commands(const command_home& /*home*/) {}
  /// Stores in `into` what the user has changed in this view for a document, for the next session and for saved views.
  virtual void keep(document_id /*of*/, kept_view& /*into*/) const {}
  /// Restores what `keep` stored for the active document. Called after `reset`, when the document is first shown.
  virtual void restore(const view_context& /*with*/, const kept_view& /*from*/) {}
  /// Called once per frame, before anything is drawn, even if the panel is hidden.
  virtual void follow(const view_context& /*with*/) {}
  /// True while the view has unfinished work. A picture is taken only when the work is complete.
  [[nodiscard]] virtual bool busy() const { return false; }
  /// True while the view plays a film. Frames are then drawn even without input, and a picture does not wait for the
  /// end of the film.
  [[nodiscard]] virtual bool playing() const { return false; }
  /// True if Escape should call `cancel` instead of clearing the selection.
  [[nodiscard]] virtual bool can_cancel() const { return false; }
  virtual void cancel() {}
  /// The time that was under the mouse in the last frame.
  [[nodiscard]] virtual std::optional<time_ns> hovered_time() const { return std::nullopt; }

  /// Brings the panel's tab to the front of those at the same place.
  void bring_forward() const;

  bool visible = true;
};

}  // namespace sluice::gui
