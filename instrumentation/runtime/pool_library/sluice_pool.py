"""Makes PyTorch, CuPy and Numba allocate from Sluice's pool.

    import sluice_pool
    sluice_pool.use_in_torch()     # before PyTorch has allocated anything
    sluice_pool.use_in_cupy()
    sluice_pool.use_in_numba()     # before Numba has created its context

This module needs libsluice_pool.so. The library is beside this file's folder, beside the program, or named by
SLUICE_POOL_LIBRARY. sluice_pool.h describes its functions. Under `sluice record`, the recording contains every block,
with its pool and its stream.
"""
import collections
import ctypes
import os

_HERE = os.path.dirname(os.path.abspath(__file__))
# Where to look for the library: in this file's folder, in the parent folder, and where pip installs it.
_FOLDERS = [_HERE, os.path.dirname(_HERE), os.path.join(_HERE, "sluice", "lib", "sluice")]

_NAME = "libsluice_pool.so"


class Figures(ctypes.Structure):
    """The state of a device's pool at one moment. All numbers are bytes, except the counts of blocks, segments and
    refused frees."""
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "used", "requested", "reserved", "peak_used", "peak_reserved", "largest_free", "limit", "used_blocks", "free_blocks", "segments",
        "refused_frees", "device_free", "device_total", "kept_for_graphs")]

    def __repr__(self):
        return "Figures(" + ", ".join(f"{name}={getattr(self, name)}" for name, _ in self._fields_) + ")"


def _find():
    named = os.environ.get("SLUICE_POOL_LIBRARY")
    for path in [named] if named else [os.path.join(folder, _NAME) for folder in _FOLDERS]:
        if os.path.exists(path):
            return path
    raise ImportError(f"{_NAME} is in none of {_FOLDERS}; name it in SLUICE_POOL_LIBRARY")


def _load():
    library = ctypes.CDLL(path)
    pointer, i32, size, u64 = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_uint64
    for name, result, arguments in [
            ("sluice_malloc", pointer, [ctypes.c_ssize_t, i32, pointer]),
            ("sluice_free", None, [pointer, ctypes.c_ssize_t, i32, pointer]),
            ("sluice_free_after_all", i32, [ctypes.POINTER(pointer), size, i32]),
            ("sluice_set_stream", None, [i32, pointer]),
            ("sluice_malloc_host", pointer, [size, i32, pointer]),
            ("sluice_free_host", None, [pointer, i32, pointer]),
            ("sluice_pool_configure", i32, [i32, u64, i32]),
            ("sluice_pool_stats", i32, [i32, ctypes.POINTER(Figures)]),
            ("sluice_pool_trim", i32, [i32, u64]),
            ("sluice_forget_stream", i32, [i32, pointer]),
            ("sluice_forget_capture", i32, [i32, u64]),
            ("sluice_last_error", ctypes.c_char_p, [])]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


path = _find()
library = _load()


def _check(failed):
    if failed:
        raise RuntimeError(library.sluice_last_error().decode())


def configure(device=0, limit_bytes=0, ipc_capable=False):
    """Sets a hard limit, and whether other processes may import blocks. Call it before the first allocation on the
    device."""
    _check(library.sluice_pool_configure(device, limit_bytes, int(ipc_capable)))


def stats(device=0):
    """Returns the pool's Figures."""
    figures = Figures()
    _check(library.sluice_pool_stats(device, ctypes.byref(figures)))
    return figures


def trim(device=0, keep_bytes=0):
    """Returns free memory to the driver, but keeps at least keep_bytes reserved."""
    _check(library.sluice_pool_trim(device, keep_bytes))


def set_stream(stream, device=0):
    """Sets the stream (by its number) for the calling thread's allocations in CuPy; initially it is the default stream.
    A freed block is reused after the work on the stream on which it was allocated, and on the stream that the freeing
    thread has set."""
    library.sluice_set_stream(device, stream)


def use_in_torch():
    """Makes the pool PyTorch's allocator. PyTorch refuses once it has allocated.

    PyTorch 2.3 and later report which of PyTorch's pools a captured graph allocates from, and when the graph is
    destroyed. The graph's memory then returns to the pool. Older versions do not report this. With them, the pool asks
    the driver at each allocation on a side stream, and keeps the memory of graphs.

    Tensor.record_stream, empty_cache and set_per_process_memory_fraction work as documented (PyTorch 2.1 and later).

    If memory runs out, a RuntimeError that begins with "CUDA out of memory." is raised. PyTorch raises its
    OutOfMemoryError only for its own allocator."""
    import torch
    announcing = {"set_begin_allocate_to_pool": "sluice_torch_begin", "set_end_allocate_to_pool_fn": "sluice_torch_end",
                  "set_release_pool": "sluice_torch_release"}
    others = {"set_record_stream_fn": "sluice_torch_record_stream", "set_reset_fn": "sluice_torch_empty_cache",
              "set_memory_fraction_fn": "sluice_torch_memory_fraction"}
    allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "sluice_torch_malloc", "sluice_torch_free")
    if all(hasattr(allocator._allocator, setter) for setter in announcing):
        others.update(announcing)
    else:
        allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "sluice_torch_malloc_asking", "sluice_free")
    for setter, name in others.items():
        if hasattr(allocator._allocator, setter):
            getattr(allocator._allocator, setter)(_address(getattr(library, name)))
    torch.cuda.memory.change_current_allocator(allocator)


def forget_capture(capture, device=0):
    """Call this when the graph of a capture (by the driver's id), and everything created from it, is destroyed. The
    graph's memory returns to the pool."""
    _check(library.sluice_forget_capture(device, capture))


def _address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def use_in_cupy():
    """Makes the pool CuPy's allocator, instead of CuPy's own pool. Returns CuPy's object for the allocator. If memory
    runs out, CuPy's OutOfMemoryError is raised, and its cause describes the state of the pool."""
    import cupy
    memory = cupy.cuda.memory
    allocator = memory.CFunctionAllocator(0, _address(library.sluice_malloc_current), _address(library.sluice_free_current), library)

    def malloc(size):
        block = allocator.malloc(size)
        if block.ptr == 0 and size != 0:  # CuPy does not check for null
            why = library.sluice_last_error().decode()
            if "out of memory" not in why:
                raise RuntimeError(why)
            held = stats(cupy.cuda.runtime.getDevice())
            raise memory.OutOfMemoryError(size, held.used, held.limit) from MemoryError(why)
        return block
    cupy.cuda.set_allocator(malloc)
    return allocator


class _LetGo:
    """The blocks of a device that Numba has freed. Numba does not tell which streams still use them, so they return to
    the pool after a wait for the device. As in Numba's own manager, several blocks share one wait, because a wait is
    expensive."""

    def __init__(self, device, most_blocks, most_bytes):
        self.device, self.most_blocks, self.most_bytes = device, most_blocks, most_bytes
        self.blocks = collections.deque()  # finalizers may run on any thread, and during one another
        self.deferred = 0

    def add(self, address, size):
        self.blocks.append((address, size))
        if not self.deferred and (len(self.blocks) >= self.most_blocks or sum(size for _, size in list(self.blocks)) >= self.most_bytes):
            self.give_back()

    def give_back(self):
        batch = []
        while self.blocks:
            try:
                batch.append(self.blocks.popleft()[0])
            except IndexError:  # another thread has taken it
                break
        _check(library.sluice_free_after_all((ctypes.c_void_p * len(batch))(*batch), len(batch), self.device))


def numba_manager():
    """Returns a class of External Memory Managers for Numba. Device memory comes from the pool, host memory from
    Numba's own manager.

    Blocks that Numba frees return to the pool after a wait for the whole device. As in Numba's own manager,
    NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT and _RATIO determine when that happens; it also happens when memory runs out.
    New memory is usable in the default stream's order."""
    import contextlib
    import inspect

    from numba import config, cuda

    class SluiceMemoryManager(cuda.HostOnlyCUDAMemoryManager):
        _let_go = None

        def memalloc(self, size):
            device = cuda.get_current_device().id
            if self._let_go is None:
                share = getattr(config, "CUDA_DEALLOCS_RATIO", 0.2)
                self._let_go = _LetGo(device, getattr(config, "CUDA_DEALLOCS_COUNT", 10), share * stats(device).device_total)
            address = library.sluice_malloc(size, device, None)
            if not address and self._let_go.blocks:
                self._let_go.give_back()
                address = library.sluice_malloc(size, device, None)
            if not address:
                raise MemoryError(library.sluice_last_error().decode())
            let_go = self._let_go

            def free():
                let_go.add(address, size)
            # Older versions of Numba also need the context.
            first = [self.context] if "context" in inspect.signature(cuda.MemoryPointer).parameters else []
            return cuda.MemoryPointer(*first, _numba_pointer(address), size, finalizer=free)

        def get_memory_info(self):
            figures = stats(cuda.get_current_device().id)
            return cuda.MemoryInfo(free=figures.device_free, total=figures.device_total)

        def get_ipc_handle(self, memory):
            raise NotImplementedError("Sluice's pool cannot share memory with other processes through Numba")

        def initialize(self):
            super().initialize()

        def reset(self):
            super().reset()
            if self._let_go is not None:
                self._let_go.give_back()
            trim(cuda.get_current_device().id)

        @contextlib.contextmanager
        def defer_cleanup(self):
            let_go = self._let_go
            if let_go is not None:
                let_go.deferred += 1
            try:
                with super().defer_cleanup():
                    yield
            finally:
                if let_go is not None:
                    let_go.deferred -= 1

        @property
        def interface_version(self):
            return 1

    return SluiceMemoryManager


def _numba_pointer(address):
    try:
        from numba.cuda.cudadrv import driver
        if getattr(driver, "USE_NV_BINDING", True):
            try:
                from cuda.bindings.driver import CUdeviceptr
            except ImportError:
                from cuda.cuda import CUdeviceptr
            return CUdeviceptr(address)
    except ImportError:
        pass
    return ctypes.c_uint64(address)


def use_in_numba():
    """Makes the pool Numba's memory manager. Call it before Numba has created a context."""
    from numba import cuda
    cuda.set_memory_manager(numba_manager())
