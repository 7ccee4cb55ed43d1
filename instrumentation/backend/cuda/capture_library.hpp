#pragma once

#include <string>

/// The capture library in this process: put there by `sluice record`, or started by a recording of the process's own.
namespace sluice::backend::cuda {

/// Names the library; empty: none, so that times are estimated from events.
inline constexpr const char* capture_library_variable = "SLUICE_CAPTURE_LIBRARY";

/// It records every call below us. One load.
[[nodiscard]] bool capture_records() noexcept;
/// And it was `start_capture` that made it.
[[nodiscard]] bool capture_started_here() noexcept;

/// Starts it for the writer at `socket_name`: the file that `SLUICE_CAPTURE_LIBRARY` names, else the one beside the program,
/// else where the loader finds it. False when there is none or it cannot use CUPTI. One thread at a time.
bool start_capture(const std::string& socket_name);
/// Ends what `start_capture` started.
void stop_capture();

/// A function of the CUPTI that the capture library uses, or null. CUPTI's numbers for contexts and streams are those in
/// records.
[[nodiscard]] void* cupti_function(const char* name);

}  // namespace sluice::backend::cuda
