#!/usr/bin/env python3
"""The PyTorch side of bench_recorder.py. It reads lines with the name of a piece of work and a count, runs this work,
and replies with one JSON line.

    bench_work.py [--watch profiler-cuda|profiler-all|history]
    bench_work.py --sampling

`--watch` runs one of PyTorch's own recorders during each piece of work. `mlp_paired` and `transformer_paired` switch
this process's recorder off and on every few steps, which excludes differences in memory placement and between
processes.

With `--sampling`, it reads nothing: it measures the cost of sampling its host threads, by pausing and resuming it by
turns, and prints a JSON line after each 20 rounds of each piece of work.
"""
import argparse
import contextlib
import ctypes
import gc
import json
import os
import random
import re
import statistics
import subprocess
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
    """Returns the mean microseconds per step, with periodic waits for the device. The mean makes every delay count."""

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


class RecorderSwitch:
    """Turns the recorder in this process off and on, through variables of its library, which must not be stripped.
    While it is off, its functions only forward calls, and allocations and frees are not recorded. This works only in
    memory mode without CUPTI."""

    # The variables are in the order in which they are switched on.
    NAMES = [("phase", r"ring6detail13current_phaseE$", ctypes.c_uint32),
             ("watching", r"entry_points12_GLOBAL__N_1L?8watchingE$", ctypes.c_uint8),
             ("launches", r"entry_points12_GLOBAL__N_1L?27launches_leave_touches_onlyE$", ctypes.c_uint8)]

    def __init__(self):
        with open("/proc/self/maps", encoding="utf-8") as maps:
            parts = [line.split(None, 5) for line in maps]
        begins = [(part[0], part[5].strip()) for part in parts if len(part) == 6 and part[2] == "00000000"]
        begin, library = next((b, p) for b, p in begins if p.endswith("/libsluice_capture.so"))
        symbols = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
        at = {}
        for line in symbols.splitlines():
            for name, pattern, kind in self.NAMES:
                if re.search(pattern, line):
                    at[name] = kind.from_address(int(begin.split("-")[0], 16) + int(line.split()[0], 16))
        self.variables = [at[name] for name, _, _ in self.NAMES]
        if [variable.value for variable in self.variables] != [1, 1, 1]:
            raise RuntimeError("the recorder is not in memory mode, or uses CUPTI")

    def turn(self, on):
        for variable in self.variables if on else reversed(self.variables):
            variable.value = int(on)


def paired_steps(step):
    """Returns by how many percent a step takes longer with the recorder on than off: for the mean, the median and the
    fastest tenth."""
    each = 5  # Number of steps between two switches, not counting the first step.

    def timed():
        begin = time.perf_counter_ns()
        step()
        torch.cuda.synchronize()
        return time.perf_counter_ns() - begin

    def run(count):
        try:
            switch = RecorderSwitch()
        except Exception as error:  # pylint: disable=broad-except
            print(f"bench_work: cannot switch the recorder off: {error!r}", file=sys.stderr)
            return {}
        times = {True: [], False: []}
        for turn in range(max(4, 2 * count // each) // 4 * 4):
            on = turn % 4 in (0, 3)
            switch.turn(on)
            timed()
            times[on] += [timed() for _ in range(each)]
        switch.turn(True)
        on, off = sorted(times[True]), sorted(times[False])
        return {name: 100 * (of(on) / of(off) - 1) for name, of in
                {"mean": statistics.fmean, "median": statistics.median, "fastest": lambda t: t[len(t) // 10]}.items()}

    return run


def launching(device):
    """A step that the host bounds: 400 small launches, and Python code between them."""
    small = [torch.zeros(64, device=device) for _ in range(200)]

    def step():
        total = 0
        for i, each in enumerate(small):
            each.mul_(0.5).add_(i)
            total += sum(i * j % 7 for j in range(20))
        return total

    return step


SAMPLING_ROUNDS = 40  # Pairs of turns.
SETTLE_S, TIMED_S = 0.1, 0.18  # The writer closes or opens the events of all threads within some 50 ms.


def quartiles(figures):
    ordered = sorted(figures)
    return [ordered[len(ordered) // 4], statistics.median(ordered), ordered[3 * len(ordered) // 4]]


def sampling_turns(name, step):
    """Each round has a turn with sampling and two without, in random order: the difference of the latter is the noise
    of the same comparison. A turn's figure is its mean time per step in us, with which every delay counts."""
    import sluice

    if not sluice.recording():
        raise SystemExit("bench_work: --sampling needs a recorder")
    order = random.Random(0)

    def run_for(seconds):
        begin = time.perf_counter()
        count = 0
        while time.perf_counter() - begin < seconds:
            step()
            torch.cuda.synchronize()
            count += 1
        return count

    def turn(on):
        (sluice.resume_sampling if on else sluice.pause_sampling)()
        run_for(SETTLE_S)
        begin = time.perf_counter_ns()
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
        return (time.perf_counter_ns() - begin) / 1e3 / steps

    run_for(1)  # Warms up.
    steps = max(5, run_for(TIMED_S))
    times = {"on": [], "off": [], "off again": []}
    for done in range(1, SAMPLING_ROUNDS + 1):
        for which in order.sample(list(times), 3):
            times[which].append(turn(which == "on"))
        if done % 20 == 0:
            more = {which: quartiles([100 * (t / off - 1) for t, off in zip(times[which], times["off"])]) for which in times}
            print(json.dumps({"work": name, "rounds": done, "steps": steps, "on": statistics.median(times["on"]),
                              "off": statistics.median(times["off"]), "more": more["on"], "noise": more["off again"]}), flush=True)


def measure_sampling(device):
    sampling_turns("MLP + Adam step, the GPU is the bound", mlp(device, widths=(2048, 2048, 2048, 2048, 2048, 10), batch=4096))
    sampling_turns("400 small launches and Python code, the host is the bound", launching(device))


def timed_calls(call):
    """Returns the nanoseconds per call, in batches that fit into the queue."""

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
    small_mlp, small_transformer = mlp(device), transformer(device)
    work = {"mlp": timed_steps(small_mlp), "mlp_wide": timed_steps(wide, at_once=20), "transformer": timed_steps(small_transformer),
            "mlp_paired": paired_steps(small_mlp), "transformer_paired": paired_steps(small_transformer), "empty": timed_calls(allocate), "operator": timed_calls(lambda: small.add_(1))}
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
    parser.add_argument("--sampling", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.sampling:
        gc.disable()
        return measure_sampling(torch.device("cuda"))
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
