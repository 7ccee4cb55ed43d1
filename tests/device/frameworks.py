#!/usr/bin/env python3
"""Programs whose frameworks count their own memory, step by step. Recordings must match these metrics.

    frameworks.py torch|cupy|numba|rmm|rmm-async|jax SAID.json [--steps N]   writes the framework's metrics at each step
    frameworks.py ranks SAID.json [--steps N]          one process of torchrun or mpirun; writes SAID.json.RANK
    frameworks.py fork                                 the number of threads, and whether os.fork() warns about them
    frameworks.py threads [--seconds S]                two allocating threads, statistics and a backward pass at once

In JAX, XLA's default allocator takes segments from the driver (75 % of the GPU at once, unless
XLA_PYTHON_CLIENT_PREALLOCATE=false) and places blocks inside them. These blocks are invisible from outside, because
there is no hook. So the comparison uses the driver's allocations. With XLA_PYTHON_CLIENT_ALLOCATOR=platform or
cuda_async each array is an allocation from the driver, or from its pool.
"""
import argparse
import json
import os
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "instrumentation", "capture", "python"))
import sluice  # noqa: E402


def torch_steps(steps):
    import torch
    from train import Gpt

    device = torch.device("cuda")
    torch.manual_seed(0)
    net = Gpt().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    sluice.tag_model(net, optimizer)
    said, kept = [], []
    for i in range(steps):
        # Lengths vary to exercise the allocator, some tensors outlive their step, and the cache is sometimes emptied.
        data = torch.randint(0, 2048, (8, 33 + 16 * (i % 6)), device=device)
        with sluice.scope("forward"):
            out = net(data[:, :-1])
            loss = torch.nn.functional.cross_entropy(out.reshape(-1, out.shape[-1]), data[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        with sluice.scope("backward"):
            loss.backward()
        optimizer.step()
        kept.append(torch.empty((i % 7 + 1) * 333_333, device=device, dtype=torch.uint8))
        if i % 5 == 4:
            kept = kept[2:]
        emptied = i % 10 == 9
        if emptied:
            del out, loss, data
            torch.cuda.empty_cache()
        torch.cuda.synchronize()
        sluice.step(i)
        stats = torch.cuda.memory_stats()
        said.append({"step": i, "allocated": stats["allocated_bytes.all.current"], "reserved": stats["reserved_bytes.all.current"],
                     "allocations": stats.get("allocation.all.allocated"), "emptied": emptied})
    return said


def cupy_steps(steps):
    import cupy

    sluice.watch_cupy()
    pool = cupy.get_default_memory_pool()
    said, kept = [], []
    for i in range(steps):
        a = cupy.random.random((64 + 32 * (i % 9), 512), dtype=cupy.float32)
        kept.append(a @ a.T)
        if i % 4 == 3:
            kept = kept[3:]
        if i % 10 == 9:
            pool.free_all_blocks()
        cupy.cuda.Device().synchronize()
        sluice.step(i)
        said.append({"step": i, "allocated": pool.used_bytes(), "reserved": pool.total_bytes()})
    return said


def numba_steps(steps):
    import numpy
    from numba import cuda

    said, kept = [], []
    for i in range(steps):
        kept.append(cuda.to_device(numpy.ones((i % 11 + 1) * 10_000, dtype=numpy.float32)))
        kept.append(cuda.device_array((i % 5 + 1, 4096), dtype=numpy.float64))
        if i % 3 == 2:
            kept = kept[4:]
        manager = cuda.current_context().memory_manager  # The context's own two tables stay empty.
        manager.deallocations.clear()  # Numba frees late, in batches.
        cuda.synchronize()
        sluice.step(i)
        said.append({"step": i, "allocated": sum(pointer.size for pointer in manager.allocations.values()),
                     "arrays": sum(a.alloc_size for a in kept)})
    return said


def rmm_steps(steps, make, watch):
    """`make` creates the resource below RMM's own statistics, whose metrics are reported."""
    import rmm

    resource = make(rmm.mr)
    statistics = rmm.mr.StatisticsResourceAdaptor(resource)
    rmm.mr.set_current_device_resource(statistics)
    if watch:
        sluice.watch_rmm()
    said, kept = [], []
    for i in range(steps):
        kept.append(rmm.DeviceBuffer(size=(i % 9 + 1) * 100_001))
        kept.append(rmm.DeviceBuffer(size=(i % 4 + 1) << 20))
        if i % 3 == 2:
            kept = kept[3:]
        sluice.step(i)
        counts = statistics.allocation_counts
        said.append({"step": i, "allocated": counts.current_bytes, "allocations": counts.total_count,
                     "reserved": resource.pool_size() if hasattr(resource, "pool_size") else None})
    return said


def rmm_pool_steps(steps):
    return rmm_steps(steps, lambda mr: mr.PoolMemoryResource(mr.CudaMemoryResource(), initial_pool_size=1 << 22), True)


def rmm_async_steps(steps):
    return rmm_steps(steps, lambda mr: mr.CudaAsyncMemoryResource(), False)


def jax_steps(steps):
    import jax
    import numpy

    page = 2 << 20
    device = jax.devices("gpu")[0]
    train = jax.jit(lambda w, x: (w - 0.01 * (x.T @ jax.numpy.tanh(x @ w)), jax.numpy.sum(w)))
    weights = jax.device_put(numpy.ones((512, 512), dtype=numpy.float32), device)
    said, kept = [], []
    for i in range(steps):
        rows = 64 * (i % 3 + 1)
        data = jax.device_put(numpy.full((rows, 512), i, dtype=numpy.float32), device)
        weights, total = train(weights, data)
        kept.append(jax.device_put(numpy.ones((i % 7 + 1) * 333_333, dtype=numpy.float32), device))
        if i % 5 == 4:
            kept = kept[2:]
        float(total)
        jax.block_until_ready((weights, kept))
        del data, total
        sluice.step(i)
        try:
            stats = device.memory_stats() or {}
        except Exception:  # The platform allocator has no statistics.
            stats = {}
        said.append({"step": i, "in_use": stats.get("bytes_in_use"), "pool": stats.get("pool_bytes"),
                     "peak": stats.get("peak_bytes_in_use"), "arrays": sum(a.nbytes for a in jax.live_arrays()),
                     # The platform allocator maps separate physical memory for each array.
                     "arrays_in_pages": sum(-(-a.nbytes // page) * page for a in jax.live_arrays())})
    return said


def ranks(path, steps):
    """Data-parallel training, with one GPU per process if there are enough GPUs. At each step all processes wait for
    each other."""
    import torch
    import torch.distributed as dist

    for name, others in {"RANK": ["OMPI_COMM_WORLD_RANK", "PMI_RANK"], "WORLD_SIZE": ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]}.items():
        os.environ.setdefault(name, next((os.environ[o] for o in others if o in os.environ), ""))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29507")
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    alone = torch.cuda.device_count() >= world
    device = torch.device("cuda", rank if alone else 0)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl" if alone else "gloo", rank=rank, world_size=world)
    meeting = dist.new_group(backend="gloo")
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(device))
    optimizer = torch.optim.Adam(net.parameters())
    said, kept = [], []
    for i in range(steps):
        loss = net(torch.randn(32 + 8 * (i % 4), 256, device=device)).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        kept.append(torch.empty((rank + 1) * 100_000 * (i % 3 + 1), device=device, dtype=torch.uint8))
        del loss
        torch.cuda.synchronize()
        dist.barrier(group=meeting)
        sluice.step(i)
        stats = torch.cuda.memory_stats()
        said.append({"step": i, "allocated": stats["allocated_bytes.all.current"], "reserved": stats["reserved_bytes.all.current"],
                     "allocations": stats.get("allocation.all.allocated")})
        dist.barrier(group=meeting)
    with open(f"{path}.{rank}", "w", encoding="utf-8") as out:
        json.dump({"recording": sluice.recording(), "rank": rank, "backend": dist.get_backend(), "devices": world if alone else 1,
                   "steps": said}, out)
    dist.destroy_process_group()


def tags(path):
    """Trains a tagged model. At the last mark, the weights, gradients and optimizer state all exist."""
    import torch

    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(300, 700), torch.nn.BatchNorm1d(700), torch.nn.ReLU(),
                              torch.nn.Linear(700, 50)).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    sluice.tag_model(net, optimizer)
    for _ in range(5):
        optimizer.zero_grad()
        net(torch.randn(64, 300, device="cuda")).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()
    sluice.step()

    def on_device(tensors):
        blocks = {t.data_ptr(): (t.nbytes + 511) // 512 * 512 for t in tensors if t.is_cuda}
        return [len(blocks), sum(blocks.values())]

    said = {"weight": on_device([*net.parameters(), *net.buffers()]),
            "gradient": on_device([p.grad for p in net.parameters()]),
            "optimizer state": on_device([v for state in optimizer.state.values() for v in state.values()])}
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"recording": sluice.recording(), "tags": said}, out)


def fork():
    """Counts CUDA's own threads and the recorder's. From Python 3.12 on, os.fork() warns if there is more than one
    thread."""
    import ctypes
    import warnings

    def count():
        with open("/proc/self/stat", encoding="ascii") as text:
            return int(text.read().rpartition(")")[2].split()[17])

    cuda, context, said = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), {"threads at the start": count()}
    cuda.cuInit(0)
    said["after cuInit"] = count()
    for then in ("forked after cuInit", "after a context", "forked then"):
        if then == "after a context":
            cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
            said[then] = count()
            continue
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            child = os.fork()
            if child == 0:
                os._exit(0)
        os.waitpid(child, 0)
        said[then] = "warned" if heard else "no warning"
    print("      ", json.dumps(said))


def threads(seconds):
    """An allocator's hook that waits for the interpreter's lock hangs here, because PyTorch calls it with its own mutex
    held."""
    import torch

    until = time.monotonic() + seconds
    counts = {"alloc": 0, "stats": 0, "backward": 0}

    def allocate():
        while time.monotonic() < until:
            kept = [torch.empty(1 + 4096 * (k % 50), device="cuda") for k in range(100)]
            counts["alloc"] += len(kept)

    def backward():
        net = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)]).cuda()
        while time.monotonic() < until:
            net(torch.randn(64, 256, device="cuda")).sum().backward()
            counts["backward"] += 1

    workers = [threading.Thread(target=allocate), threading.Thread(target=allocate), threading.Thread(target=backward)]
    for worker in workers:
        worker.start()
    while time.monotonic() < until:
        torch.cuda.memory_stats()
        counts["stats"] += 1
    for worker in workers:
        worker.join()
    print(json.dumps(counts))
    return 0 if all(counts.values()) else 1


def main():
    single = {"torch": torch_steps, "cupy": cupy_steps, "numba": numba_steps, "rmm": rmm_pool_steps, "rmm-async": rmm_async_steps,
              "jax": jax_steps}
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=[*single, "ranks", "fork", "threads", "tags"])
    parser.add_argument("said", nargs="?")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    if args.what == "threads":
        sys.exit(threads(args.seconds))
    if args.what == "fork":
        return fork()
    if args.what == "tags":
        return tags(args.said)
    if args.what == "ranks":
        return ranks(args.said, args.steps)
    steps = single[args.what](args.steps)
    with open(args.said, "w", encoding="utf-8") as out:
        json.dump({"recording": sluice.recording(), "steps": steps}, out)


if __name__ == "__main__":
    main()
