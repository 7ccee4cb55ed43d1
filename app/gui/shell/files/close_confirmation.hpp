#pragma once

#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/files/file_choosers.hpp"
#include "app/gui/shell/programs/recorder_process.hpp"
#include "app/gui/views/parts/notice_bar.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// Closes the window or a document: at once, or after the user confirms, if a program is being recorded or a demo's
/// recording would be lost. Needs the objects that it gets, which must outlive this object.
class close_confirmation {
 public:
  close_confirmation(documents& session, recorder_process& recorder, file_choosers& choosers, notice_bar& notices)
      : session_(session), recorder_(recorder), choosers_(choosers), notices_(notices) {}

  /// Closes the window; see `wants_to_close`.
  void quit();
  /// Closes a document.
  void close(document_id which);
  /// True once the window should close.
  [[nodiscard]] bool wants_to_close() const { return closing_; }

  /// Completes a "Save..." before closing: closes the document once the copy is saved, or keeps it open if no copy was
  /// saved. Call once per frame.
  void follow();
  /// Call when the recorded program has ended: the window may be waiting for that.
  void recording_ended();

  [[nodiscard]] bool is_open() const { return quit_asked_ || close_asked_ != document_id::none; }
  /// Answers "Cancel" to the question whether to close the window. Returns true if the question was open.
  [[nodiscard]] bool cancel_quit();
  /// Answers "Cancel" to the question whether to close a document. Returns true if the question was open.
  [[nodiscard]] bool cancel_close();
  void draw(const view_context& with);

 private:
  [[nodiscard]] const document* unsaved_demo() const;
  void draw_quit(const view_context& with);
  void draw_close(const view_context& with);
  void ask_about_recording(const view_context& with);
  void ask_about_demo(const view_context& with, const document& demo, bool quits);

  documents& session_;
  recorder_process& recorder_;
  file_choosers& choosers_;
  notice_bar& notices_;
  bool closing_ = false;
  bool quit_asked_ = false;                            ///< The confirmation before the window closes is open.
  bool quit_when_stopped_ = false;                     ///< The window closes when the recorded program has ended.
  document_id close_asked_ = document_id::none;        ///< The document whose closing must be confirmed.
  document_id leaves_when_saved_ = document_id::none;  ///< The document to close once its copy is saved.
  bool quit_when_saved_ = false;                       ///< The window closes once that copy is saved.
};

}  // namespace sluice::gui
