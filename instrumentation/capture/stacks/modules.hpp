#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "instrumentation/unwind/eh_frame.hpp"

/// Finds the ELF files that this process has loaded ("modules") and sends their records to the writer.
///
/// Lookups take no lock: they use the C library (`_dl_find_object`, from glibc 2.35 on) or a table kept by
/// `watch_modules`. A module's record is sent when its first frame is seen, before the stack that contains this frame.
/// So a reader that has the stack has the module.
namespace sluice::capture {

struct loaded_module {
  std::uint64_t begin = 0, end = 0;  ///< Mapped addresses, including holes.
  std::uint64_t bias = 0;            ///< Difference between mapped addresses and those in the file.
  const char* path = nullptr;        ///< Valid as long as the module is loaded.
  unwind::code_image image;
  std::uint8_t build_id[32] = {};
  std::uint64_t build_id_bytes = 0;
};

/// Call before the other functions, where loader calls and allocations are allowed. Further calls do nothing.
void start_modules() noexcept;

/// Finds the module that contains `pc`. The caller ensures that the module is not unloaded meanwhile, for example
/// because the calling thread has a frame in it. Takes no lock, allocates nothing, takes about 150 ns.
[[nodiscard]] bool find_module(std::uint64_t pc, loaded_module& found) noexcept;

/// Sends the module's record to the writer, unless that was done before. Returns false if it cannot be sent now.
bool introduce(const loaded_module& module) noexcept;

/// Asks the loader for changes. The recorder calls this regularly on a thread of its own. After an unload, all modules
/// are sent again, because another module may now be at the same address. Returns true if a module was unloaded.
bool watch_modules() noexcept;

/// Calls `visit` for each loaded file, as dl_iterate_phdr does, holding the loader's lock. Call it only on a recorder's
/// thread, after `start_modules`. If a fork is about to happen, returns false without calling `visit`.
bool for_each_library(int (*visit)(dl_phdr_info*, std::size_t, void*), void* context) noexcept;

/// For tests: false simulates a C library without `_dl_find_object`; true restores normal use.
void ask_c_library(bool yes) noexcept;

/// True if `address` is readable. Makes one system call, which takes about 100 ns. Preserves errno.
[[nodiscard]] bool is_readable(std::uint64_t address) noexcept;

}  // namespace sluice::capture
