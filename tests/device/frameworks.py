#!/usr/bin/env python3
"""Programs whose frameworks count their own memory, step by step: what a recording of them must agree with.

    frameworks.py torch|cupy|numba SAID.json [--steps N]     writes the framework's own figures at each step
    frameworks.py threads [--seconds S]                      two allocating threads, statistics and a backward pass at once
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
        # Lengths vary, so that the allocator must; some tensors outlive their step; once in a while its cache is emptied.
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
        context = cuda.current_context()
        context.deallocations.clear()  # Numba frees late, in batches.
        cuda.synchronize()
        sluice.step(i)
        # What it holds, and what it has still to give back.
        waiting = sum(entry[2] for entry in context.deallocations._cons)
        said.append({"step": i, "allocated": sum(m.size for m in context.allocations.values()) + waiting,
                     "arrays": sum(a.nbytes for a in kept), "waiting": waiting})
    return said


def threads(seconds):
    """An allocator's hook that waits for the interpreter's lock hangs here (PyTorch calls it with its own mutex held)."""
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
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["torch", "cupy", "numba", "threads"])
    parser.add_argument("said", nargs="?")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    if args.what == "threads":
        sys.exit(threads(args.seconds))
    steps = {"torch": torch_steps, "cupy": cupy_steps, "numba": numba_steps}[args.what](args.steps)
    with open(args.said, "w", encoding="utf-8") as out:
        json.dump({"recording": sluice.recording(), "steps": steps}, out)


if __name__ == "__main__":
    main()
