#!/usr/bin/env python3
"""Makes Numba allocate from Sluice's pool, through an External Memory Manager.

    PYTHONPATH=build/release/python build/release/sluice record -o numba.sluice -- python3 instrumentation/runtime/examples/pool_numba.py
"""
import sluice_pool

sluice_pool.use_in_numba()

import numpy  # noqa: E402: the manager is chosen before Numba creates its context

if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack  # NumPy 2.4 has removed a name that some versions of Numba still use.
from numba import cuda  # noqa: E402


@cuda.jit
def triple(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] *= 3


numbers = numpy.arange(1 << 20, dtype=numpy.float32)
for _ in range(5):
    there = cuda.to_device(numbers)
    triple[4096, 256](there)
    assert (there.copy_to_host() == numbers * 3).all()
figures = sluice_pool.stats()
assert figures.used >= numbers.nbytes and figures.refused_frees == 0, figures
info = cuda.current_context().get_memory_info()
assert 0 < info.free <= info.total
print(f"numba: {figures}")
