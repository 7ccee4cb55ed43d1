#!/usr/bin/env python3
"""Measures the cost of the runtime: ./dev bench runtime [--only REGEX] [--rounds N] (see ./dev help)

Runs the runtime's benchmarks (tests/bench/runtime) and prints one table. Each line stands beside its peers of the same
run, with its target and whether the target is met. Numbers are medians of the rounds.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BAR = re.compile(r"(\w+) (<=|>=) ([0-9.e+-]+)(?: (ns|us|ms)| of (.+))?$")
UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
STANDARD = {"name", "run_name", "run_type", "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads",
            "iterations", "real_time", "cpu_time", "time_unit", "label", "aggregate_name", "aggregate_unit", "error_occurred", "error_message"}


def time_text(ns):
    for unit in ("s", "ms", "us"):
        if ns >= UNITS[unit]:
            return f"{ns / UNITS[unit]:.4g} {unit}"
    return f"{ns:.4g} ns"


def number_text(value):
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.4g}{unit}"
    return f"{value:.4g}"


class Line:
    """One benchmark: its time in ns per iteration, its counters, and its target."""

    def __init__(self, row):
        # Google Benchmark appends its settings for iterations, threads and time.
        self.name = re.sub(r"/(iterations|repeats|min_time|min_warmup_time|threads):[^/]*|/(manual_time|real_time|process_time)(?=/|$)", "", row["run_name"])
        threads = re.search(r"/threads:(\d+)", row["run_name"])
        if threads:
            self.name += f"/threads:{threads[1]}"
        self.failure = row.get("error_message") if row.get("error_occurred") else None
        self.label = row.get("label", "")
        self.figures = {"time": row.get("real_time", 0.0) * UNITS[row.get("time_unit", "ns")]}
        self.figures.update({key: value for key, value in row.items() if key not in STANDARD and isinstance(value, (int, float))})

    def figure(self):
        parts = [time_text(self.figures["time"])] + [f"{key} {number_text(value)}" for key, value in sorted(self.figures.items()) if key != "time"]
        return "  ".join(parts)


def order(lines):
    """Groups the lines of a topic, in the order in which topics and lines first appeared."""
    topics = {}
    for line in lines:
        topics.setdefault(line.name.rsplit("/", 1)[0], []).append(line)
    return [line for group in topics.values() for line in group]


class Table:
    def __init__(self, lines):
        self.lines = {line.name: line for line in lines}
        self.missed = []

    def bar(self, line, text):
        """Returns (text to show, whether the line meets the target). The second value is None if the peer is
        missing."""
        match = BAR.match(text)
        if not match:
            sys.exit(f"runtime_table: line '{line.name}': '{text}' is not a target; write 'time <= 25 ns' or 'rate >= 0.9 of NAME'")
        what, order, amount, unit, peer = match.groups()
        limit = float(amount) * UNITS.get(unit, 1.0)
        if peer:
            peer = line.name.split("/")[0] + "/" + peer
            other = self.lines.get(peer)
            if other is None or other.failure:
                return text, None
            limit *= other.figures.get(what, float("nan"))
        have = line.figures.get(what, float("nan"))
        return text, have <= limit if order == "<=" else have >= limit

    def print(self):
        topic = None
        for line in self.lines.values():
            if line.name.rsplit("/", 1)[0] != topic:
                topic = line.name.rsplit("/", 1)[0]
                print(f"\n{topic}")
            shown = line.name[len(topic) + 1:]
            if line.failure:
                print(f"  {shown:<44} {'-':>14}  {line.failure}")
                continue
            bars = [self.bar(line, text.strip()) for text in line.label.split(";")] if re.search("[<>]=", line.label) else []
            verdicts = []
            for text, met in bars:
                verdicts.append(f"{text}: {'no peer' if met is None else 'met' if met else 'MISSED'}")
                if met is False:
                    self.missed.append(f"{line.name}: {text}")
            print(f"  {shown:<44} {line.figure():>14}  {'; '.join(verdicts) if bars else line.label}", flush=True)
        print(f"\n{len(self.missed)} targets missed" if self.missed else "\nevery target met")
        for missed in self.missed:
            print(f"  {missed}")


def torch_peer(folder):
    """Compiles a library with PyTorch's allocator, which the benchmarks load, against the installed PyTorch. Returns
    None without PyTorch."""
    include = subprocess.run([sys.executable, "-c", "import torch, torch.utils.cpp_extension as e; print(int(torch._C._GLIBCXX_USE_CXX11_ABI));"
                              "print('\\n'.join(e.include_paths(device_type='cuda')))"], capture_output=True, text=True)
    if include.returncode:
        return None
    abi, *paths = include.stdout.split("\n")
    libraries = os.path.join(os.path.dirname(paths[0]), "lib")
    library = os.path.join(folder, "torch_peer.so")
    command = ["g++", "-std=c++17", "-O2", "-shared", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *(f"-I{path}" for path in paths if path),
               os.path.join(ROOT, "tests/bench/runtime/torch_peer.cpp"), "-o", library, f"-L{libraries}", "-lc10_cuda", "-lc10", f"-Wl,-rpath,{libraries}"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        print(f"PyTorch is installed, but the library with its allocator does not compile:\n{made.stderr[-500:]}", file=sys.stderr)
        return None
    return library


def cupy_lines():
    said = subprocess.run([sys.executable, os.path.join(ROOT, "tests/bench/runtime/cupy_peer.py")], capture_output=True, text=True)
    return json.loads(said.stdout) if said.returncode == 0 else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--program", help="the benchmarks' program, if it is not in the build folder")
    parser.add_argument("--only", default=".", help="only lines whose name matches this")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each line")
    parser.add_argument("--seconds", type=float, default=0.1, help="minimum time of a run")
    parser.add_argument("--json", help="write Google Benchmark's own output to this file")
    options = parser.parse_args()
    program = options.program or os.path.join(options.build, "tests/bench/runtime/runtime_benchmarks")
    command = [program, "--benchmark_format=json", f"--benchmark_filter={options.only}", f"--benchmark_min_time={options.seconds}",
               f"--benchmark_repetitions={options.rounds}", "--benchmark_enable_random_interleaving=true"]
    with tempfile.TemporaryDirectory() as folder:
        library = torch_peer(folder)
        environment = dict(os.environ, SLUICE_BENCH_TORCH=library) if library else None
        done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment)
    try:
        said = json.loads(done.stdout)
    except ValueError:
        sys.exit(f"runtime_table: {program} ended with {done.returncode} and no table")
    if options.json:
        with open(options.json, "wb") as file:
            file.write(done.stdout)
    context = said["context"]
    devices = ", ".join(f"{key}: {context[key]}" for key in ("cuda", "simulated") if key in context)
    print(f"{context['num_cpus']} cores at {context['mhz_per_cpu']} MHz; {devices}; medians of {options.rounds}; load {context['load_avg'][0] if context.get('load_avg') else 0:.1f}")
    # A benchmark that could not run has no median.
    wanted = [row for row in said["benchmarks"] if row.get("error_occurred") or options.rounds == 1 or row.get("aggregate_name") == "median"]
    wanted.sort(key=lambda row: (row["family_index"], row["per_family_instance_index"]))  # They ran in a random order.
    failed = {row["run_name"]: row for row in wanted if row.get("error_occurred")}
    if "cuda" in context:
        wanted += [row for row in cupy_lines() if re.search(options.only, row["name"])]
    table = Table(order([Line(row) for row in wanted if row["run_name"] not in failed or row is failed[row["run_name"]]]))
    table.print()
    sys.exit(1 if table.missed else 0)


if __name__ == "__main__":
    main()
