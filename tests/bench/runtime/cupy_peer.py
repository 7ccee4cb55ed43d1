#!/usr/bin/env python3
"""Measures the cost of an allocation and its free in CuPy's memory pool, from Python, without the cost of the empty
loop. Prints lines like Google Benchmark's, which runtime_table.py shows beside the runtime's own lines."""
import json
import sys
import time

import cupy


def best(work, times, rounds=5):
    fastest = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        work(times)
        fastest = min(fastest, (time.perf_counter_ns() - begin) / times)
    return fastest


def empty(times):
    for _ in range(times):
        pass


def line(what, pool, size, times=20000):
    def work(times):
        malloc = pool.malloc
        for _ in range(times):
            malloc(size)  # The memory is freed at once, when the reference is dropped.
    work(100)
    return {"name": what, "run_name": what, "run_type": "iteration", "real_time": best(work, times) - best(empty, times), "time_unit": "ns",
            "label": "from Python, without the empty loop"}


def main():
    lines = []
    for name, size in (("1KiB", 1 << 10), ("1MiB", 1 << 20), ("64MiB", 1 << 26)):
        lines.append(line(f"cuda/pool/alloc_free/{name}/CuPy's pool", cupy.cuda.MemoryPool(), size))
    json.dump(lines, sys.stdout)


if __name__ == "__main__":
    main()
