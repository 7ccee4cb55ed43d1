#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/stacks/eh_frame.hpp"

/// The files of code that this process has loaded, and telling the writer of them.
///
/// Looking one up takes no lock: the C library answers (`_dl_find_object`, from glibc 2.35 on), or a table that
/// `watch_modules` keeps. Telling: a module's record goes out when the first frame in it is seen, before the stack that the
/// frame is part of, so whoever has the stack can have the module.
namespace sluice::capture {

struct loaded_module {
  std::uint64_t begin = 0, end = 0;  ///< Mapped addresses, with holes.
  std::uint64_t bias = 0;            ///< What was added to the file's addresses.
  const char* path = nullptr;        ///< As long as it is loaded.
  code_image image;
  std::uint8_t build_id[32] = {};
  std::uint64_t build_id_bytes = 0;
};

/// Once, before the others; where the loader may be asked and memory be had. Idempotent.
void start_modules() noexcept;

/// The module that holds `pc`, which must not be unloaded meanwhile (a frame of the calling thread lies in it). Lock-free, no
/// allocation; about 150 ns.
[[nodiscard]] bool find_module(std::uint64_t pc, loaded_module& found) noexcept;

/// Tells the writer of it unless that was done. False: it could not be told now.
bool introduce(const loaded_module& module) noexcept;

/// Asks the loader what has changed; on a thread of ours, every so often. Modules are told anew once one was unloaded, for
/// another may lie there now. True: one was.
bool watch_modules() noexcept;

/// Calls `visit` for each file of code, as dl_iterate_phdr does, with the loader's lock held; on a thread of ours, after `start_modules`.
/// False: a fork is about to be made, and the loader was not asked.
bool for_each_library(int (*visit)(dl_phdr_info*, std::size_t, void*), void* context) noexcept;

/// For tests: false, as where the C library does not answer; true, as it is.
void ask_c_library(bool yes) noexcept;

/// `address` can be read: a system call of some 100 ns. Leaves errno alone.
[[nodiscard]] bool is_readable(std::uint64_t address) noexcept;

}  // namespace sluice::capture
