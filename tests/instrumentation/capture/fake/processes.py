"""Allocates in child processes of every kind that Python creates, as training scripts do.

    processes.py HOW     fork, spawn, forkserver: multiprocessing's ways; torchrun, openmpi, pmi, slurm, slurm-torchrun: as
                         these launchers start workers, each with its rank in its environment
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


LAUNCHERS = {
    "torchrun": lambda r: {"RANK": r, "LOCAL_RANK": 7, "WORLD_SIZE": 3},  # LOCAL_RANK counts per host: the last choice.
    "openmpi": lambda r: {"OMPI_COMM_WORLD_RANK": r, "OMPI_COMM_WORLD_LOCAL_RANK": 7, "PMIX_RANK": r},
    "pmi": lambda r: {"PMI_RANK": r, "PMI_SIZE": 3},
    "slurm": lambda r: {"SLURM_PROCID": r, "SLURM_LOCALID": 7},
    "slurm-torchrun": lambda r: {"SLURM_PROCID": 7, "RANK": r},
}


def main():
    how = sys.argv[1]
    if how == "worker":
        return allocate(int(sys.argv[2]))
    if how in LAUNCHERS:
        workers = [subprocess.Popen([sys.executable, __file__, "worker", str(1 + r)],
                                    env={**os.environ, **{name: str(value) for name, value in LAUNCHERS[how](r).items()}})
                   for r in range(3)]
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
