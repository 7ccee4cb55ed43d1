#pragma once

#include <string>

#include "app/gui/views/parts/view.hpp"

/// Combo boxes for the processes of a recording, and display names of processes and devices.
namespace sluice::gui {

/// True if the active recording has more than one process.
[[nodiscard]] bool has_several_processes(const view_context& with);

/// The display name of a process: "Rank 3", or "python (4710)" if it has no rank. Printable.
[[nodiscard]] std::string process_words(const trace::snapshot& recording, trace::process_id process);
/// The same, for a process of the active recording.
[[nodiscard]] std::string process_words(const view_context& with, trace::process_id process);

/// The display name of a device: "GPU 0", or a longer name if several devices have that number. Printable.
[[nodiscard]] std::string device_words(const trace::snapshot& recording, trace::device_id device);
/// The same, for a device of the active recording.
[[nodiscard]] std::string device_words(const view_context& with, trace::device_id device);

/// Draws a combo box to choose one process of the active recording, or all of them (`process_id::none`).
void process_combo(const view_context& with, const char* id, trace::process_id& chosen);

}  // namespace sluice::gui
