#pragma once

#include <string>

#include "app/gui/views/view.hpp"

/// The processes of a recording, as panels name them and offer them to choose from, and the names of devices.
namespace sluice::gui {

/// True if the active recording has more than one process.
[[nodiscard]] bool has_several_processes(const view_context& with);

/// "Rank 3", or if it has no rank "python (4710)". May be drawn as it is.
[[nodiscard]] std::string process_words(const trace::snapshot& of, trace::process_id process);
/// The same, of the active recording.
[[nodiscard]] std::string process_words(const view_context& with, trace::process_id process);

/// "GPU 0", or what tells it from others of that number. May be drawn as it is.
[[nodiscard]] std::string device_words(const trace::snapshot& of, trace::device_id device);
/// The same, of the active recording.
[[nodiscard]] std::string device_words(const view_context& with, trace::device_id device);

/// A choice of one process of the active recording, or of all: `process_id::none`.
void process_combo(const view_context& with, const char* id, trace::process_id& chosen);

}  // namespace sluice::gui
