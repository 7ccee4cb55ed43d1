#!/usr/bin/env python3
"""Captures with CuPy and Sluice's pool on a stream that was never used before. The capture must succeed under any
recorder.

The script needs CuPy, sluice_pool.py in PYTHONPATH and SLUICE_POOL_LIBRARY.
"""
import sys

import cupy
import sluice_pool

sluice_pool.use_in_cupy()
failed = False


def expect(holds, what):
    global failed
    print(("  ok   " if holds else "  FAIL ") + f"captures with CuPy: {what}", flush=True)
    failed = failed or not holds


warm = cupy.empty(1000, dtype="f4")
warm.fill(1)
cupy.cuda.runtime.deviceSynchronize()
keep = [cupy.empty(1 << 20, dtype="u1") for _ in range(3)]
del keep
cases = (("a block that lies ready", 123456), ("more than the pool has", 64 << 20))
streams = [[cupy.cuda.Stream(non_blocking=True) for _ in range(2)] for _ in cases]  # outlive the pool's data about them
for (name, floats), (stream, other) in zip(cases, streams):
    sluice_pool.set_stream(stream.ptr)
    try:
        with stream:
            stream.begin_capture(cupy.cuda.runtime.streamCaptureModeRelaxed)
            x = cupy.empty(floats, dtype="f4")
            x.fill(3)
            sluice_pool.set_stream(other.ptr)
            with other:  # while the first stream is captured
                y = cupy.empty(2345, dtype="f4")
                y.fill(4)
                other.synchronize()
            sluice_pool.set_stream(stream.ptr)
            graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
        expect(float(x[5]) == 3 and float(y[5]) == 4, name)
    except Exception as e:
        expect(False, f"{name}: {type(e).__name__} {str(e)[:100]}")
    sluice_pool.set_stream(0)
    del x
sys.exit(failed)
