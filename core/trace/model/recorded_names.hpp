#pragma once

/// Names that the recorder writes into recordings and that the analysis looks for. They are part of the file format,
/// not text for people: existing recordings contain them, so they never change.
/// instrumentation/capture/python/sitecustomize.py repeats the names of Python's ranges; a test compares the two lists.
namespace sluice::trace::recorded_names {

// Ranges of the Python interpreter and its libraries (sitecustomize.py).
inline constexpr char garbage_collection[] = "garbage collection";
inline constexpr char next_batch[] = "next batch of the DataLoader";
inline constexpr char compilation[] = "torch.compile";

// Ranges of waits in the C library (instrumentation/capture/intercept/waits.cpp).
inline constexpr char lock_wait[] = "waiting for a lock";
inline constexpr char thread_wait[] = "waiting for another thread";
inline constexpr char gil_wait[] = "waiting for Python's GIL";

// Ranges of long calls of libraries (instrumentation/capture/intercept/library_calls.cpp).
inline constexpr char nvrtc_compile[] = "nvrtcCompileProgram";

}  // namespace sluice::trace::recorded_names
