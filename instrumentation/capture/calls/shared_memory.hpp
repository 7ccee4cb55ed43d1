#pragma once

#include <cstdint>

#include "instrumentation/capture/calls/calls.hpp"

/// Memory that processes have in common: what a handle holds that its owner and whoever opens it both see, so that the writer can say
/// whose an imported block is. A handle that is bytes (cuIpcGetMemHandle, fabric handles, pointers out of pools) is its own mark. A
/// descriptor is not: its number differs, and all of them are opens of one device file. Its open file is the same on both sides,
/// however it was passed on, and gets a mark that goes with it: an advisory read lock (F_OFD_SETLK) on a few bytes far beyond
/// anything, which /proc/self/fdinfo shows. It holds no memory, stands in nobody's way, and goes when the last descriptor is closed.
///
/// All are called at the exit of a call, and do nothing if it failed.
namespace sluice::capture {

void exported_block(const call& c, CUdeviceptr address, const CUipcMemHandle* handle) noexcept;
/// After the record of the allocation at `address`; so the other imports.
void imported_block(const call& c, CUdeviceptr address, const CUipcMemHandle& handle) noexcept;

/// `out`: where the call has put a descriptor (an int) or a fabric handle.
void exported_physical(const call& c, std::uint64_t handle, const void* out, CUmemAllocationHandleType type) noexcept;
/// `given`: a descriptor's number, or where a fabric handle lies.
void imported_physical(const call& c, std::uint64_t handle, const void* given, CUmemAllocationHandleType type) noexcept;

void exported_pool(const call& c, std::uint64_t pool, const void* out, CUmemAllocationHandleType type) noexcept;
void imported_pool(const call& c, std::uint64_t pool, const void* given, CUmemAllocationHandleType type) noexcept;
void exported_from_pool(const call& c, CUdeviceptr address, const CUmemPoolPtrExportData* data) noexcept;
void imported_from_pool(const call& c, CUdeviceptr address, std::uint64_t pool,
                        const CUmemPoolPtrExportData* data) noexcept;

}  // namespace sluice::capture
