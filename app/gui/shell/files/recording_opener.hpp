#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/files/verdict_keeper.hpp"
#include "app/gui/shell/kept_view.hpp"
#include "app/gui/shell/panels/panel_set.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/gui/shell/side_files.hpp"
#include "app/gui/views/parts/notice_bar.hpp"

namespace sluice::gui {

/// Opens recordings, saved views and the last session, and restores what the window showed of them. Needs the objects
/// that it gets, which must outlive this object.
class recording_opener {
 public:
  recording_opener(documents& session, settings& remembered, const panel_set& panels, notice_bar& notices)
      : session_(session), settings_(remembered), panels_(panels), notices_(notices), verdicts_(session, remembered) {}

  /// Opens a recording, or a saved view and its recording.
  void open(const std::string& path);
  /// Opens the recordings of the last session.
  void reopen_last_session();
  /// Stores the open recordings for `reopen_last_session`. If none is open, keeps the previous session.
  void remember_session();

  // Call these once per frame, in this order.
  /// Shows the saved view that the user opened, once a recording is ready, provided that the view was saved from it.
  void show_saved_view();
  /// Restores the visible range of a recording of the last session, once the recording is ready.
  void show_last_session();
  /// Stores the verdict on the active document for the list of recent files, once its report is complete.
  void remember_verdict() { verdicts_.follow(); }
  /// Returns the state to restore in the views of the active document, once; usually none.
  [[nodiscard]] std::optional<kept_view> take_kept_view();

 private:
  documents& session_;
  settings& settings_;
  const panel_set& panels_;
  notice_bar& notices_;
  std::optional<std::pair<std::string, saved_view>> saved_view_;  ///< Shown once the recording at this path is open.
  std::map<std::string, settings::open_document> last_session_;   ///< State to restore when these files are ready,
                                                                  ///< keyed by path.
  verdict_keeper verdicts_;
  std::optional<kept_view> kept_;  ///< See `take_kept_view`.
};

}  // namespace sluice::gui
