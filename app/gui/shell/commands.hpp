#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/gui/shell/selection.hpp"
#include "imgui.h"

/// Every action of the window is a registered command. Commands are declared in tables (`command_row`). Menus, keys, buttons, the palette, the views and the tests
/// invoke commands by id.
namespace sluice::gui {

/// A table to save: `name`, from which the file name is made, and the table's content as CSV.
struct table_text {
  std::string name;
  std::string csv;
};

/// The argument of a command: a path or name, a selection, a time range, a fraction, a filter of blocks, or a table.
using argument = std::variant<std::monostate, std::string, selection, time_range, double, blocks_filter, table_text>;

struct command {
  std::string id{};     ///< Stable id, e.g. "timeline.zoom_in".
  std::string title{};  ///< "Zoom in", for menus and the palette. Empty: not listed there, because the command needs an
                        ///< argument.
  std::string group{};  ///< "Timeline": the menu that lists the command, and its heading in the palette.
  std::string words{};  ///< Additional words by which the palette finds the command, e.g. "export png".
  const char* icon = nullptr;
  std::vector<ImGuiKeyChord> keys{};           ///< Menus and tooltips show only the first.
  bool repeats = false;                        ///< Repeats while the key is held.
  std::function<void(const argument&)> run{};  ///< Null: views perform the command; see `command_registry::just_ran`.
  std::function<bool()> enabled{};             ///< Returns whether the command can run now; null: always.
  std::function<bool()> checked{};             ///< For a toggle: returns whether it is on; otherwise null.
  bool remapped = false;                       ///< `keys` are the user's choice.
};

/// A row of a table of commands: a command as data. Its functions act on a `Context`. The members are those of `command`.
template <class Context>
struct command_row {
  const char* id = "";
  const char* title = "";
  const char* group = "";
  const char* words = "";
  const char* icon = nullptr;
  std::array<ImGuiKeyChord, 2> keys{};  ///< 0: no key.
  bool repeats = false;
  void (*run)(const Context& at, const argument& with) = nullptr;
  bool (*enabled)(const Context& at) = nullptr;
  bool (*checked)(const Context& at) = nullptr;
};

class command_registry {
 public:
  /// Adds the commands of a table. Each keeps a copy of `context`, which refers to the objects that the commands use.
  template <class Context, std::size_t count>
  void add(const command_row<Context> (&rows)[count], const Context& context) {
    for (const command_row<Context>& each : rows) add(make(each, context));
  }
  /// Adds a command that is known only at run time, such as one for each panel.
  void add(command subject);
  /// Replaces the keys of a command by `key`; if `key` is null, removes them. Ignores unknown ids.
  void set_key(std::string_view id, std::optional<ImGuiKeyChord> key);
  [[nodiscard]] const command* find(std::string_view id) const;
  [[nodiscard]] const std::vector<command>& all() const { return commands_; }
  [[nodiscard]] bool enabled(const command& subject) const { return !subject.enabled || subject.enabled(); }

  /// Queues command `id`. It runs before the next frame is built, so that no view changes data that it is drawing.
  /// Unknown or disabled commands are ignored. This function is const because views have only const access.
  void invoke(std::string_view id, argument with = {}) const;
  /// Runs the queued commands. Returns true if there were any.
  bool run_queued();
  /// True if commands are queued for the next frame.
  [[nodiscard]] bool any_queued() const { return !queue_.empty(); }
  /// True during the frame in which the command ran. Used for commands that act on the focused item, which only its
  /// view knows.
  [[nodiscard]] bool just_ran(std::string_view id) const;
  /// Queues the commands whose keys were pressed in this frame.
  void take_keys() const;

 private:
  template <class Context>
  static command make(const command_row<Context>& row, const Context& context) {
    command made{.id = row.id, .title = row.title, .group = row.group, .words = row.words, .icon = row.icon};
    for (const ImGuiKeyChord key : row.keys)
      if (key != 0) made.keys.push_back(key);
    made.repeats = row.repeats;
    if (row.run != nullptr) made.run = [run = row.run, context](const argument& with) { run(context, with); };
    if (row.enabled != nullptr) made.enabled = [enabled = row.enabled, context] { return enabled(context); };
    if (row.checked != nullptr) made.checked = [checked = row.checked, context] { return checked(context); };
    return made;
  }

  std::vector<command> commands_;
  mutable std::vector<std::pair<std::string, argument>> queue_;
  std::vector<std::string> ran_;  ///< Ids of the commands that ran before this frame.
};

/// How well the text that a user typed matches a command. 2: each word of the text occurs in the group, title or words.
/// 1: the letters occur in this order in group and title ("zi" finds "Zoom in"). 0: no match. Ignores case.
[[nodiscard]] int match_score(const command& subject, std::string_view typed);

/// Parses a key chord in the format of `key_text`; nullopt if `text` is not a chord.
[[nodiscard]] std::optional<ImGuiKeyChord> parse_chord(std::string_view text);

/// The command's first key as text, e.g. "Ctrl+P" or "F".
[[nodiscard]] std::string key_text(const command& subject);

}  // namespace sluice::gui
