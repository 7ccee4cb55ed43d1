#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/gui/draw/boxes.hpp"
#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/followed_item.hpp"
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
  const followed_item* item = nullptr;  ///< See `followed`; null: nothing is lit.

  /// What to light: the selected item and what belongs to it.
  [[nodiscard]] const followed_item& followed() const;
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

/// What a table of commands of `Self`, a view or a part of one, acts on.
template <class Self>
struct acts_on : command_home {
  Self& self;
};
/// For `command_row::enabled`: a document is ready.
inline constexpr auto when_ready = [](const auto& at) { return at.state.ready(); };

/// Where the default layout places a panel. The center panel has no tab and cannot be hidden.
enum class panel_place : std::uint8_t { centre, right, below };

/// The kind of selection whose details a panel shows.
enum class topic : std::uint8_t { none, selection, range };

/// What is known of a panel before it is drawn.
struct panel_info {
  /// The command that shows the panel and brings it to the front. If `id` is empty, there is only "panel.focus.TITLE".
  struct opener {
    const char* id = "";
    const char* title = "";
    const char* group = "";
    const char* icon = icon::chart;
    ImGuiKeyChord key = 0;
  };

  const char* title = "";  ///< Also the panel's stable name, e.g. "Blocks".
  panel_place place = panel_place::below;
  topic tells_of = topic::none;  ///< The kind of selection that brings the panel to the front.
  bool scrolls = true;
  bool uses_arrows = false;     ///< The view handles the arrow keys itself, so that they do not move the focus.
  bool shown_at_first = true;   ///< False: the panel appears only through a link, a command or the View menu.
  bool offers_choices = false;  ///< Users choose one item after another here. Panels with details do not cover it.
  opener open{};
};

/// What a view is doing.
struct panel_status {
  bool wants_front = false;  ///< The panel should be in front when a recording is first shown.
  bool warns = false;        ///< The panel's tab is marked, because the panel has a warning for the user.
  bool choosing = false;     ///< As `panel_info::offers_choices`, for now.
  bool busy = false;         ///< There is unfinished work. A picture is taken only when the work is complete.
  bool playing = false;      ///< A film plays: frames are drawn even without input, and a picture does not wait.
  bool can_cancel = false;   ///< Escape calls `cancel` instead of clearing the selection.
  std::optional<time_ns> hovered_time{};  ///< The time that was under the mouse in the last frame.
};

/// A panel of the window. Each view has its own file; views.cpp lists the views.
class view {
 public:
  /// `about` must outlive the view.
  explicit view(const panel_info& about) : info(about) {}
  virtual ~view() = default;
  view(const view&) = delete;
  view& operator=(const view&) = delete;

  [[nodiscard]] const char* name() const { return info.title; }
  /// Draws the panel into the current ImGui window. Called only if a document is ready.
  virtual void draw(view_context& with) = 0;
  [[nodiscard]] virtual panel_status status() const { return {}; }
  /// Discards query results. Called when another document becomes active.
  virtual void reset() {}
  /// Registers the view's commands. Called once, when the window starts.
  virtual void add_commands(const command_home& /*home*/) {}
  /// Stores in `into` what the user has changed in this view for a document, for the next session and for saved views.
  virtual void keep(document_id /*of*/, kept_view& /*into*/) const {}
  /// Restores what `keep` stored for the active document. Called after `reset`, when the document is first shown.
  virtual void restore(const view_context& /*with*/, const kept_view& /*from*/) {}
  /// Called once per frame, before anything is drawn, even if the panel is hidden.
  virtual void follow(const view_context& /*with*/) {}
  /// Stops the view's work; see `panel_status::can_cancel`.
  virtual void cancel() {}

  /// Brings the panel's tab to the front of those at the same place.
  void bring_forward() const;

  const panel_info& info;
  bool visible = true;
};

}  // namespace sluice::gui
