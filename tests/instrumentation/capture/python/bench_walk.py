"""Measures the cost of a Python stack: sluice record -o FILE -- python3 bench_walk.py LIBRARY"""
import ctypes
import sys

library = ctypes.PyDLL(sys.argv[1])
library.bench.restype = ctypes.c_double
library.bench_prepare.restype = ctypes.c_bool
assert library.bench_prepare(), "not recorded: run this under sluice record"


def nested(depth):
    return library.bench(2000) if depth == 0 else nested(depth - 1)


for frames in (3, 5, 10, 20, 50):
    taken = nested(frames - 2)  # The module's frame is added.
    print("Python %s, %2d frames: %.0f ns" % (sys.version.split()[0], frames, taken))
