#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/trace/file/byte_source.hpp"

namespace sluice::gui {

/// What the window can count on around it. The values here are those of a desktop; a page of a browser sets others.
struct surroundings {
  bool starts_programs = true;        ///< To record them, to run demos, to open an editor.
  bool keeps_files = true;            ///< A file that was opened once can be opened again by its path.
  std::function<void()> choose_file;  ///< Lets the user choose a recording, and opens it. Null: the window does.
  std::string saves_to;               ///< The folder in which all files are saved. Empty: the user is asked for a path.
  /// Where the bytes of the recording at a path are, if they are not in that file; otherwise null.
  std::function<std::shared_ptr<trace::byte_source>(const std::string& path)> source_of;
};

}  // namespace sluice::gui
