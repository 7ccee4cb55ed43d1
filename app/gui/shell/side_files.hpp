#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/kept_view.hpp"
#include "core/base/error.hpp"

/// Small JSON files that accompany a recording: notes, and saved views to send to a colleague. They may come from
/// anybody: whatever they hold, reading gives values within the limits below, or one error. A file of more than 64 MiB
/// is not read, nor is JSON beyond the limits of `parse_json`.
namespace sluice::gui {

/// Tells whether a side file is about a recording, whatever its name is now.
struct recording_identity {
  std::string name;                  ///< The file's name without folder, when the side file was written.
  std::int64_t realtime_origin = 0;  ///< CLOCK_REALTIME ns at time 0 of the recording; 0: unknown.
  query::time_ns begin = 0;          ///< Time of the first event.
  /// True if both may be the same recording. Names are not compared: files are renamed.
  [[nodiscard]] bool matches(const recording_identity& other) const {
    return realtime_origin == other.realtime_origin && begin == other.begin;
  }
};
[[nodiscard]] recording_identity identity_of(const document& of);

/// A text about a time, a range, a block or an event.
struct user_note {
  query::time_range range;                      ///< begin == end: a moment.
  selection_kind about = selection_kind::none;  ///< `block` or `event`, or `none` for the time alone.
  std::uint64_t id = 0;                         ///< Of the block or event.
  std::string text;

  static constexpr std::size_t longest_text = 4096;  ///< In bytes.
  static constexpr std::size_t most = 10'000;        ///< Notes in a file.
  friend bool operator==(const user_note&, const user_note&) = default;
};

/// Reads a file of notes; not_found if there is none. `of`: the recording they must be about. Errors: io, corrupt,
/// foreign.
[[nodiscard]] result<std::vector<user_note>> read_notes(const std::string& path, const recording_identity& of);
/// Writes the file atomically. Errors: those of `replacement`.
[[nodiscard]] result<void> write_notes(const std::string& path, const recording_identity& of,
                                       const std::vector<user_note>& notes);

/// "a.sluice.notes.json", beside the recording.
[[nodiscard]] std::string notes_path(const std::string& recording);
/// Where notes go if the recording's folder cannot be written: a file in `config_folder`, named after the recording's
/// whole path. Empty without a config folder.
[[nodiscard]] std::string notes_path_in(const std::string& config_folder, const std::string& recording);

/// What of a recording is shown. Refers to the recording by name: it lies in the same folder as the view.
struct saved_view {
  recording_identity of;
  query::time_range visible;
  std::optional<query::time_range> range;
  std::optional<query::time_ns> moment;
  selection_kind selected = selection_kind::none;  ///< `block`, `event` or `none`.
  std::uint64_t id = 0;
  bool memory_by_category = true;
  kept_view kept;  ///< In files of older versions: as at first.
};

/// True for a path that ends in ".sluiceview".
[[nodiscard]] bool is_saved_view(const std::string& path);
/// Errors: not_found, io, corrupt, foreign.
[[nodiscard]] result<saved_view> read_saved_view(const std::string& path);
[[nodiscard]] result<void> write_saved_view(const std::string& path, const saved_view& view);
/// The recording of a view in the view's folder.
[[nodiscard]] std::string recording_of(const std::string& view_path, const saved_view& view);

}  // namespace sluice::gui
