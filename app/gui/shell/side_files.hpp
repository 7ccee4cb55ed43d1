#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/kept_view.hpp"
#include "core/base/error.hpp"

/// Small JSON files that accompany a recording: notes, and saved views to send to a colleague. The files are untrusted:
/// whatever they contain, reading returns either values within the limits below or one error. Files of more than 64 MiB
/// and JSON beyond the limits of `parse_json` are rejected.
namespace sluice::gui {

/// Identifies the recording that a side file belongs to, even if the recording has been renamed.
struct recording_identity {
  std::string name;                  ///< The recording's file name without folder, as it was when the side file was
                                     ///< written.
  std::int64_t realtime_origin = 0;  ///< CLOCK_REALTIME ns at time 0 of the recording; 0: unknown.
  time_ns begin = 0;                 ///< Time of the first event.
  /// True if both can identify the same recording. Names are not compared, because files are renamed.
  [[nodiscard]] bool matches(const recording_identity& other) const {
    return realtime_origin == other.realtime_origin && begin == other.begin;
  }
};
[[nodiscard]] recording_identity identify_recording(const document& subject);

/// A text that the user attached to a moment, a range, a block or an event.
struct user_note {
  time_range range;                             ///< begin == end means a moment.
  selection_kind about = selection_kind::none;  ///< `block` or `event`; `none` if the note is only about the time.
  std::uint64_t id = 0;                         ///< Id of the block or event.
  std::string text;

  static constexpr std::size_t longest_text = 4096;  ///< In bytes.
  static constexpr std::size_t most = 10'000;        ///< Maximum number of notes in a file.
  friend bool operator==(const user_note&, const user_note&) = default;
};

/// Reads a file of notes. `identity`: the recording that the notes must belong to. Errors: not_found if there is no
/// file; io, corrupt, foreign.
[[nodiscard]] result<std::vector<user_note>> read_notes(const std::string& path, const recording_identity& identity);
/// Writes the file atomically. Errors: those of `replacement`.
[[nodiscard]] result<void> write_notes(const std::string& path, const recording_identity& identity,
                                       const std::vector<user_note>& notes);

/// "a.sluice.notes.json", next to the recording.
[[nodiscard]] std::string notes_path(const std::string& recording);
/// The path of the notes if the recording's folder is not writable: a file in `config_folder`, named after the
/// recording's full path. Empty if `config_folder` is empty.
[[nodiscard]] std::string notes_path_in(const std::string& config_folder, const std::string& recording);

/// What the window shows of a recording. Refers to the recording by its file name, in the folder of the view's file.
struct saved_view {
  recording_identity recording;
  time_range visible;
  std::optional<time_range> range;
  std::optional<time_ns> moment;
  selection_kind selected = selection_kind::none;  ///< `block`, `event` or `none`.
  std::uint64_t id = 0;
  bool memory_by_category = true;
  kept_view kept;  ///< In files written by older versions, this has the defaults.
};

/// True if the path ends in ".sluiceview".
[[nodiscard]] bool is_saved_view(const std::string& path);
/// Reads a saved view. Errors: not_found, io, corrupt, foreign.
[[nodiscard]] result<saved_view> read_saved_view(const std::string& path);
[[nodiscard]] result<void> write_saved_view(const std::string& path, const saved_view& view);
/// The path of a view's recording, in the folder of the view's file.
[[nodiscard]] std::string find_recording(const std::string& view_path, const saved_view& view);

}  // namespace sluice::gui
