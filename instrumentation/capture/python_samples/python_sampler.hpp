#pragma once

/// Samples the Python frames of all threads, from a thread of the recorder ("sluice-python"). From 3.11 on, Python
/// frames are not on the C stack, so a sample of the native stack does not show them.
///
/// The thread reads the interpreter's memory through the kernel (process_vm_readv on its own process), without the GIL,
/// and never writes to it. It blocks all signals. README.md describes what it reads, and what it costs.
namespace sluice::capture {

/// Starts the thread if `capture_options::sampling_hz` asks for it and `find_python` has found an interpreter. Does
/// nothing if it runs. Cheap, so call it until Python has been found. If the thread cannot work, sends a message, once.
void start_python_sampling() noexcept;

/// Stops or resumes sampling, while the thread stays.
void pause_python_sampling(bool pause) noexcept;

/// Ends the thread and waits for it, at most `milliseconds`. Sends a message if walks were dropped. Returns true if no
/// thread is left.
bool finish_python_sampling(int milliseconds) noexcept;

/// In a forked child, which does not have the thread.
void forget_python_sampling() noexcept;

}  // namespace sluice::capture
