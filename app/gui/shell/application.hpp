#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/shell/background.hpp"
#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/path_dialog.hpp"
#include "app/gui/shell/platform_services.hpp"
#include "app/gui/shell/record_dialog.hpp"
#include "app/gui/shell/recorder_process.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/shell/side_files.hpp"
#include "app/gui/views/view.hpp"
#include "app/gui/views/welcome.hpp"

namespace sluice::gui {

struct application_options {
  std::string config_folder;              ///< If empty, no settings are read or saved.
  std::string program;                    ///< Path of the program that runs demos; if empty, this program.
  std::vector<demo_entry> demos;          ///< Entries of the Demo menu.
  std::vector<std::string> files;         ///< Recordings to open when the window starts.
  std::vector<std::string> sources_from;  ///< Folders with sources and symbols: see `documents::sources_from`.
  std::string demo_device;                ///< Device for demos, "sim" or "cuda"; empty: the demo chooses.
  std::string recordings_folder;          ///< Folder of the recordings offered by the welcome screen; empty: searched
                                          ///< for near the program.
  std::size_t memory_bytes = query::engine_options{}.memory_bytes;  ///< For each recording: see query::engine_options.
  bool animations = true;      ///< False for pictures and tests: animations then end at once.
  float scale = 1;             ///< Scale factor of the display.
  std::function<void()> wake;  ///< Called when a new frame is needed, from any thread.
  platform_services around;
};

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
  [[nodiscard]] result<void> start();
  /// On platforms without threads, works on queries until the time `until`. Call between frames.
  void work_here(std::chrono::steady_clock::time_point until) { session_.work_here(until); }
  /// Writes the settings and the panel layout to the settings folder. The destructor does this too.
  void save_settings();
  /// Builds one frame. Call between ImGui::NewFrame() and ImGui::Render().
  void frame();

  /// Opens a recording, or a saved view and its recording.
  void open(const std::string& path);
  void start_demo(const std::string& name);
  /// Queues a command; it runs before the next frame.
  void invoke(std::string_view id, argument with = {}) { commands_.invoke(id, std::move(with)); }

  [[nodiscard]] const theme& colours() const { return theme_of(settings_.theme); }
  [[nodiscard]] const command_registry& commands() const { return commands_; }
  [[nodiscard]] const documents& state() const { return session_; }
  [[nodiscard]] const recorder_process& recorder() const { return recorder_; }
  /// The view of type `View`; for tests.
  template <class View>
  [[nodiscard]] const View& find() const {
    const auto found = std::find_if(views_.begin(), views_.end(),
                                    [](const auto& each) { return dynamic_cast<const View*>(each.get()) != nullptr; });
    IM_ASSERT(found != views_.end());
    return dynamic_cast<const View&>(**found);
  }
  /// True if the tab of this panel is marked with a warning.
  [[nodiscard]] bool warns(std::string_view panel) const;
  [[nodiscard]] settings& remembered() { return settings_; }
  /// Progress reported by the recorded program, 0..1; negative if unknown.
  [[nodiscard]] double demo_progress() const { return progress_; }
  /// The last error message, which the window shows; empty if there is none.
  [[nodiscard]] const std::string& notice() const { return notice_; }

  /// All files that could not be opened.
  [[nodiscard]] const std::vector<error>& failures() const { return failures_; }

  /// True while queries are running. A picture is taken only when they are complete.
  [[nodiscard]] bool busy() const;
  /// True while frames must be drawn even without input: for a live recording, or while the view moves.
  [[nodiscard]] bool animating() const;
  [[nodiscard]] bool live() const;
  /// True while a view plays a film.
  [[nodiscard]] bool playing() const;
  /// A request for a picture of the window's next frame, or of a part of it.
  struct wanted_picture {
    std::string path;  ///< Path of the picture; empty: no picture is requested.
    ImVec2 min{};      ///< Corners of the part, in ImGui's units; empty: the whole window.
    ImVec2 max{};
  };
  /// Returns the picture that the user requested; each request is returned only once.
  [[nodiscard]] wanted_picture take_picture_wanted() { return std::exchange(picture_wanted_, {}); }
  /// Shows a message, such as an error, at the bottom of the window until it is replaced.
  void say(std::string message) { notice_ = std::move(message); }
  /// Shows for a short time that something was done, such as "Saved PATH".
  void tell(std::string message);
  /// The text that `tell` is showing; empty if there is none.
  [[nodiscard]] const std::string& reported() const { return reported_; }
  /// Closes the window: at once, or after the user confirms, if a program is being recorded or a demo's recording would
  /// be lost.
  void quit();
  [[nodiscard]] bool wants_to_close() const { return closing_; }
  [[nodiscard]] std::string title() const;
  void set_scale(float scale);
  void use_theme(theme_kind kind);
  /// Shows only the panel with this name ("timeline", "blocks", ...), for pictures. Returns false if there is no such
  /// panel.
  [[nodiscard]] bool show_only(std::string_view name);
  [[nodiscard]] std::vector<std::string> view_names() const;

 private:
  /// Saves the layout of the panels, atomically.
  void save_layout();
  void add_commands();
  void add_file_commands();
  void add_saving_commands();  ///< Defined in application_saving.cpp.
  void add_selection_commands();
  void add_window_commands();
  void add_recording_commands();  ///< Defined in application_recording.cpp.
  void update();
  void hide_tips();
  void follow_recorder();
  void follow_end_of_recording(const document* shown);
  void start_recording(const record_request& request);
  struct recording_bar {
    float width = 0;     ///< Total width; 0 if no program runs.
    float progress = 0;  ///< Width of the progress bar alone.
    bool narrow = false;
  };
  [[nodiscard]] recording_bar measure_recording_bar(const view_context& with) const;
  void draw_recording_bar();
  [[nodiscard]] const document* unsaved_demo() const;
  void draw_quit();
  void draw_quit_of_recording(const view_context& with);
  /// Closes a document: at once, or after the user confirms, if a demo's recording would be lost.
  void close(document_id which);
  void draw_close();
  void draw_query_of_demo(const view_context& with, const document& demo, bool quits);
  void follow_leaving();
  void save_recording(const std::string& to);
  /// Asks for a path, starting with `name` in the folder of the last opened file, and runs `command` with the chosen
  /// path. If `name` is absolute, starts in the folder of `name`.
  void ask_where_to_save(const std::string& name, const std::string& command);
  [[nodiscard]] std::string own_program() const;
  void show_saved_view();
  void reveal_selection();
  void remember_session();
  void restore_session();
  void follow_restored();
  [[nodiscard]] kept_view kept_of(document_id of) const;
  void restyle();
  void take_failures();
  void draw_menu_bar();
  void draw_recent_menu();
  void draw_status();
  void draw_toolbar();
  void draw_panels();
  [[nodiscard]] const view& first_at(panel_place place) const;
  /// The view whose work the Escape key cancels, or null.
  [[nodiscard]] view* cancellable() const;
  /// Brings the panels that show details of the user's choice to the front, except any panel that would cover the one
  /// in which the user made the choice.
  void bring_forward(topic of) const;
  [[nodiscard]] bool would_cover_choices(const view& which) const;
  void draw_panel(view& which, view_context& with);
  static void draw_panel_menu(const view& of, const view_context& with, bool on_tab);
  void follow_saving();
  void choose_table();
  /// The active document's name, on which the names of saved files are based.
  [[nodiscard]] std::string name_to_save() const;
  /// Shows a panel and gives it the focus. This takes a few frames, because a hidden panel has no tab until it has been
  /// drawn.
  void raise(view& which);
  void raise_wanted();
  void draw_palette();
  void draw_keys();
  void draw_key_of(const command& each, float column);
  void take_new_key();
  void draw_words();
  void draw_about();
  void draw_notice();
  void draw_opening();
  void layout_panels(unsigned dock, ImVec2 size);
  /// Rebuilds the panel layout with the panels `below` and `right` in front. The panels below the timeline get `share`
  /// of the height.
  void arrange(const char* below, const char* right, float share);
  void menu(const char* group);  ///< A menu with the commands of the group.
  void menu_entries(std::string_view group);
  void menu_entry(std::string_view id);
  void choose_file();
  void take_chosen_file();
  [[nodiscard]] bool close_topmost();
  [[nodiscard]] bool ready_to_clear() const;
  [[nodiscard]] std::string last_folder() const;
  void choose_sources();
  void look_for_sources_in(const std::string& folder);
  [[nodiscard]] view_context context();

  application_options options_;
  settings settings_;
  documents session_;
  command_registry commands_;
  typefaces fonts_;
  draw::box_renderer boxes_;
  recorder_process recorder_;
  table_requests tables_;

  std::vector<std::unique_ptr<view>> views_;
  welcome_view welcome_;
  std::vector<recording_entry> recordings_;
  document_id drawn_document_ = document_id::none;
  screen_slot<query::tracks_query> progress_tracks_;
  screen_slot<query::series_query> progress_series_;
  screen_slot<query::details_query> reveal_query_;
  bool reveal_ = false;
  bool reveal_is_step_ = true;  ///< True: going back undoes only the move. False: going back also undoes the selection
                                ///< for which the view moved.
  std::map<std::string, settings::open_document> restored_;  ///< View state to restore when these files are ready,
                                                             ///< keyed by path.
  std::optional<kept_view> wanted_kept_;                     ///< State to restore in the views of the active document;
                                                             ///< reset once it is used.
  double progress_ = -1;
  bool recording_tried_ = false;  ///< The recorder's file is being opened or is open.
  bool recording_shown_ = false;  ///< The view shows the recorder's file.

  struct file_dialog;
  struct folder_dialog;
  path_dialog paths_;
  record_dialog record_dialog_;
  std::shared_ptr<file_dialog> dialog_;
  std::shared_ptr<folder_dialog> sources_dialog_;
  std::optional<std::pair<std::string, saved_view>> wanted_view_;  ///< Shown once the recording at this path is open.
  wanted_picture picture_wanted_;
  std::string panel_to_save_;  ///< The panel to save as a picture once a path is chosen.
  std::string panel_to_copy_;  ///< The panel to copy as text when it is next drawn; empty: none.
  std::string table_to_save_;  ///< The CSV to save once a path is chosen.
  background<result<std::string>> saving_;
  std::string notice_;
  std::string reported_;
  double reported_at_ = 0;  ///< In ImGui's time.
  std::vector<error> failures_;
  std::string palette_text_;
  int palette_choice_ = 0;
  bool palette_open_ = false;
  bool keys_open_ = false;
  std::string new_key_for_;  ///< Id of the command that gets the next key pressed; empty: none.
  bool words_open_ = false;
  bool about_open_ = false;
  bool toolbar_drawn_ = false;
  bool bars_placed_ = false;  ///< The area for panels, which lags by a frame, excludes the bars above them.
  bool layout_wanted_ = true;
  static constexpr float usual_below_share = 0.325F;
  float below_share_ = usual_below_share;  ///< Share of the height that a new layout gives to the panels below the
                                           ///< timeline.
  std::vector<std::string> in_front_;      ///< Names of the panels whose tabs a new layout brings to the front. In
                                           ///< other places it shows the first tab.
  view* raised_ = nullptr;                 ///< The panel to focus.
  int raise_tries_ = 0;                    ///< Number of frames left in which to focus `raised_`.
  int front_tabs_in_ = 0;                  ///< Number of frames until the tabs are brought to the front.
  bool closing_ = false;
  bool quit_asked_ = false;                            ///< The confirmation before the window closes is open.
  bool quit_when_stopped_ = false;                     ///< The window closes when the recorded program has ended.
  document_id close_asked_ = document_id::none;        ///< The document whose closing must be confirmed.
  document_id leaves_when_saved_ = document_id::none;  ///< The document to close once its copy is saved.
  bool quit_when_saved_ = false;                       ///< The window closes once that copy is saved.
  unsigned palette_over_ = 0;  ///< ImGui's id of the window that had the focus before the palette was opened.
  bool restyle_ = true;
  bool tips_hidden_ = false;  ///< See `view_context::tips`.
  view* only_ = nullptr;
  float scale_ = 1;
  float unit_ = 1;     ///< The number of pixels per design pixel with which the panels are laid out.
  unsigned dock_ = 0;  ///< ImGui's id of the dock that contains the panels; 0 if it has not been drawn yet.
};

}  // namespace sluice::gui
