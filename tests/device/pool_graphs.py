#!/usr/bin/env python3
"""Tests PyTorch's CUDA graphs with Sluice's pool. The pool must not reuse a graph's memory while the graph may be
launched, and must get it back when the graph is destroyed.

    pool_graphs.py hooks     as set up by sluice_pool.use_in_torch: PyTorch reports captures and the end of graphs
    pool_graphs.py plain     only sluice_torch_malloc_asking and sluice_free: the pool queries the driver

Each replay is compared with the same steps without a graph, while other tensors are allocated and freed on the default
and on side streams. The script needs sluice_pool.py in PYTHONPATH and SLUICE_POOL_LIBRARY.
"""
import gc
import random
import sys

import sluice_pool
import torch

how = sys.argv[1]
failed = False


def expect(holds, what):
    global failed
    print(("  ok   " if holds else "  FAIL ") + f"graphs, {how}: {what}", flush=True)
    failed = failed or not holds


if how == "hooks":
    sluice_pool.use_in_torch()
else:
    torch.cuda.memory.change_current_allocator(
        torch.cuda.memory.CUDAPluggableAllocator(sluice_pool.path, "sluice_torch_malloc_asking", "sluice_free"))

torch.manual_seed(1)
random.seed(1)
sides = [torch.cuda.Stream() for _ in range(3)]


def step(x, weights):
    for w in weights:
        x = torch.tanh(x @ w) + x.roll(1, 0)  # intermediate tensors are short-lived
    return x


class Captured:
    def __init__(self, rows, pool=None):
        self.weights = [torch.randn(256, 256, device="cuda") for _ in range(6)]
        self.input = torch.randn(rows, 256, device="cuda")
        warm = torch.cuda.Stream()
        warm.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(warm):
            for _ in range(3):
                step(self.input, self.weights)
        torch.cuda.current_stream().wait_stream(warm)
        self.graph = torch.cuda.CUDAGraph()
        # The side stream has free memory from the warm-up, so the first allocations of the capture are hits.
        with torch.cuda.graph(self.graph, pool=pool, stream=warm):
            self.output = step(self.input, self.weights)
            del_me = self.output * 2
            del del_me

    def replay_is_right(self):
        data = torch.randn_like(self.input)
        self.input.copy_(data)
        self.graph.replay()
        held = []
        for i in range(40):  # while the graph is replayed
            size = random.choice([256 * 256, self.input.numel(), 1 << 20]) + random.randrange(64)
            with torch.cuda.stream(sides[i % 3]) if i % 2 else torch.cuda.stream(torch.cuda.default_stream()):
                held.append((float(i), torch.full((size,), float(i), device="cuda")))
            if i % 3 == 0:
                held.pop(random.randrange(len(held)))
        torch.cuda.synchronize()
        same = torch.equal(self.output, step(data, self.weights))
        whole = all(bool((t == value).all()) for value, t in held)
        return same, whole


graphs = [Captured(rows) for rows in (64, 1000, 4096)]
kept = sluice_pool.stats().kept_for_graphs
expect(kept > 0, f"{kept} bytes are kept for the graphs")
outcomes = [g.replay_is_right() for _ in range(30) for g in graphs]
expect(all(same for same, _ in outcomes), f"{len(outcomes)} replays give the same results as the steps without a graph")
expect(all(whole for _, whole in outcomes), "the replays wrote to no other tensor")

# Frees a graph's outputs although replays continue.
last = graphs[-1]
expected = step(last.input, last.weights)
del last.output
gc.collect()
beside = [torch.full((4096, 256), 7.0, device="cuda") for _ in range(20)]
torch.cuda.synchronize()
last.graph.replay()
torch.cuda.synchronize()
expect(all(bool((t == 7).all()) for t in beside), "the memory of a freed output still belongs to the graph")
del beside, expected

# Two graphs that share a pool, replayed in order.
first = Captured(512)
second = Captured(512, pool=first.graph.pool())
pair = [g.replay_is_right() for _ in range(5) for g in (first, second)]
expect(all(whole for _, whole in pair), "two graphs that share a pool write to no other tensor")
expect(all(same for same, _ in pair), "each of the two graphs gives the right results")

figures = sluice_pool.stats()
expect(figures.refused_frees == 0, "no free was refused")
del graphs, last, first, second, outcomes, pair
gc.collect()
torch.cuda.synchronize()
after = sluice_pool.stats().kept_for_graphs
if how == "hooks":
    expect(after == 0, f"{after} bytes are kept after the graphs were destroyed")
else:
    expect(after > 0, f"{after} bytes stay kept, because no call said that the graphs were destroyed")
sys.exit(failed)
