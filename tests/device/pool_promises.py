#!/usr/bin/env python3
"""Tests memory guarantees of PyTorch, CuPy and Numba that must hold with Sluice's pool: pool_promises.py
torch|cupy|numba

Memory in use by another stream must not be reused, and running out of memory must raise an exception. The script needs
sluice_pool.py in PYTHONPATH and SLUICE_POOL_LIBRARY.
"""
import sys

import sluice_pool

who = sys.argv[1]
failed = False
GIB = 1 << 30


def expect(holds, what):
    global failed
    print(("  ok   " if holds else "  FAIL ") + f"promises, {who}: {what}", flush=True)
    failed = failed or not holds


def expect_refused(kind, words, allocate, what):
    try:
        made = allocate()
        expect(False, f"{what}: no exception was raised; the call returned a {type(made).__name__}")
    except kind as error:
        expect(words in str(error), f"{what}: {type(error).__name__}: {str(error)[:110]}")


def torch_promises():
    import torch
    sluice_pool.configure(0, limit_bytes=2 * GIB)
    sluice_pool.use_in_torch()
    side = torch.cuda.Stream()
    count = 1 << 22

    def wrong_rounds(record):
        wrong = 0
        for _ in range(20):
            x = torch.full((count,), 1.0, device="cuda")
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                torch.cuda._sleep(20_000_000)
                y = x.clone()
            if record:
                x.record_stream(side)
            del x
            beside = torch.full((count,), 2.0, device="cuda")
            torch.cuda.synchronize()
            wrong += int(bool((y != 1).any()))
            del beside
        return wrong
    expect(wrong_rounds(record=True) == 0, "memory passed to record_stream is not reused while that stream uses it")
    lost = wrong_rounds(record=False)
    expect(lost > 0, f"the test detects memory that is reused too early: {lost} of 20 rounds without record_stream")

    # In a capture, graph nodes make the block's stream wait for the recorded stream.
    graph = torch.cuda.CUDAGraph()
    inputs = torch.full((count,), 3.0, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        x = inputs * 1
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            y = x.clone()
        x.record_stream(side)
        del x
        beside = inputs * 2
        torch.cuda.current_stream().wait_stream(side)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    expect(bool((y == 3).all()) and bool((beside == 6).all()), "and in a graph")
    del graph, inputs, y, beside

    expect_refused(RuntimeError, "CUDA out of memory. ", lambda: torch.empty(4 * GIB, dtype=torch.uint8, device="cuda"), "more than the limit")
    expect(torch.full((1000,), 3.0, device="cuda").sum().item() == 3000, "and it goes on after that")
    large = torch.empty(GIB, dtype=torch.uint8, device="cuda")
    del large
    torch.cuda.synchronize()
    before = sluice_pool.stats().reserved
    torch.cuda.empty_cache()
    after = sluice_pool.stats().reserved
    expect(after <= before - GIB, f"empty_cache returns memory to the driver: {before} -> {after} bytes reserved")
    torch.cuda.set_per_process_memory_fraction(0.005)
    limit = sluice_pool.stats().limit
    expect(0 < limit < 2 * GIB, f"a memory fraction is a limit: {limit} bytes")
    expect_refused(RuntimeError, "CUDA out of memory. ", lambda: torch.empty(3 * GIB // 2, dtype=torch.uint8, device="cuda"), "more than that")
    torch.cuda.set_per_process_memory_fraction(1.0)
    expect(sluice_pool.stats().limit == 2 * GIB, "the configured limit then applies again")


def cupy_promises():
    import cupy
    sluice_pool.configure(0, limit_bytes=GIB)
    sluice_pool.use_in_cupy()
    expect_refused(cupy.cuda.memory.OutOfMemoryError, "Out of memory", lambda: cupy.empty(2 * GIB, dtype=cupy.uint8), "more than the limit")
    try:
        cupy.empty(2 * GIB, dtype=cupy.uint8)
    except MemoryError as error:
        expect("'libsluice_pool'" in str(error.__cause__), f"the cause of the exception describes the pool's state: {error.__cause__}")
    expect(cupy.empty((0, 5)).size == 0, "arrays without elements are fine")
    expect(int(cupy.full(1000, 3).sum()) == 3000, "and it goes on after that")


def numba_promises():
    sluice_pool.configure(0, limit_bytes=GIB)
    sluice_pool.use_in_numba()
    import numpy
    if not hasattr(numpy, "row_stack"):
        numpy.row_stack = numpy.vstack  # NumPy 2.4 has removed a name that some versions of Numba still use.
    from numba import cuda

    @cuda.jit
    def write_late(values, value, spins):
        i = cuda.grid(1)
        x = numpy.float32(1)
        for _ in range(spins):
            x = x * numpy.float32(1.0000001) + numpy.float32(1e-9)
        if i < values.size:
            values[i] = value if x > 0 else numpy.float32(-1)

    count, late, soon = 1 << 16, cuda.stream(), cuda.stream()
    wrong = 0
    for _ in range(40):
        first = cuda.device_array(count, numpy.float32)
        write_late[256, 256, late](first, 5, 2_000_000)
        del first
        second = cuda.device_array(count, numpy.float32)
        write_late[256, 256, soon](second, 9, 1)
        cuda.synchronize()
        wrong += int((second.copy_to_host() != 9).sum())
        del second
    expect(wrong == 0, f"memory that is freed while a stream uses it is not reused: {wrong} of {40 * count} values wrong")
    expect(sluice_pool.stats().used <= 12 * 4 * count, f"the memory returns to the pool later: {sluice_pool.stats().used} bytes used")
    expect_refused(MemoryError, "out of memory", lambda: cuda.device_array(2 * GIB, numpy.uint8), "more than the limit")
    for _ in range(30):  # more than would fit if nothing were freed
        part = cuda.device_array(GIB // 4, numpy.uint8)
        del part
    expect(True, "memory that waits to be freed is freed when memory runs out")


{"torch": torch_promises, "cupy": cupy_promises, "numba": numba_promises}[who]()
sys.exit(failed)
