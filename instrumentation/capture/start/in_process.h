#pragma once

/// Entry points of the capture library for a program that records itself. The capture library then records device times
/// and the driver layer with CUPTI. The runtime's `recording` finds these functions with dlsym. They are plain C,
/// because they cross a library boundary.
extern "C" {

/// Records this process with the writer at `socket_name` (in the format of SLUICE_SOCKET). Contexts and streams may
/// exist already; memory allocated before this call is unknown. `cupti_paths`: libcupti files to try, separated by ':';
/// null means the loader's search. Returns 1, or 0 if CUPTI cannot be used (the recording contains a message with the
/// reason) or a recording is already active. Do not call it concurrently with itself or with `sluice_capture_stop`.
__attribute__((visibility("default"))) int sluice_capture_start(const char* socket_name, const char* cupti_paths);

/// Collects finished device work (at most 3 s) and releases CUPTI. Does nothing if nothing was started. The library can
/// be started again, but must not be unloaded.
__attribute__((visibility("default"))) void sluice_capture_stop(void);
}
