"""Measures what sampling Python frames costs: bench_samples.py LIBRARY [HZ [PAIRS [DEPTH [IDLE_THREADS]]]]. Runs a loop of pure
Python, with sampling and without by turns in one process."""
import ctypes
import os
import statistics
import sys
import threading
import time

library = ctypes.CDLL(sys.argv[1])
library.sample_start.argtypes = [ctypes.c_uint, ctypes.c_bool]
hz, pairs, depth, idle = (int(a) for a in (sys.argv[2:] + ["500", "20", "30", "0"][len(sys.argv) - 2:]))


def leaf(a, b):
    return a * b + 1


def work():
    total = 0
    for i in range(4000000):
        total = leaf(total & 255, i)
    return total


def nested(left):
    return work() if left <= 1 else nested(left - 1)


def measure(sampled):
    """Seconds of the loop, and CPU seconds of other threads meanwhile, for each second."""
    if sampled:
        library.sample_start(hz, False)
    begin, own, whole = time.perf_counter(), time.thread_time(), time.process_time()
    nested(depth - 2)
    taken, own, whole = (time.perf_counter() - begin, time.thread_time() - own, time.process_time() - whole)
    if sampled:
        library.sample_stop()
    return taken, own, (whole - own) / taken


done = threading.Event()
for _ in range(idle):
    threading.Thread(target=done.wait, daemon=True).start()
measure(True)
changes, floor, shares = [], [], []
for i in range(pairs):
    first, on, last = measure(False), measure(True), measure(False)
    changes.append((on[1] / ((first[1] + last[1]) / 2) - 1) * 100)
    floor.append((first[1] / last[1] - 1) * 100)
    shares.append(on[2] * 100)
done.set()


def show(what, values):
    low, middle, high = statistics.quantiles(values, n=4)
    print("%s: median %+.2f %%, quartiles %+.2f and %+.2f %%" % (what, middle, low, high))


print("Python %s, %d Hz, %d frames, %d idle threads, %d pairs, %d cores" % (sys.version.split()[0], hz, depth, idle,
                                                                            pairs, os.cpu_count()))
show("CPU time of the loop", changes)
show("the same, both without sampling", floor)
show("CPU time of the sampler, of one core", shares)
