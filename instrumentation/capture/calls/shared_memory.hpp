#pragma once

#include <cstdint>

#include "instrumentation/capture/process/calls.hpp"

/// Records memory that processes share. For each shared handle, records a key that is the same in the owner and the
/// importer, so that the writer finds an imported block's owner. For handles made of bytes (cuIpcGetMemHandle, fabric
/// handles, pool pointers), the key is a hash of the bytes. A file descriptor needs another key: its number differs in
/// each process, and all descriptors open the same device file. But both processes share the open file description, no
/// matter how the descriptor was passed. So that description gets an advisory read lock (F_OFD_SETLK) on a few bytes at
/// a huge offset. The offset is the key, and /proc/self/fdinfo shows it. The lock uses no memory, blocks no process,
/// and ends when the last descriptor is closed. Call all functions at the exit of a driver call; they do nothing if
/// that call failed.
namespace sluice::capture {

void exported_block(const call& c, CUdeviceptr address, const CUipcMemHandle* handle) noexcept;
/// Call this and the other `imported_` functions after recording the allocation.
void imported_block(const call& c, CUdeviceptr address, const CUipcMemHandle& handle) noexcept;

/// `out` points to the call's result: a descriptor (an int) or a fabric handle.
void exported_physical(const call& c, std::uint64_t handle, const void* out, CUmemAllocationHandleType type) noexcept;
/// `given` is the number of a file descriptor (cast to a pointer), or points to a fabric handle.
void imported_physical(const call& c, std::uint64_t handle, const void* given, CUmemAllocationHandleType type) noexcept;

void exported_pool(const call& c, std::uint64_t pool, const void* out, CUmemAllocationHandleType type) noexcept;
void imported_pool(const call& c, std::uint64_t pool, const void* given, CUmemAllocationHandleType type) noexcept;
void exported_from_pool(const call& c, CUdeviceptr address, const CUmemPoolPtrExportData* data) noexcept;
void imported_from_pool(const call& c, CUdeviceptr address, std::uint64_t pool,
                        const CUmemPoolPtrExportData* data) noexcept;

}  // namespace sluice::capture
