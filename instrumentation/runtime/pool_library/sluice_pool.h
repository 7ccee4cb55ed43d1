#ifndef SLUICE_POOL_H
#define SLUICE_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// libsluice_pool.so: Sluice's pool as C functions, for other libraries to allocate with. One pool a device, made at first use and
// named "libsluice_pool"; a device is its CUDA ordinal; without CUDA device 0 is a simulated one. Under `sluice record` every
// block is in the recording.
//
// Every function may be called from any thread and throws nothing, but for the two named sluice_torch_malloc. Each leaves the calling
// thread's CUDA context as it was, but that a thread which has none keeps device 0's.
// Streams are cudaStream_t; null is the default stream. A stream of the caller's must not be destroyed before
// `sluice_forget_stream` has been called for it, or before the pool is done with what was freed on it.

#ifdef __cplusplus
extern "C" {
#endif

/// `size` bytes of memory of `device`, aligned to 512 bytes, usable in the order of `stream`. Null for 0 bytes, and when there is no
/// memory or no such device: `sluice_last_error` says which.
void* sluice_malloc(ssize_t size, int device, void* stream);
/// Gives `address` back once the work enqueued on `stream` is done. `size` is not needed. Null is ignored; what is no block of the
/// device's pool is refused and counted.
void sluice_free(void* address, ssize_t size, int device, void* stream);

/// Gives `count` blocks back that work on any stream may still use: waits for the device first, as cuMemFree does, once for all of them.
/// Beside a capture, which that would break, they wait for the first call after it; `count` may be 0. Returns 0, or 1 after a failure:
/// blocks that the device could not be waited for stay for the next call, too.
int sluice_free_after_all(void* const* addresses, size_t count, int device);

// Captures of streams into CUDA graphs. Memory that is allocated on a stream while it is captured is the graph's: freed in the
// capture, it is reused there alone; freed later, or left over, it is kept, since the graph may be launched again, and counted as
// `kept_for_graphs`. Each allocation on a stream other than the default one asks the driver whether the stream is being captured,
// 50 to 100 ns. Memory from before the capture must be kept allocated as long as the graph may be launched. Streams of which captures
// begin should be non-blocking (cudaStreamNonBlocking), as PyTorch's are: the pool asks about the default stream at times, and
// that breaks captures of blocking ones.

/// The graph of that capture (its id is what cudaStreamGetCaptureInfo said) and all that was made of it are gone: what was kept for it
/// is the pool's again. Waits for the device. Returns 0, or 1 after a failure.
int sluice_forget_capture(int device, uint64_t id);

/// The stream that the functions below are in the order of, for the calling thread and `device`. A thread that never chose one
/// allocates on the default stream.
void sluice_set_stream(int device, void* stream);
/// The same as above on that stream, in the form of CuPy's CFunctionAllocator; `param` is not used. CuPy takes null for memory: whoever
/// hands these to it must look, as sluice_pool.py does. A block comes back once the work
/// is done of the stream that it was allocated on, and of the freeing thread's, should that one have chosen another.
void* sluice_malloc_current(void* param, size_t size, int device);
void sluice_free_current(void* param, void* address, int device);

/// Page-locked host memory from a pool of its own. A block that is freed on `stream` is not handed out again before the work
/// enqueued there is done, so that the host may write at once to what it gets.
void* sluice_malloc_host(size_t size, int device, void* stream);
void sluice_free_host(void* address, int device, void* stream);

/// All in bytes but the counts, and all of one moment.
struct sluice_pool_figures {
  uint64_t used;       ///< in allocated blocks
  uint64_t requested;  ///< what their callers asked for
  uint64_t reserved;   ///< taken from the driver
  uint64_t peak_used, peak_reserved;
  uint64_t largest_free;  ///< the largest single free block
  uint64_t limit;         ///< 0: none
  uint64_t used_blocks, free_blocks, segments;
  uint64_t refused_frees;
  uint64_t device_free, device_total;  ///< of the whole device, whoever uses it
  uint64_t kept_for_graphs;            ///< freed, and waiting for captured graphs to go
};

// These return 0, or 1 after a failure: `sluice_last_error` says what.

/// Chooses before the first allocation on `device`: a hard limit in bytes (0: none), and whether blocks can be exported by
/// cudaIpcGetMemHandle. A pool that is there already keeps its kind and takes the limit.
int sluice_pool_configure(int device, uint64_t limit_bytes, int ipc_capable);
int sluice_pool_stats(int device, struct sluice_pool_figures* out);
/// Returns free segments to the driver while at least `keep_bytes` stay reserved; waits for streams that use them.
int sluice_pool_trim(int device, uint64_t keep_bytes);
/// `stream` is about to be destroyed: waits for what was freed on it.
int sluice_forget_stream(int device, void* stream);

// For PyTorch's CUDAPluggableAllocator: it says when it captures, and when its graphs go, so that the first two ask the driver nothing
// outside of captures. Captures that PyTorch did not begin go unseen there. The others are for its set_begin_allocate_to_pool (`takes` is
// a const std::function<bool(cudaStream_t)>*), set_end_allocate_to_pool_fn, set_release_pool (a pool's id is two numbers),
// set_record_stream_fn, set_reset_fn and set_memory_fraction_fn.

/// As `sluice_malloc`, but throws std::runtime_error where that says null after a failure, since PyTorch takes null for memory: a
/// RuntimeError in Python, which begins with "CUDA out of memory." if that is what it is. For C++ callers only.
void* sluice_torch_malloc(ssize_t size, int device, void* stream);
/// The same for a PyTorch that does not say when it captures: asks the driver as `sluice_malloc` does. Its `sluice_free` goes with it.
void* sluice_torch_malloc_asking(ssize_t size, int device, void* stream);
void sluice_torch_free(void* address, ssize_t size, int device, void* stream);
/// What Tensor.record_stream promises: work on `stream` uses the block, too. When it is freed, the stream that it comes back on waits, on
/// the device, for what is enqueued on `stream` then; in a capture of both, so do its later nodes. Memory of others' is ignored.
void sluice_torch_record_stream(void* address, void* stream);
/// torch.cuda.empty_cache: trims the pool of every device.
void sluice_torch_empty_cache(void);
/// torch.cuda.set_per_process_memory_fraction: a limit beside that of `sluice_pool_configure`; the lower one holds. 1: none.
void sluice_torch_memory_fraction(double fraction, int device);
void sluice_torch_begin(int device, uint64_t pool, uint64_t more_of_pool, void* takes);
void sluice_torch_end(int device, uint64_t pool, uint64_t more_of_pool);
void sluice_torch_release(int device, uint64_t pool, uint64_t more_of_pool);

/// One line about the calling thread's last call, if that failed; empty if it did not. Valid until its next call.
const char* sluice_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
