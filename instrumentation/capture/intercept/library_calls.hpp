#pragma once

/// Interposes functions of CUDA's libraries that keep a thread busy for a long time, and which a program may call from
/// native code of any depth: NVRTC's compiler, which CuPy, PyTorch and cuDNN use. Such a call becomes a range of its
/// thread, and the writer gets the call's stack: samples of the thread need no stack of their own to be named.
///
/// A program finds our function in one of two ways. If it is linked with the library, the loader finds ours first. If
/// it asks `dlsym`, our `dlsym` calls `wrap`. The functions here take no lock and allocate nothing.
namespace sluice::capture::library_calls {

/// True if `name` is a function that is interposed. Some ns.
[[nodiscard]] bool has(const char* name) noexcept;

/// A function that calls `theirs`, one of a library's functions for which `has` is true, and records the call. Returns
/// `theirs` if it is null or if too many versions of the library are loaded.
[[nodiscard]] void* wrap(void* theirs) noexcept;

}  // namespace sluice::capture::library_calls
