#!/usr/bin/env python3
"""The PyTorch side of bench_recorder.py: waits for a line naming a piece of work and how often, does it, answers with one JSON line.

    bench_work.py [--watch profiler-cuda|profiler-all|history]

`--watch`: PyTorch's own recorders, over each piece of work.
"""
import argparse
import contextlib
import gc
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch
from torch import nn

import train


def mlp(device, widths=(512, 1024, 1024, 1024, 1024, 10), batch=64):
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    net = nn.Sequential(*layers[:-1]).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    x, y = torch.randn(batch, widths[0], device=device), torch.randint(0, 10, (batch,), device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    return step


def transformer(device, capturable=False):
    net = train.Gpt().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, capturable=capturable)
    data = torch.randint(0, 2048, (16, 129), device=device)

    def step():
        optimizer.zero_grad(set_to_none=True)
        out = net(data[:, :-1])
        nn.functional.cross_entropy(out.reshape(-1, out.shape[-1]), data[:, 1:].reshape(-1)).backward()
        optimizer.step()

    return step


def graph(device):
    step = transformer(device, capturable=True)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        step()

    def replay(keep=step):  # The graph reads the batch and writes the weights that `step` holds.
        captured.replay()

    return replay


def timed_steps(step, at_once=1):
    """Microseconds a step, with a wait for the device after each so many; the mean, as every hiccup counts."""

    def run(count):
        for _ in range(max(3, count // 10)):
            step()
        torch.cuda.synchronize()
        times = []
        for _ in range(max(3, count // at_once)):
            begin = time.perf_counter_ns()
            for _ in range(at_once):
                step()
            torch.cuda.synchronize()
            times.append((time.perf_counter_ns() - begin) / 1e3 / at_once)
        return {"median": statistics.median(times), "mean": statistics.fmean(times)}

    return run


def timed_calls(call):
    """Nanoseconds a call, in batches that the queue holds."""

    def run(count):
        batch, times = 500, []
        for _ in range(max(5, count // batch)):
            torch.cuda.synchronize()
            begin = time.perf_counter_ns()
            for _ in range(batch):
                call()
            times.append((time.perf_counter_ns() - begin) / batch)
        return {"median": statistics.median(times), "mean": statistics.fmean(times)}

    return run


def make(device):
    small = torch.zeros(64, device=device)

    def allocate():
        block = torch.empty(4096, device=device)
        del block

    wide = mlp(device, widths=(2048, 2048, 2048, 2048, 2048, 10), batch=1024)
    work = {"mlp": timed_steps(mlp(device)), "mlp_wide": timed_steps(wide, at_once=20), "transformer": timed_steps(transformer(device)),
            "empty": timed_calls(allocate), "operator": timed_calls(lambda: small.add_(1))}
    try:
        work["graph"] = timed_steps(graph(device))
    except Exception as error:  # pylint: disable=broad-except
        print(f"bench_work: no graph: {error}", file=sys.stderr)
    return work


@contextlib.contextmanager
def watched(how):
    if how is None:
        yield
    elif how == "history":
        torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")
        yield
        torch.cuda.memory._record_memory_history(enabled=None)
    else:
        kinds = torch.profiler.ProfilerActivity
        every = how == "profiler-all"
        profiler = torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA] if every else [kinds.CUDA], profile_memory=every)
        profiler.start()
        yield
        profiler.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--watch", choices=["profiler-cuda", "profiler-all", "history"])
    args = parser.parse_args()
    torch.manual_seed(0)
    work = make(torch.device("cuda"))
    gc.collect()
    gc.disable()
    print(json.dumps({"ready": sorted(work)}), flush=True)
    for line in sys.stdin:
        name, count = line.split()
        with watched(args.watch):
            answer = work[name](int(count))
        gc.collect()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
