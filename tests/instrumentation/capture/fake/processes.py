"""Allocates in children of every kind that Python makes, as training scripts do: each in a process of its own.

    processes.py HOW     fork, spawn, forkserver: multiprocessing's ways; ranks: as a launcher starts workers
"""
import ctypes
import multiprocessing
import os
import subprocess
import sys


def allocate(mib):
    cuda = ctypes.CDLL("libcuda.so.1")
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(mib << 20)) == 0


def main():
    how = sys.argv[1]
    if how == "worker":
        return allocate(1 + int(os.environ["RANK"]))
    if how == "ranks":
        workers = [subprocess.Popen([sys.executable, __file__, "worker"],
                                    env={**os.environ, "RANK": str(r), "LOCAL_RANK": str(r), "WORLD_SIZE": "3"}) for r in range(3)]
        return sum(w.wait() for w in workers)
    context = multiprocessing.get_context(how)
    children = [context.Process(target=allocate, args=(1 + i,)) for i in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return sum(child.exitcode for child in children)


if __name__ == "__main__":
    sys.exit(main())
