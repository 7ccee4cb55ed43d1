#ifndef SLUICE_POOL_H
#define SLUICE_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The interface of libsluice_pool.so, which offers Sluice's pool as C functions, so that other libraries can allocate
// from it. Each device has one pool, named "libsluice_pool", created on first use. Devices are CUDA ordinals; without
// CUDA, device 0 is a simulated one. Under `sluice record`, the recording contains every block.
//
// Any thread may call any function. Only the two sluice_torch_malloc functions throw. A call does not change the
// thread's CUDA context, except that a thread without a context gets device 0's. Streams are cudaStream_t; null is the
// default stream. Before you destroy one of your streams, call `sluice_forget_stream` for it, or ensure that the pool
// does not depend on work enqueued on it.

#ifdef __cplusplus
extern "C" {
#endif

/// Allocates `size` bytes on `device`, aligned to 512 bytes, usable in the order of `stream`. Returns null for 0 bytes,
/// if there is no memory, and for an unknown device; `sluice_last_error` gives the reason.
void* sluice_malloc(ssize_t size, int device, void* stream);
/// Frees `address` once the work enqueued on `stream` is done. `size` is ignored. Null is
/// allowed. An address that is not a block of the device's pool is refused and counted.
void sluice_free(void* address, ssize_t size, int device, void* stream);

/// Frees `count` blocks that work on any stream may still use. Waits once for the device, as cuMemFree does. During a
/// capture (which the wait would break), the blocks are queued. The first call after the capture frees them; the
/// `count` of that call may be 0. Returns 0, or 1 on failure. If the device could not be waited for, the blocks stay
/// queued for the next call.
int sluice_free_after_all(void* const* addresses, size_t count, int device);

// Capturing streams into CUDA graphs. Memory allocated on a stream during its capture belongs to the graph. If it is
// freed in the capture, it is reused only there. If it is freed later or never, the pool keeps it, because the graph
// may be launched again, and counts it in `kept_for_graphs`. Each allocation on a non-default stream asks the driver
// whether the stream is being captured (50 to 100 ns). Memory from before the capture must stay allocated as long as
// the graph may be launched. Capture only non-blocking streams (cudaStreamNonBlocking), as PyTorch does, because the
// pool sometimes queries the default stream, which breaks captures of blocking streams.

/// Call this when a graph and everything created from it is destroyed; `id` is its capture's id
/// (cudaStreamGetCaptureInfo). Its memory returns to the pool. Waits for the device. Returns 0, or 1 on failure.
int sluice_forget_capture(int device, uint64_t id);

/// Sets the stream that the two functions below use, for the calling thread and
/// `device`. A thread that never calls this allocates on the default stream.
void sluice_set_stream(int device, void* stream);
/// Like sluice_malloc and sluice_free, on the stream of sluice_set_stream, with CuPy's CFunctionAllocator signature;
/// `param` is unused. CuPy does not check for null, so its user must (sluice_pool.py does). A block is reused after the
/// work on the stream it was allocated on, and on the freeing thread's stream if that thread has set a different one.
void* sluice_malloc_current(void* param, size_t size, int device);
void sluice_free_current(void* param, void* address, int device);

/// Page-locked host memory from a separate pool. A block freed on `stream` is reused only when
/// the work enqueued there is done, because the host may write to a new block immediately.
void* sluice_malloc_host(size_t size, int device, void* stream);
void sluice_free_host(void* address, int device, void* stream);

/// Statistics of a pool, all from the same moment. In bytes, except the counts.
struct sluice_pool_figures {
  uint64_t used;       ///< size of allocated blocks
  uint64_t requested;  ///< bytes that the callers requested for those blocks
  uint64_t reserved;   ///< allocated from the driver
  uint64_t peak_used, peak_reserved;
  uint64_t largest_free;  ///< the largest single free block
  uint64_t limit;         ///< 0: no limit
  uint64_t used_blocks, free_blocks, segments;
  uint64_t refused_frees;
  uint64_t device_free, device_total;  ///< memory of the whole device; other processes' memory counts as used
  uint64_t kept_for_graphs;            ///< freed, but kept until captured graphs are destroyed
};

// These functions return 0, or 1 on failure; `sluice_last_error` gives the reason.

/// Call before the first allocation on `device`: sets a hard limit in bytes (0: no limit), and whether
/// cudaIpcGetMemHandle can export blocks. If the pool already exists, only the limit takes effect.
int sluice_pool_configure(int device, uint64_t limit_bytes, int ipc_capable);
int sluice_pool_stats(int device, struct sluice_pool_figures* out);
/// Returns free segments to the driver but keeps `keep_bytes` reserved. Waits for streams that use the segments.
int sluice_pool_trim(int device, uint64_t keep_bytes);
/// Call this before `stream` is destroyed. Waits until no work uses the blocks that were freed on the stream.
int sluice_forget_stream(int device, void* stream);

// The functions for PyTorch's CUDAPluggableAllocator. PyTorch announces captures and destroyed graphs, so
// sluice_torch_malloc and sluice_torch_free query the driver only during captures, and miss captures that PyTorch did
// not begin. The other functions are for set_begin_allocate_to_pool (`takes` is a const
// std::function<bool(cudaStream_t)>*), set_end_allocate_to_pool_fn, set_release_pool (a pool's id is two numbers),
// set_record_stream_fn, set_reset_fn, set_memory_fraction_fn.

/// Like `sluice_malloc`, but on failure throws std::runtime_error instead of returning null, which PyTorch does not
/// check. Python gets a RuntimeError; if memory ran out, it begins with "CUDA out of memory.". For C++ callers only.
void* sluice_torch_malloc(ssize_t size, int device, void* stream);
/// Like sluice_torch_malloc, for PyTorch versions that do not announce captures. Asks the driver. Free the block by
/// sluice_free.
void* sluice_torch_malloc_asking(ssize_t size, int device, void* stream);
void sluice_torch_free(void* address, ssize_t size, int device, void* stream);
/// Implements Tensor.record_stream: notes that work on `stream` also uses the block. When the block is freed, the
/// freeing stream waits for the work enqueued on `stream` by then (if both are captured, nodes captured later wait).
/// Ignores addresses that are not blocks of the pool.
void sluice_torch_record_stream(void* address, void* stream);
/// Implements torch.cuda.empty_cache: trims the pools of all devices.
void sluice_torch_empty_cache(void);
/// Implements torch.cuda.set_per_process_memory_fraction; 1 means no limit. If a limit is also configured, the lower
/// limit applies.
void sluice_torch_memory_fraction(double fraction, int device);
void sluice_torch_begin(int device, uint64_t pool, uint64_t more_of_pool, void* takes);
void sluice_torch_end(int device, uint64_t pool, uint64_t more_of_pool);
void sluice_torch_release(int device, uint64_t pool, uint64_t more_of_pool);

/// Error message of the calling thread's last call; empty if it succeeded. Valid until the thread's next call.
const char* sluice_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
