#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/gui/shell/selection.hpp"
#include "imgui.h"

/// Every action of the window is a registered command. Menus, keys, buttons, the palette, the views and the tests
/// invoke commands by id.
namespace sluice::gui {

/// A table to save: `name` for its file, and the CSV.
struct table_text {
  std::string name;
  std::string csv;
};

/// The argument of a command: a path or name, a selection, a time range, a fraction, a filter of blocks, or a table.
using argument =
    std::variant<std::monostate, std::string, selection, query::time_range, double, blocks_filter, table_text>;

struct command {
  std::string id{};     ///< Stable id, e.g. "timeline.zoom_in".
  std::string title{};  ///< "Zoom in", for menus and palette. Empty: not listed, because the command needs an argument.
  std::string group{};  ///< "Timeline": its menu, and its heading in the palette.
  std::string words{};  ///< Other words by which the palette finds it, e.g. "export png".
  const char* icon = nullptr;
  std::vector<ImGuiKeyChord> keys{};           ///< The first one is shown.
  bool repeats = false;                        ///< Repeats while the key is held.
  std::function<void(const argument&)> run{};  ///< Null: views act on it, see `command_registry::just_ran`.
  std::function<bool()> enabled{};             ///< Whether the command can run now; null means always.
  std::function<bool()> checked{};             ///< For a toggle: whether it is on.
  bool remapped = false;                       ///< The user chose the keys.
};

class command_registry {
 public:
  void add(command what);
  /// Replaces the keys of a command by one, or by none. Unknown ids are ignored.
  void set_key(std::string_view id, std::optional<ImGuiKeyChord> key);
  [[nodiscard]] const command* find(std::string_view id) const;
  [[nodiscard]] const std::vector<command>& all() const { return commands_; }
  [[nodiscard]] bool enabled(const command& what) const { return !what.enabled || what.enabled(); }

  /// Queues command `id`. It runs before the next frame is built, so no view changes what it is drawing. Unknown or
  /// disabled commands are ignored. Const, because views have const access only.
  void invoke(std::string_view id, argument with = {}) const;
  /// Runs the queued commands. Returns true if there were any.
  bool run_queued();
  /// True if commands wait for the next frame.
  [[nodiscard]] bool any_queued() const { return !queue_.empty(); }
  /// True in the frame in which the command ran: for one that acts on what has the focus, which only its view knows.
  [[nodiscard]] bool just_ran(std::string_view id) const;
  /// Queues the commands whose keys were pressed in this frame.
  void take_keys() const;

 private:
  std::vector<command> commands_;
  mutable std::vector<std::pair<std::string, argument>> queue_;
  std::vector<std::string> ran_;  ///< Ids of the commands that ran before this frame.
};

/// How well the text that a user typed fits a command: 2 if each of its words occurs in the group, title or words, 1 if
/// its letters occur in group and title in this order ("zi" finds "Zoom in"), else 0. Case does not count.
[[nodiscard]] int match_of(const command& what, std::string_view typed);

/// The chord that `key_text` shows as `text`; none if it is not one.
[[nodiscard]] std::optional<ImGuiKeyChord> chord_of(std::string_view text);

/// Key text for display, e.g. "Ctrl+P" or "F".
[[nodiscard]] std::string key_text(const command& what);

}  // namespace sluice::gui
