#!/usr/bin/env python3
"""Makes CuPy allocate from Sluice's pool instead of its own pool.

    PYTHONPATH=build/release/python build/release/sluice record -o cupy.sluice -- python3 instrumentation/runtime/examples/pool_cupy.py
"""
import cupy
import sluice_pool

allocator = sluice_pool.use_in_cupy()
total = 0
for size in (1 << 10, 1 << 16, 1 << 20, 3 << 20):
    a = cupy.arange(size, dtype=cupy.int64)
    b = a * 2 + 1  # the intermediate array is freed immediately
    total += int(b.sum())
    assert int(b.sum()) == size * size, size
stream = cupy.cuda.Stream(non_blocking=True)
with stream:
    sluice_pool.set_stream(stream.ptr)
    c = cupy.ones((1 << 20,), dtype=cupy.float32)
    assert float(c.sum()) == 1 << 20
    del c
    sluice_pool.set_stream(0)
stream.synchronize()
sluice_pool.library.sluice_forget_stream(0, stream.ptr)
figures = sluice_pool.stats()
assert figures.used > 0 and figures.refused_frees == 0, figures
assert cupy.get_default_memory_pool().total_bytes() == 0, "CuPy's own pool is not empty"
del a, b
assert sluice_pool.stats().used == 0, sluice_pool.stats()
print(f"cupy: the sums add up to {total}; {figures}")
