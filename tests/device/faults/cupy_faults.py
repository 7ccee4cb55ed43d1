#!/usr/bin/env python3
"""Small CuPy programs. Usage: cupy_faults.py NAME faulty|fixed [--passes N]"""

import cupy as cp
import numpy as np

import measure
from measure import program

MIB = 1 << 20


def floats(mib):
    """The number of 4-byte floats in this many MiB."""
    return mib * MIB // 4


# cupy/cupy issue 7038, "how to reduce cupy memory usage?"
@program
def cupy_named_temporaries(timer, faulty):
    height = cp.arange(floats(128), dtype=cp.float32)
    with timer:
        for _ in range(10):
            slope = cp.sqrt(height + 1)  # fault cupy_named_temporaries
            shade = cp.sin(slope)  # fault cupy_named_temporaries
            if not faulty:
                del slope
            light = cp.exp(-shade)  # fault cupy_named_temporaries
            if not faulty:
                del shade
            mixed = light * 0.5 + 0.25
            if not faulty:
                del light
            height = cp.clip(mixed, 0, 1) * 100
            if not faulty:
                del mixed
    print("mean", float(height.mean()))


# cupy/cupy issues 6616, "Memory is full and cannot be released by delete vars or free blocks()", and 7678
@program
def cupy_pool_after_setup(timer, faulty):
    points = cp.linspace(0, 1, 10000, dtype=cp.float32)
    pieces = 1 if faulty else 24
    nearest = cp.concatenate([
        cp.abs(rows[:, None] - points[None, :]).max(axis=1)  # fault cupy_pool_after_setup
        for rows in cp.array_split(points, pieces)
    ])
    x = cp.ones((1024, 1024), dtype=cp.float32)
    with timer:
        for _ in range(60):
            x = (x @ x) * (1 / 1024)
    print("nearest", float(nearest.max()), float(x[0, 0]))


# CuPy user guide, "Basics of CuPy": arrays that stay the same are moved to the device once
@program
def cupy_filter_each_frame(timer, faulty):
    kernel = np.exp(-np.linspace(-2, 2, floats(48), dtype=np.float32) ** 2)
    frame = cp.ones(floats(48), dtype=cp.float32)
    if not faulty:
        kernel = cp.asarray(kernel)
    with timer:
        for _ in range(16):
            window = cp.asarray(kernel)  # fault cupy_filter_each_frame
            for _ in range(6):
                frame = frame * window + 0.01
    print("mean", float(frame.mean()))


# xarray-contrib/xarray-spatial issue 1457, "Batch the four CuPy .get() calls per chunk"
@program
def cupy_norm_each_iteration(timer, faulty):
    n = 1536
    a = cp.full((n, n), 1e-4, dtype=cp.float32) + cp.eye(n, dtype=cp.float32)
    b = cp.ones(n, dtype=cp.float32)
    x = cp.zeros(n, dtype=cp.float32)
    with timer:
        for step in range(160):
            residual = b - a @ x
            x = x + 0.5 * residual
            if faulty:
                low = float(cp.abs(residual).min())  # fault cupy_norm_each_iteration
                high = float(cp.abs(residual).max())  # fault cupy_norm_each_iteration
                if high - low < 0:
                    break
        high = float(cp.abs(residual).max())
    print("residual", high)


# CuPy user guide, "Memory Management": the pool can be disabled with cupy.cuda.set_allocator(None)
@program
def cupy_without_pool(timer, faulty):
    cp.cuda.set_allocator(None if faulty else cp.get_default_memory_pool().malloc)
    field = cp.ones(floats(96), dtype=cp.float32)
    with timer:
        for _ in range(24):
            grown = field * 1.01  # fault cupy_without_pool
            moved = grown + 0.5  # fault cupy_without_pool
            field = cp.sqrt(moved)  # fault cupy_without_pool
    print("mean", float(field.mean()))
    cp.cuda.set_allocator(cp.get_default_memory_pool().malloc)


# openvdb/fvdb-core pull request 212 (zeros that are then overwritten), as NumPy code is ported
@program
def cupy_zeros_then_fill(timer, faulty):
    a = cp.ones(floats(192), dtype=cp.float32)
    with timer:
        for _ in range(40):
            if faulty:
                out = cp.zeros(a.shape, dtype=cp.float32)  # fault cupy_zeros_then_fill
            else:
                out = cp.empty(a.shape, dtype=cp.float32)
            cp.multiply(a, 2, out=out)
            del out


# CuPy user guide, "Performance Best Practices": a function that returns NumPy arrays, called between two that do not
@program
def cupy_through_numpy(timer, faulty):
    signal = cp.ones(floats(64), dtype=cp.float32)
    with timer:
        for _ in range(10):
            level = cp.sqrt(signal + 1)
            if faulty:
                level = cp.asnumpy(level)  # fault cupy_through_numpy
                level = cp.asarray(level)  # fault cupy_through_numpy
            signal = level * 0.5
    print("mean", float(signal.mean()))


# cupy/cupy issue 1392, "Prematurely out of memory" (arrays that grow a little each time)
@program
def cupy_growing_arrays(timer, faulty):
    most = floats(36)
    store = None if faulty else cp.empty((2, most), dtype=cp.float32)
    total = cp.zeros((), dtype=cp.float64)
    with timer:
        for step in range(24):
            n = floats(12 + step)
            if faulty:
                x = cp.full(n, 0.5, dtype=cp.float32)  # fault cupy_growing_arrays
                y = cp.sqrt(x)  # fault cupy_growing_arrays
            else:
                x, y = store[0, :n], store[1, :n]
                x.fill(0.5)
                cp.sqrt(x, out=y)
            total += y.sum()
            del x, y
    print("total", float(total))


# cupy/cupy issue 7166, "Temporal memory leak", and lists of results in simulations
@program
def cupy_snapshots_on_device(timer, faulty):
    grid = cp.ones((2048, 4096), dtype=cp.float32)
    snapshots = []
    with timer:
        for _ in range(24):
            for _ in range(4):
                grid = (cp.roll(grid, 1, 0) + cp.roll(grid, 1, 1)) * 0.5
            if faulty:
                snapshots.append(grid.copy())  # fault cupy_snapshots_on_device
            else:
                snapshots.append(grid[::64, ::64].copy())
    print("snapshots", len(snapshots))


# --- without a planted fault -------------------------------------------------------------------------------------------


@program
def cupy_clean_expression(timer):
    advance = cp.ElementwiseKernel(
        "float32 x, float32 v, float32 dt", "float32 nx, float32 nv", "nv = v - x * dt; nx = x + nv * dt;", "advance"
    )
    x = cp.ones(floats(128), dtype=cp.float32)
    v = cp.zeros(floats(128), dtype=cp.float32)
    with timer:
        for _ in range(200):
            advance(x, v, np.float32(0.01), x, v)
    print("energy", float((x[:1024] ** 2 + v[:1024] ** 2).mean()))


@program
def cupy_clean_pinned_pipeline(timer):
    n = floats(32)
    sources = []
    for i in range(3):
        memory = cp.cuda.alloc_pinned_memory(n * 4)
        sources.append(np.frombuffer(memory, dtype=np.float32, count=n))
        sources[-1][:] = i
    streams = [cp.cuda.Stream(non_blocking=True) for _ in range(3)]
    places = [cp.empty(n, dtype=cp.float32) for _ in range(3)]
    work = cp.ElementwiseKernel("float32 x", "float32 y", "y = x; for (int k = 0; k < 3000; ++k) y = y * 0.999f + 0.001f;", "work")
    cp.cuda.Device().synchronize()
    with timer:
        for step in range(24):
            i = step % 3
            with streams[i]:
                places[i].set(sources[i], stream=streams[i])
                work(places[i], places[i])
        for stream in streams:
            stream.synchronize()
    print("value", float(places[0][0]))


if __name__ == "__main__":
    raise SystemExit(measure.main("cupy"))
