#pragma once

#include <string>

/// Controls the capture library (libsluice_capture.so) in this process. `sluice record` preloads it; when a program
/// records itself, this file loads and starts it.
namespace sluice::backend::cuda {

/// Environment variable with the path of the capture library. If the variable is set but empty, the library is not
/// used, and times are estimated from events.
inline constexpr const char* capture_library_variable = "SLUICE_CAPTURE_LIBRARY";

/// True if the capture library records the driver calls that this backend makes. Costs one atomic load.
[[nodiscard]] bool capture_records() noexcept;
/// True if the capture library records and was started by `start_capture`.
[[nodiscard]] bool capture_started_here() noexcept;

/// Starts the capture library with the writer at `socket_name`. The library is the file in `SLUICE_CAPTURE_LIBRARY`,
/// else the file next to the program, else the file that the loader finds. Returns false if there is no library or it
/// cannot use CUPTI. Only one thread at a time may call this.
bool start_capture(const std::string& socket_name);
/// Stops the library if `start_capture` started it.
void stop_capture();

/// Returns a function of the CUPTI library that the capture library loaded, or null. Use that function to get the
/// numbers of contexts and streams, because the capture library's records contain the same numbers.
[[nodiscard]] void* cupti_function(const char* name);

}  // namespace sluice::backend::cuda
