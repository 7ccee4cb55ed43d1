#pragma once

#include <string_view>

#include "app/gui/shell/application_options.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// The menus, and the state of the recording at the right end of their bar. Needs the objects that it gets, which must
/// outlive this object.
class menu_bar {
 public:
  menu_bar(const application_options& options, documents& session, const settings& remembered)
      : options_(options), session_(session), settings_(remembered) {}

  void draw(const view_context& with);

 private:
  void draw_file_menu(const command_registry& commands);
  void draw_recent_menu(const command_registry& commands) const;
  void draw_demo_menu(const command_registry& commands) const;

  const application_options& options_;
  documents& session_;
  const settings& settings_;
};

}  // namespace sluice::gui
