#pragma once

/// Entry points for a program that records itself: the capture library then records device times and the driver layer
/// by CUPTI. The runtime's `recording` finds them with dlsym. Plain C, because they cross a library boundary.
extern "C" {

/// Records this process with the writer at `socket_name` (like SLUICE_SOCKET). Contexts and streams may exist already;
/// memory allocated before is unknown. `cupti_paths`: libcupti files to try, separated by ':'; null means the loader's
/// search. Returns 1, or 0 if CUPTI cannot be used (the recording has a message with the reason) or a recording is
/// active. Not thread-safe against itself or `sluice_capture_stop`.
__attribute__((visibility("default"))) int sluice_capture_start(const char* socket_name, const char* cupti_paths);

/// Collects finished device work (at most 3 s) and releases CUPTI. Does nothing if nothing was started. The library can
/// be started again, but must not be unloaded.
__attribute__((visibility("default"))) void sluice_capture_stop(void);
}
