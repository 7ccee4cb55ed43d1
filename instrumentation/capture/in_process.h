#pragma once

/// How a program that records itself has the capture library record it too: device times and the driver layer then come from CUPTI.
/// The runtime's `recording` calls these, through dlsym; the library is not linked. Plain C, for it crosses a library's edge.
extern "C" {

/// Records this process into the writer at `socket_name` (as SLUICE_SOCKET would say). Contexts and streams may exist already;
/// memory allocated before is not known. `cupti_paths`: libcupti files to try, separated by ':'; null: the loader's own search.
/// Returns 1, or 0 when CUPTI cannot be used (a message in the recording says why) or something records already. Not while
/// another thread is in this or in `sluice_capture_stop`.
__attribute__((visibility("default"))) int sluice_capture_start(const char* socket_name, const char* cupti_paths);

/// Fetches what the device has finished (at most 3 s), and lets go of CUPTI. Nothing if nothing was started. The library can be
/// started again; it must not be unloaded.
__attribute__((visibility("default"))) void sluice_capture_stop(void);
}
