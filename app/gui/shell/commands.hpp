#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/gui/shell/selection.hpp"
#include "imgui.h"

/// Every action of the window is a registered command: menus, keys, buttons, the palette, the views and the tests run it
/// by its id.
namespace sluice::gui {

/// What some commands act on: a path or a name, a selection, a time range, a fraction.
using argument = std::variant<std::monostate, std::string, selection, query::time_range, double>;

struct command {
  std::string id{};     ///< "timeline.zoom_in"; stable.
  std::string title{};  ///< "Zoom in": of menus and of the palette. Empty: needs an argument, so neither lists it.
  std::string group{};  ///< "Timeline": menu and heading in the palette.
  const char* icon = nullptr;
  std::vector<ImGuiKeyChord> keys{};  ///< The first is shown.
  bool repeats = false;               ///< While the key is held.
  std::function<void(const argument&)> run{};
  std::function<bool()> enabled{};  ///< Null: always.
  std::function<bool()> checked{};  ///< For a toggle: whether it is on.
};

class command_registry {
 public:
  void add(command what);
  [[nodiscard]] const command* find(std::string_view id) const;
  [[nodiscard]] const std::vector<command>& all() const { return commands_; }
  [[nodiscard]] bool enabled(const command& what) const { return !what.enabled || what.enabled(); }

  /// Puts `id` in the queue: it runs before the next frame is built, so that no view changes what it is drawing.
  /// An unknown or disabled command does nothing. Const, because views hold the registry const.
  void invoke(std::string_view id, argument with = {}) const;
  /// Runs what is queued. True if anything was.
  bool run_queued();
  /// Queues the commands whose keys were pressed in this frame.
  void take_keys() const;

 private:
  std::vector<command> commands_;
  mutable std::vector<std::pair<std::string, argument>> queue_;
};

/// "Ctrl+P", "F".
[[nodiscard]] std::string key_text(const command& what);

}  // namespace sluice::gui
