#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/gui/shell/kept_view.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/view.hpp"
#include "imgui.h"

namespace sluice::gui {

/// Owns the views, of which each is one panel, and asks or tells all of them.
class panel_set {
 public:
  /// `wake` must be callable from any thread; `remembered` must outlive this object.
  panel_set(const std::function<void()>& wake, const settings& remembered);

  /// The views, in the order in which menus and tabs show them.
  [[nodiscard]] const std::vector<std::unique_ptr<view>>& views() const { return views_; }
  /// The view of type `View`; for tests.
  template <class View>
  [[nodiscard]] const View& find() const {
    const auto found = std::find_if(views_.begin(), views_.end(),
                                    [](const auto& each) { return dynamic_cast<const View*>(each.get()) != nullptr; });
    IM_ASSERT(found != views_.end());
    return dynamic_cast<const View&>(**found);
  }
  /// The view with a name as in `names`, in upper or lower case; null if there is none.
  [[nodiscard]] view* find(std::string_view name) const;
  /// The names of the views on the command line, such as "memory-map" for "Memory map".
  [[nodiscard]] std::vector<std::string> names() const;

  /// Shows the panels that a new window shows, and hides the others.
  void show_initial();
  /// True if the tab of this panel is marked with a warning. `panel`: see `view::name`.
  [[nodiscard]] bool warns(std::string_view panel) const;
  [[nodiscard]] bool busy() const;
  /// True while a view plays a film.
  [[nodiscard]] bool playing() const;
  /// The view whose work the Escape key cancels; null if there is none.
  [[nodiscard]] view* cancellable() const;
  /// The time that was under the mouse in the last frame.
  [[nodiscard]] std::optional<time_ns> hovered_time() const;

  void add_commands(const command_home& home);
  void follow(const view_context& with);
  /// Makes the views discard their query results if `active`, the active document, has changed since the last call.
  /// Returns true if it has changed.
  bool follow_document(document_id active);
  /// The user's changes to the views of this document.
  [[nodiscard]] kept_view keep(document_id document) const;
  void restore(const view_context& with, const kept_view& kept);

 private:
  std::vector<std::unique_ptr<view>> views_;
  document_id document_ = document_id::none;  ///< The document whose results the views hold.
};

}  // namespace sluice::gui
