#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/shell/commands.hpp"
#include "app/gui/shell/documents.hpp"
#include "app/gui/shell/files/file_choosers.hpp"
#include "app/gui/shell/files/recording_opener.hpp"

namespace sluice::gui {

/// Makes comparisons of two recordings once both are open. Needs the objects that it gets, which must outlive this
/// object and the commands.
class comparison_opener {
 public:
  comparison_opener(documents& session, file_choosers& choosers, recording_opener& opener)
      : session_(session), choosers_(choosers), opener_(opener) {}

  /// Adds the commands that make comparisons and switch between tabs.
  void add_commands(command_registry& commands);
  /// Compares two recordings, which are being opened, once both are open.
  void expect(const std::string& before, const std::string& after) { files_ = {before, after}; }
  /// Continues what was started. Call once per frame.
  void follow();

 private:
  /// Compares the active document with the recording at `path`; if it is null, with the next one that the user opens.
  void compare_with(const std::string* path);
  /// Brings the tab `by` places after the one in front to the front. The tabs of documents come before comparisons.
  void step(std::ptrdiff_t by);

  documents& session_;
  file_choosers& choosers_;
  recording_opener& opener_;
  std::optional<std::pair<std::string, std::string>> files_;  ///< Two recordings that are being opened.
  document_id before_ = document_id::none;  ///< The next document that is opened is compared with this one.
  std::vector<document_id> known_;          ///< The documents that were open when the user asked for that.
  bool was_opening_ = false;                ///< A recording was being opened in the last frame.
};

}  // namespace sluice::gui
