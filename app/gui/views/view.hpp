#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/shell/table_choice.hpp"
#include "app/gui/window/screen_text.hpp"
#include "app/gui/window/theme.hpp"

namespace sluice::gui {

/// What a view needs to draw one frame. Views do not modify it; they invoke commands.
struct view_context {
  const documents& state;
  const command_registry& commands;
  const theme& colours;
  const typefaces& fonts;
  draw::box_renderer& boxes;
  table_requests& tables;  ///< Each table takes part in it, by `row_menu`.
  float scale = 1;         ///< Pixels per design pixel.
  /// The time under the mouse in the previous frame, shared by tracks and overview.
  std::optional<query::time_ns> hovered_time{};
  bool tips = true;  ///< False after a key was pressed, until the mouse moves: a tooltip would cover what it shows.

  [[nodiscard]] float px(float design_pixels) const {
    return static_cast<float>(static_cast<int>(design_pixels * scale + 0.5F));
  }
  /// The text of a string id in the active document, demangled and printable (core/base/printable.hpp).
  [[nodiscard]] std::string_view text(trace::string_id id) const;
};

/// What the commands of a view work on. All members outlive the commands.
struct command_home {
  command_registry& commands;
  documents& state;
  settings& remembered;
};

/// Where the default layout puts a panel. The center panel has no tab and cannot be hidden.
enum class panel_place : std::uint8_t { centre, right, below };

/// The user's choice that a panel shows details of.
enum class topic : std::uint8_t { none, selection, range };

/// A panel of the window. One file per view; views.cpp lists them.
class view {
 public:
  view() = default;
  virtual ~view() = default;
  view(const view&) = delete;
  view& operator=(const view&) = delete;

  /// The panel's title and stable name, e.g. "Blocks".
  [[nodiscard]] virtual const char* name() const = 0;
  /// Draws into the current ImGui window. Called only if a document is ready.
  virtual void draw(view_context& with) = 0;
  /// Discards query results, because another document became active.
  virtual void reset() {}
  [[nodiscard]] virtual bool scrolls() const { return true; }
  /// True if the view handles the arrow keys itself; they then do not move the focus.
  [[nodiscard]] virtual bool uses_arrows() const { return false; }
  [[nodiscard]] virtual panel_place place() const { return panel_place::below; }
  /// The kind of choice for which the panel comes to the front.
  [[nodiscard]] virtual topic tells_of() const { return topic::none; }
  /// False if the panel appears only when it is asked for, by a link, a command or the View menu.
  [[nodiscard]] virtual bool shown_at_first() const { return true; }
  /// True if the panel should be in front where a recording is first shown.
  [[nodiscard]] virtual bool wants_front() const { return false; }
  /// True if the panel's tab shall be marked: it has a warning that the user should read.
  [[nodiscard]] virtual bool warns() const { return false; }
  /// True if users choose items one after another here; panels with details then do not cover this one.
  [[nodiscard]] virtual bool offers_choices() const { return false; }

  /// Registers the view's commands. Called once, at the start.
  virtual void add_commands(const command_home& /*home*/) {}
  /// Puts what the user changed here about a document into `into`, for the next session and for saved views.
  virtual void keep(document_id /*of*/, kept_view& /*into*/) const {}
  /// Takes over for the active document what `keep` kept. Called when the document is first shown, after `reset`.
  virtual void restore(const view_context& /*with*/, const kept_view& /*from*/) {}
  /// Called once per frame before anything is drawn, even if the panel is hidden.
  virtual void follow(const view_context& /*with*/) {}
  /// True while started work is unfinished; a picture waits for it.
  [[nodiscard]] virtual bool busy() const { return false; }
  /// True while the view plays a film: frames are drawn without input, and a picture does not wait for the end.
  [[nodiscard]] virtual bool playing() const { return false; }
  /// True if Escape should call `cancel` instead of clearing the selection.
  [[nodiscard]] virtual bool can_cancel() const { return false; }
  virtual void cancel() {}
  /// The time under the mouse in the last frame.
  [[nodiscard]] virtual std::optional<query::time_ns> hovered_time() const { return std::nullopt; }

  /// Selects the panel's tab among those that share its place.
  void bring_forward() const;

  bool visible = true;
};

}  // namespace sluice::gui
