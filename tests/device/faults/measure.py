"""Starts and measures the programs of this folder. README.md describes how to start them and what they print."""

import argparse
import inspect
import json
import os
import signal
import statistics
import sys
import time
import traceback

programs = {}


def program(function):
    """Registers a program. A program without a parameter `faulty` is clean: it has no faulty variant."""
    programs[function.__name__] = function
    return function


def variants_of(name):
    return ["faulty", "fixed"] if "faulty" in inspect.signature(programs[name]).parameters else ["fixed"]


class TorchMeter:
    def __init__(self):
        import torch

        self.cuda = torch.cuda

    def wait(self):
        self.cuda.synchronize()

    def peak(self):
        return self.cuda.max_memory_allocated()

    def reserved(self):
        return self.cuda.memory_reserved()


class CupyMeter:
    def __init__(self):
        import cupy

        class Counter(cupy.cuda.MemoryHook):
            name = "Counter"
            live = 0
            highest = 0

            def malloc_postprocess(self, **about):
                if about["mem_ptr"]:
                    self.live += about["mem_size"]
                    self.highest = max(self.highest, self.live)

            def free_postprocess(self, **about):
                self.live -= about["mem_size"]

        self.cupy = cupy
        self.counter = Counter()
        self.counter.__enter__()
        self.at_start = cupy.cuda.runtime.memGetInfo()[0]
        self.most = 0  # Without a pool: the most memory taken from the GPU at the end of a timed part.

    def wait(self):
        self.cupy.cuda.Device().synchronize()

    def reserved(self):
        pooled = self.cupy.get_default_memory_pool().total_bytes()
        taken = max(0, self.at_start - self.cupy.cuda.runtime.memGetInfo()[0])
        self.most = max(self.most, taken)
        return pooled or taken

    def peak(self):
        return self.counter.highest or self.most


class JaxMeter:
    def __init__(self):
        import jax

        self.jax = jax
        self.device = jax.devices()[0]

    def wait(self):
        (self.jax.device_put(0.0, self.device) + 1).block_until_ready()
        for array in self.jax.live_arrays():
            array.block_until_ready()

    def stats(self):
        return self.device.memory_stats() or {}

    def peak(self):
        return self.stats().get("peak_bytes_in_use", 0)

    def reserved(self):
        return self.stats().get("pool_bytes", 0)


METERS = {"torch": TorchMeter, "cupy": CupyMeter, "jax": JaxMeter}


class Timer:
    """Times the block of a `with`, with an idle device at both ends."""

    def __init__(self, meter):
        self.meter = meter
        self.times = []
        self.reserved = 0

    def __enter__(self):
        self.meter.wait()
        self.start = time.perf_counter()

    def __exit__(self, error, *_):
        if error is None:
            self.meter.wait()
            self.times.append((time.perf_counter() - self.start) * 1e3)
            self.reserved = self.meter.reserved()


def run(framework, name, variant, passes):
    """One pass is the whole program. With more than one, an unmeasured pass comes first. Returns the metrics."""
    meter = METERS[framework]()
    timer = Timer(meter)
    arguments = {"faulty": variant == "faulty"} if "faulty" in inspect.signature(programs[name]).parameters else {}
    for _ in range(passes + (passes > 1)):
        programs[name](timer, **arguments)
    times = timer.times[1:] if passes > 1 else timer.times
    return {
        "program": name,
        "variant": variant,
        "peak_bytes": meter.peak(),
        "reserved_bytes": timer.reserved,
        "ms": round(statistics.median(times), 3),
    }


def wait_for(child, seconds):
    """Returns the exit status of a child process, or None after ending it because it took too long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def run_all(framework, names, passes):
    """Runs each program in its own process, one after another; they share the import of the framework."""
    failed = 0
    for name in names:
        for variant in variants_of(name):
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    print(json.dumps(run(framework, name, variant, passes)), flush=True)
                    status = 0
                except BaseException:
                    traceback.print_exc()
                sys.stderr.flush()
                os._exit(status)
            status = wait_for(child, 60)
            if status != 0:
                failed = 1
                why = "took more than 60 s" if status is None else f"exit status {status}"
                print(f"{name} {variant}: {why}", file=sys.stderr, flush=True)
    return failed


def main(framework):
    parser = argparse.ArgumentParser(description="Runs one program, or all of this file.")
    parser.add_argument("name", help="a program, `all`, or `list`")
    parser.add_argument("variant", nargs="?", choices=["faulty", "fixed"], help="default: fixed")
    parser.add_argument("--passes", type=int, default=3, help="times that the program runs; the median time is printed")
    parser.add_argument("--only", nargs="*", help="with `all`: these programs")
    arguments = parser.parse_args()
    if arguments.name == "list":
        for name in programs:
            print(name, *variants_of(name))
        return 0
    if arguments.name == "all":
        return run_all(framework, arguments.only or list(programs), arguments.passes)
    variant = arguments.variant or "fixed"
    if arguments.name not in programs or variant not in variants_of(arguments.name):
        parser.error(f"no program {arguments.name} {variant}; `list` shows all")
    print(json.dumps(run(framework, arguments.name, variant, max(1, arguments.passes))), flush=True)
    return 0
