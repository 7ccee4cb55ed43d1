#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "app/gui/shell/platform_services.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::gui {

/// An entry in the Demo menu.
struct demo_entry {
  std::string name;
  std::string shows;  ///< What the demo shows, in one line.
};

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

}  // namespace sluice::gui
