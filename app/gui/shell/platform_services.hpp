#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/trace/file/byte_source.hpp"

namespace sluice::gui {

/// The services that the platform provides to the window. The defaults are those of a desktop; a page in a browser sets
/// others.
struct platform_services {
  bool starts_programs = true;        ///< The platform can start programs: to record them, run demos, or open an
                                      ///< editor.
  bool keeps_files = true;            ///< A file that was opened once can be opened again by its path.
  bool gpu_driver = true;             ///< This machine has an NVIDIA driver.
  std::string recording_problem;      ///< Why recording on this machine would see no GPU; empty if nothing is known
                                      ///< to be missing.
  std::function<void()> choose_file;  ///< Lets the user choose a recording, and opens it. Null: the window shows its
                                      ///< own dialog.
  std::string saves_to;               ///< The folder for all saved files. Empty: the user is asked for a path.
  /// Returns the bytes of the recording at a path; null if they are in the file at that path.
  std::function<std::shared_ptr<trace::byte_source>(const std::string& path)> get_source;
};

}  // namespace sluice::gui
