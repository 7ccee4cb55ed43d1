#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/gui/application/selection_commands.hpp"
#include "app/gui/shell/appearance.hpp"
#include "app/gui/shell/application_options.hpp"
#include "app/gui/shell/bars/menu_bar.hpp"
#include "app/gui/shell/bars/tool_bar.hpp"
#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/dialogs/overlays.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/files/close_confirmation.hpp"
#include "app/gui/shell/files/content_saver.hpp"
#include "app/gui/shell/files/file_choosers.hpp"
#include "app/gui/shell/files/file_commands.hpp"
#include "app/gui/shell/files/recording_opener.hpp"
#include "app/gui/shell/imgui_context.hpp"
#include "app/gui/shell/panels/front_panel.hpp"
#include "app/gui/shell/panels/panel_area.hpp"
#include "app/gui/shell/panels/panel_focus.hpp"
#include "app/gui/shell/panels/panel_layout.hpp"
#include "app/gui/shell/panels/panel_set.hpp"
#include "app/gui/shell/programs/recorder_control.hpp"
#include "app/gui/shell/programs/recorder_process.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/notice_bar.hpp"

namespace sluice::gui {

/// The content of the window, without the window itself. A desktop window, an off-screen picture and the tests each
/// provide an OpenGL context and run this object frame by frame. Create it when no ImGui context exists, and call
/// `start` with the OpenGL context current. Use only on the thread that created this object.
class application {
 public:
  explicit application(application_options options);
  ~application();
  application(const application&) = delete;
  application& operator=(const application&) = delete;

  /// Compiles the shaders. Call once, after ImGui's backends are initialized.
  [[nodiscard]] result<void> start() { return boxes_.start(); }
  /// On platforms without threads, works on queries until the time `until`. Call between frames.
  void work_here(std::chrono::steady_clock::time_point until) { session_.work_here(until); }
  /// Writes the settings and the panel layout to the settings folder. The destructor does this too.
  void save_settings();
  /// Builds one frame. Call between ImGui::NewFrame() and ImGui::Render().
  void frame();

  /// Opens a recording, or a saved view and its recording.
  void open(const std::string& path) { opener_.open(path); }
  /// Opens recordings and saved views. Compares them if they are two recordings.
  void open(const std::vector<std::string>& paths) { files_.open(paths); }
  void start_demo(const std::string& name) { recorder_.start_demo(name); }
  /// Queues a command; it runs before the next frame.
  void invoke(std::string_view id, argument with = {}) { commands_.invoke(id, std::move(with)); }
  /// Closes the window: at once, or after the user confirms; see `close_confirmation`.
  void quit() { confirmation_.quit(); }
  [[nodiscard]] bool wants_to_close() const { return confirmation_.wants_to_close(); }
  void set_scale(float scale) { appearance_.set_display_scale(scale); }
  void use_theme(theme_kind kind) { appearance_.use_theme(kind); }
  /// See `panel_area::show_only`.
  [[nodiscard]] bool show_only(std::string_view panel) { return area_.show_only(panel); }
  /// Returns the picture that the user requested, once.
  [[nodiscard]] picture_request take_picture_wanted() { return saver_.take_picture(); }

  [[nodiscard]] const theme& colours() const { return appearance_.colours(); }
  [[nodiscard]] std::string title() const;
  [[nodiscard]] settings& remembered() { return settings_; }
  [[nodiscard]] const documents& state() const { return session_; }
  [[nodiscard]] const command_registry& commands() const { return commands_; }
  [[nodiscard]] const recorder_process& recorder() const { return process_; }
  /// Progress reported by the recorded program, 0..1; negative if unknown.
  [[nodiscard]] double demo_progress() const { return recorder_.progress(); }
  [[nodiscard]] notice_bar& notices() { return notices_; }
  /// The last error message, which the window shows; empty if there is none.
  [[nodiscard]] const std::string& notice() const { return notices_.notice(); }
  [[nodiscard]] const panel_set& panels() const { return panels_; }
  /// The comparison of two recordings; for tests.
  [[nodiscard]] const comparison_page& comparison() const { return area_.page(); }
  /// The view of type `View`; for tests.
  template <class View>
  [[nodiscard]] const View& find() const {
    return panels_.find<View>();
  }

  /// True while queries are running. A picture is taken only when they are complete.
  [[nodiscard]] bool busy() const;
  /// True while frames must be drawn even without input: for a live recording, or while the view moves.
  [[nodiscard]] bool animating() const;
  [[nodiscard]] bool live() const;
  /// True while a view plays a film.
  [[nodiscard]] bool playing() const { return panels_.playing(); }

 private:
  void set_up_session();
  void add_commands();
  /// Runs the queued commands, and continues all work that takes more than one frame.
  void update();
  /// Draws the window's content, from the bars at the top to the dialogs above the panels.
  void draw();
  [[nodiscard]] view_context context();

  // The state that the other objects share.
  application_options options_;
  imgui_context imgui_;
  settings settings_;
  documents session_;
  command_registry commands_;
  notice_bar notices_;
  recorder_process process_;
  appearance appearance_{settings_, options_.scale};
  draw::box_renderer boxes_;
  // What the user sees and does. Each object gets only those above it.
  panel_set panels_{options_.wake, settings_};
  panel_focus focus_{panels_};
  front_panel front_{panels_, focus_};
  panel_layout layout_{panels_, settings_};
  file_choosers choosers_{options_.around, settings_, commands_, notices_};
  recording_opener opener_{session_, settings_, panels_, notices_};
  recorder_control recorder_{options_, session_, settings_, process_, notices_};
  panel_area area_{panels_, layout_, options_, settings_, recorder_};
  content_saver saver_{session_, choosers_, notices_};
  close_confirmation confirmation_{session_, process_, choosers_, notices_};
  file_commands files_{
      {session_, settings_, notices_, choosers_, opener_, confirmation_, commands_, options_.around.keeps_files}};
  overlays overlays_{{commands_, settings_, choosers_, recorder_, confirmation_, notices_}};
  selection_commands selection_{session_, panels_, focus_, overlays_};
  menu_bar menu_bar_{options_, session_, settings_};
  tool_bar tool_bar_{session_};
  bool tips_hidden_ = false;  ///< See `view_context::tips`.
};

}  // namespace sluice::gui
