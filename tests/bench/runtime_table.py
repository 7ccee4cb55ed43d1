#!/usr/bin/env python3
"""What the runtime costs: ./dev bench runtime [--only REGEX] [--rounds N] (see ./dev help)

Runs the runtime's benchmarks (tests/bench/runtime) and prints one table: each line beside its peers of the same run, with its bar
and whether it is met. Figures are medians of the rounds.
"""
import argparse
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BAR = re.compile(r"(\w+) (<=|>=) ([0-9.e+-]+)(?: (ns|us|ms)| of (\S+))?$")
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
    """One benchmark: its time in ns an iteration, its counters, and what it says of its bar."""

    def __init__(self, row):
        # Google Benchmark appends what it was told of iterations, threads and time.
        self.name = re.sub(r"/(iterations|repeats|min_time|min_warmup_time|manual_time|real_time|process_time|threads)(:[^/]*)?", "", row["run_name"])
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


class Table:
    def __init__(self, lines):
        self.lines = {line.name: line for line in lines}
        self.missed = []

    def bar(self, line, text):
        """Whether the line meets one bar: (text to show, True or False, or None where the peer was not there)."""
        match = BAR.match(text)
        if not match:
            sys.exit(f"runtime_table: line '{line.name}': '{text}' is no bar; write 'time <= 25 ns' or 'rate >= 0.9 of NAME'")
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
            if "/".join(line.name.split("/")[:2]) != topic:
                topic = "/".join(line.name.split("/")[:2])
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
        print(f"\n{len(self.missed)} bars missed" if self.missed else "\nevery bar met")
        for missed in self.missed:
            print(f"  {missed}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--program", help="the benchmarks' program, where it is not in the build folder")
    parser.add_argument("--only", default=".", help="lines whose name matches this alone")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each line")
    parser.add_argument("--seconds", type=float, default=0.1, help="the least that a run takes")
    parser.add_argument("--json", help="keep Google Benchmark's own account here")
    options = parser.parse_args()
    program = options.program or os.path.join(options.build, "tests/bench/runtime/runtime_benchmarks")
    command = [program, "--benchmark_format=json", f"--benchmark_filter={options.only}", f"--benchmark_min_time={options.seconds}",
               f"--benchmark_repetitions={options.rounds}", "--benchmark_enable_random_interleaving=true"]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT)
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
    # A line that could not run has no median.
    wanted = [row for row in said["benchmarks"] if row.get("error_occurred") or options.rounds == 1 or row.get("aggregate_name") == "median"]
    failed = {row["run_name"]: row for row in wanted if row.get("error_occurred")}
    table = Table([Line(row) for row in wanted if row["run_name"] not in failed or row is failed[row["run_name"]]])
    table.print()
    sys.exit(1 if table.missed else 0)


if __name__ == "__main__":
    main()
