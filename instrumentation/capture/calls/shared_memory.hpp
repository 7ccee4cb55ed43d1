#pragma once

#include <cstdint>

#include "instrumentation/capture/calls/calls.hpp"

/// Memory shared between processes. Records for each shared handle a key that is the same in the owner and the
/// importer, so that the writer finds an imported block's owner. Handles made of bytes (cuIpcGetMemHandle, fabric
/// handles, pool pointers) are their own key. A file descriptor is not: its number differs in each process, and all
/// descriptors open one device file. But both processes share the open file, however it was passed. So that file gets
/// an advisory read lock (F_OFD_SETLK) on a few bytes at a huge offset, visible in /proc/self/fdinfo: the key. The lock
/// uses no memory, blocks no process, and ends when the last descriptor is closed.
/// All functions are called at the exit of a call, and do nothing if it failed.
namespace sluice::capture {

void exported_block(const call& c, CUdeviceptr address, const CUipcMemHandle* handle) noexcept;
/// Call after recording the allocation at `address`; likewise for the other `imported_` functions.
void imported_block(const call& c, CUdeviceptr address, const CUipcMemHandle& handle) noexcept;

/// `out` points to the call's result: a descriptor (an int) or a fabric handle.
void exported_physical(const call& c, std::uint64_t handle, const void* out, CUmemAllocationHandleType type) noexcept;
/// `given` is the number of a descriptor, or points to a fabric handle.
void imported_physical(const call& c, std::uint64_t handle, const void* given, CUmemAllocationHandleType type) noexcept;

void exported_pool(const call& c, std::uint64_t pool, const void* out, CUmemAllocationHandleType type) noexcept;
void imported_pool(const call& c, std::uint64_t pool, const void* given, CUmemAllocationHandleType type) noexcept;
void exported_from_pool(const call& c, CUdeviceptr address, const CUmemPoolPtrExportData* data) noexcept;
void imported_from_pool(const call& c, CUdeviceptr address, std::uint64_t pool,
                        const CUmemPoolPtrExportData* data) noexcept;

}  // namespace sluice::capture
