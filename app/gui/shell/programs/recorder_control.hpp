#pragma once

#include <string>

#include "app/gui/shell/application_options.hpp"
#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/programs/doctor_dialog.hpp"
#include "app/gui/shell/programs/record_dialog.hpp"
#include "app/gui/shell/programs/recorder_process.hpp"
#include "app/gui/shell/programs/remote_dialog.hpp"
#include "app/gui/shell/screen_text.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/views/parts/notice_bar.hpp"

namespace sluice::gui {

/// Starts demos and recordings of the user's programs, opens the recording while it grows, and reports how the program
/// ended. Needs the objects that it gets, which must outlive this object and the commands.
class recorder_control {
 public:
  recorder_control(const application_options& options, documents& session, settings& remembered,
                   recorder_process& process, notice_bar& notices)
      : options_(options), session_(session), settings_(remembered), process_(process), notices_(notices) {}

  void add_commands(command_registry& commands);
  void start_demo(const std::string& name);
  /// Opens the recording once it has data, and reads the progress. Call once per frame. Returns true once: after the
  /// program has ended.
  [[nodiscard]] bool follow();
  /// Returns true if `failure` is about a recording that has just begun and that `follow` will therefore try to open
  /// again.
  [[nodiscard]] bool retries(const error& failure);

  [[nodiscard]] const recorder_process& process() const { return process_; }
  /// Progress reported by the program, 0..1; negative if unknown.
  [[nodiscard]] double progress() const { return progress_; }
  /// True once the recording has data: the file is being opened, or is open.
  [[nodiscard]] bool has_tried_to_open() const { return tried_; }

  // The dialogs that ask for a program to record, and say what recording needs.
  void draw_dialogs(const view_context& with);
  [[nodiscard]] bool dialog_is_open() const { return dialog_.is_open() || remote_.is_open() || doctor_.is_open(); }
  /// Closes one dialog. Returns true if one was open.
  [[nodiscard]] bool close_dialog();
  /// True while a dialog reads the file system, or waits for the checks of this machine.
  [[nodiscard]] bool reading() const { return dialog_.reading() || doctor_.reading(); }

 private:
  [[nodiscard]] std::string own_program() const;
  void start_recording(const record_request& request);
  /// Records the program with this command line, with the options that the dialog has.
  void start_command(const std::string& line);
  /// Forgets the previous program.
  void begin();
  [[nodiscard]] document* recorded();
  void report_end(bool shown);
  void read_progress(const document& shown);

  const application_options& options_;
  documents& session_;
  settings& settings_;
  recorder_process& process_;
  notice_bar& notices_;
  record_dialog dialog_;
  remote_dialog remote_;
  doctor_dialog doctor_;
  screen_slot<query::tracks_query> tracks_;
  screen_slot<query::series_query> series_;  ///< The counter with the progress.
  double progress_ = -1;
  bool tried_ = false;  ///< The recorder's file is being opened or is open.
  bool shown_ = false;  ///< The view shows the recorder's file.
};

}  // namespace sluice::gui
