#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/background.hpp"
#include "app/gui/shell/settings.hpp"
#include "app/recordings/overview_reader.hpp"

namespace sluice::gui {

/// A recently opened file, as the welcome screen lists it. All texts are printable.
struct recent_row {
  std::string path;    ///< To open it; not printable.
  std::string name;    ///< The file's name.
  std::string folder;  ///< Or the other machine.
  std::string date;    ///< Empty if unknown.
  std::string size;    ///< Empty if unknown.
  std::string verdict;
  bool bad = false;                                     ///< See `verdict_line::bad`.
  bool missing = false;                                 ///< The file is no longer there.
  std::shared_ptr<const recordings::overview> picture;  ///< Null: no picture yet.
};

/// Returns the row of a file. `state`: the file's state now; null if it is not known yet, or is an address. `known`: the
/// verdict that was stored; it counts only if the file has not changed since. `read`: what was read from the file as it
/// is now; may be null. `now`: in ns since 1970.
[[nodiscard]] recent_row make_recent_row(const std::string& path, const recordings::file_state* state,
                                         const recent_verdict* known,
                                         const std::shared_ptr<const recordings::overview>& read, std::int64_t now);

/// The rows of the recent files. Looks at the files, and reads those without a verdict or a picture, on other threads.
class recent_files {
 public:
  /// Returns a row for each recent file, newest first. Call once per frame while the rows are on the screen.
  [[nodiscard]] std::vector<recent_row> list(const settings& remembered, recordings::overview_reader& overviews);
  /// True while the files' states are being read.
  [[nodiscard]] bool reading() const { return looking_.running() || !looked_; }

 private:
  using states = std::map<std::string, recordings::file_state>;
  void look(const std::vector<std::string>& paths);

  states states_;
  bool looked_ = false;
  std::int64_t looked_at_ = 0;  ///< When `states_` was last read, in ns since 1970.
  background<states> looking_;
};

}  // namespace sluice::gui
