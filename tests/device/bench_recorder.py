#!/usr/bin/env python3
"""Measures the cost of recording on a machine with an NVIDIA GPU: ./dev bench recorder

    bench_recorder.py [PROGRAM]        (default build/release/sluice, with libsluice_capture.so beside it)

All variants of a program (bare, recorded, under other recorders) run side by side and take turns, so that each is
compared with a bare run within the same seconds. Results are medians over the rounds. `bare again` is a second bare
process. Its difference is noise. For steps that the host bounds, the cost of memory mode is measured again in pairs:
one process switches its recorder off and on every few steps, while nothing else runs. That resolves differences of 2 or
3 % in some twenty rounds, compared with 8 % otherwise. But passive costs (the functions that forward calls, the waiting
threads) are in both halves. The cost of sampling host threads in timeline mode is measured in the same way, in
rounds of three turns in random order: sampled, not sampled, and not sampled again, whose difference is the noise. The
script needs nvcc, g++, libcupti and a python3 with PyTorch; `ONLY=sampling_paired` needs only the latter, takes about
80 s, and prints its results as they come. Prints a table; recorder.json and the table go to $OUT.
    ROUNDS=9    number of turns of each variant (7 at least)
    ONLY=mlp,transformer   only these pieces of work (calls, mlp, mlp_wide, transformer, graph, empty, operator, mlp_paired,
                transformer_paired, sampling_paired), and not the disk
    CORE=1      only the measurements with budgets, so that fewer processes share the machine
    PROCESSES=3 number of processes for each variant with a budget: the memory placement of a process and its caches
                makes its steps some percent faster or slower throughout, which a single process cannot separate from
                recording
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SLUICE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/release/sluice")
OUT = os.environ.get("OUT") or "build/bench"
ROUNDS = max(7, int(os.environ.get("ROUNDS", "9")))
CORE = bool(os.environ.get("CORE"))
ONLY = [work for work in os.environ.get("ONLY", "").split(",") if work]
PROCESSES = max(1, int(os.environ.get("PROCESSES", "3")))
# All variants run on the same few cores, because only one runs at a time and the cores of a shared machine differ.
CORES = set(sorted(os.sched_getaffinity(0))[:8])
CUDA = os.environ.get("CUDA_HOME", "/usr/local/cuda")
WORK = tempfile.mkdtemp(prefix="bench-recorder-")

# Steps or calls per round.
PAIRED = ("mlp_paired", "transformer_paired")
COUNTS = {"mlp_paired": 60, "transformer_paired": 30, "mlp": 200, "mlp_wide": 100, "transformer": 60, "graph": 150, "empty": 20000, "operator": 20000}
# PyTorch's profiler gets fewer, because it takes seconds to process many steps.
COUNTS_WATCHED = {"mlp": 60, "mlp_wide": 60, "transformer": 20, "graph": 60, "empty": 4000, "operator": 4000}


def complain(text):
    print(f"bench_recorder: {text}", file=sys.stderr, flush=True)


def recorded(run, name, *options):
    return lambda number: [SLUICE, "record", "--force", "-o", f"{WORK}/{name}-{number}.sluice", *options, "--", *run]


class Process:
    """One process that measures on request."""

    def __init__(self, name, command, environment, number):
        self.name = f"{name} {number}"
        self.log = open(f"{OUT}/recorder-{self.name.replace(' ', '-')}.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        env={**os.environ, **(environment or {})},
                                        preexec_fn=lambda: os.sched_setaffinity(0, CORES))
        self.dead = False

    def answer(self):
        patience = threading.Timer(90, self.process.kill)
        patience.start()
        try:
            for line in self.process.stdout:
                if line.startswith("{"):
                    return json.loads(line)
        finally:
            patience.cancel()
        if not self.dead:
            complain(f"{self.name}: its process ended; see {self.log.name}")
        self.dead = True
        return None

    def measure(self, line):
        if self.dead:
            return None
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except OSError:
            pass
        return self.answer()

    def end(self):
        try:
            self.process.stdin.close()
            self.process.wait(timeout=60)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()


class Variant:
    """A way of running a program, with several processes. `command(number)` is the command of each."""

    def __init__(self, name, command, environment=None, counts=None, processes=1, paired=False):
        self.name, self.counts, self.paired = name, counts or COUNTS, paired
        self.processes = [Process(name, command(n) if callable(command) else command, environment, n) for n in range(processes)]

    def answer(self):
        for process in self.processes:
            process.answer()

    def end(self):
        for process in self.processes:
            process.end()


def build():
    arch = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], check=True, capture_output=True,
                          text=True).stdout.split()[0].replace(".", "")
    subprocess.run([f"{CUDA}/bin/nvcc", "-std=c++17", "-O2", f"-arch=sm_{arch}", f"{HERE}/bench_calls.cu", "-o",
                    f"{WORK}/bench_calls"], check=True)
    include = [f"{CUDA}/targets/x86_64-linux/include", f"{CUDA}/include", f"{CUDA}/extras/CUPTI/include"]
    subprocess.run(["g++", "-std=c++17", "-O2", "-fPIC", "-shared", *[f"-I{i}" for i in include], f"{HERE}/bench_cupti.cpp", "-o",
                    f"{WORK}/libbench_cupti.so", libcupti(), f"-Wl,-rpath,{os.path.dirname(libcupti())}"], check=True)


def libcupti():
    """Returns the toolkit's library. If PyTorch has loaded its own library of the same version, the loader uses
    that."""
    found = [f"{root}/{name}" for root in (f"{CUDA}/targets/x86_64-linux/lib", f"{CUDA}/lib64", f"{CUDA}/extras/CUPTI/lib64")
             for name in ("libcupti.so.13", "libcupti.so.12", "libcupti.so") if os.path.exists(f"{root}/{name}")]
    if not found:
        raise SystemExit(f"bench_recorder: no libcupti under {CUDA}; name the toolkit in CUDA_HOME")
    return found[0]


CUPTI_PARTS = {"memory": "launches,allocations,copies,copy-records,graph-records",
               "timeline": "launches,allocations,copies,copy-records,graph-records,kernel-records"}


def bare_cupti(mode):
    return {"CUDA_INJECTION64_PATH": f"{WORK}/libbench_cupti.so", "BENCH_CUPTI": CUPTI_PARTS.get(mode, mode)}


def without(parts):
    return {"SLUICE_CAPTURE_WITHOUT": parts}


# Variants of memory mode without some of its parts, to measure the cost of each part.
PARTS = ["touches", "launches", "copies", "graphs", "migrations", "copies,graphs,migrations",
         "copies,graphs,migrations,launches", "flushes,samples"]


def calls_variants():
    run = [f"{WORK}/bench_calls", "--wait"]
    core = [
        Variant("bare", run, processes=PROCESSES),
        Variant("bare again", run, processes=PROCESSES),
        Variant("memory", recorded(run, "calls-memory", "--mode", "memory", "--stacks", "native"), processes=PROCESSES),
        Variant("memory, no stacks", recorded(run, "calls-none", "--mode", "memory", "--stacks", "none"), processes=PROCESSES),
        Variant("memory, no stacks, find duplicates",
                recorded(run, "calls-duplicates", "--mode", "memory", "--stacks", "none", "--find-duplicates"), processes=PROCESSES),
        Variant("memory, no stacks, find all duplicates",
                recorded(run, "calls-all-duplicates", "--mode", "memory", "--stacks", "none", "--find-duplicates=100")),
        Variant("timeline", recorded(run, "calls-timeline", "--mode", "timeline", "--stacks", "native"), processes=PROCESSES),
        Variant("CUPTI, memory", run, bare_cupti("memory"), processes=PROCESSES),
        Variant("CUPTI, timeline", run, bare_cupti("timeline")),
    ]
    return core if CORE else core + [
        *[Variant("CUPTI: " + (parts or "subscribed"), run, bare_cupti(parts))
          for parts in ("", "allocations", "launches", "copy-records", "graph-records", "kernel-records")],
        *[Variant("without " + parts, recorded(run, f"calls-{i}", "--mode", "memory", "--stacks", "none"), without(parts))
          for i, parts in enumerate(PARTS)],
    ]


def torch_variants():
    run = [sys.executable, f"{HERE}/bench_work.py"]
    watch = lambda how: run + ["--watch", how]
    core = [
        Variant("bare", run, processes=PROCESSES),
        Variant("bare again", run, processes=PROCESSES),
        Variant("memory", recorded(run, "torch-memory", "--mode", "memory"), processes=PROCESSES, paired=True),
        Variant("memory, no stacks", recorded(run, "torch-none", "--mode", "memory", "--stacks", "none"), processes=PROCESSES,
                paired=True),
        Variant("timeline", recorded(run, "torch-timeline", "--mode", "timeline"), processes=PROCESSES),
        Variant("timeline, nodes", recorded(run, "torch-nodes", "--mode", "timeline", "--graphs", "node")),
        Variant("CUPTI, memory", run, bare_cupti("memory"), processes=PROCESSES),
        Variant("CUPTI, timeline", run, bare_cupti("timeline")),
    ]
    return core if CORE else core + [
        *[Variant("without " + parts, recorded(run, f"torch-{i}", "--mode", "memory", "--stacks", "none"), without(parts))
          for i, parts in enumerate(PARTS) if "," in parts or parts in ("touches", "launches")],
        Variant("profiler, CUDA", watch("profiler-cuda"), counts=COUNTS_WATCHED),
        Variant("profiler, all", watch("profiler-all"), counts=COUNTS_WATCHED),
        Variant("memory history", watch("history"), counts=COUNTS_WATCHED),
    ]


def take_turns(variants, works, line_of, figures_of):
    """Returns {work: {variant: [result of each round, the mean of its processes]}}. A round that failed is None."""
    for variant in variants:
        variant.answer()
    # Processes of one variant are spread over the round, and each round starts with a different one.
    waves = max(len(variant.processes) for variant in variants)
    order = [(variant, variant.processes[wave]) for wave in range(waves) for variant in variants if wave < len(variant.processes)]
    results = {}
    for work in works:
        for round_number in range(ROUNDS):
            first = round_number * len(order) // ROUNDS
            answers = {}
            for variant, process in order[first:] + order[:first]:
                if work in PAIRED and not variant.paired:
                    continue
                for name, figure in figures_of(work, process.measure(line_of(variant, work))).items():
                    answers.setdefault((name, variant.name), []).append(figure)
            for (name, variant), figures in answers.items():
                mean = None if None in figures else statistics.fmean(figures)
                results.setdefault(name, {}).setdefault(variant, []).append(mean)
        # Writes intermediate results, in case the run is killed.
        write({"results": {name: compare(rounds) for name, rounds in results.items()}}, "recorder-so-far")
    for variant in variants:
        variant.end()
    return results


def measure_calls():
    names = ["launch", "launch_touching", "copy", "memset", "malloc_free", "malloc_free_async", *COPIED]
    return take_turns(calls_variants(), ["all"], lambda v, w: "go",
                      lambda w, answer: {name: answer[name] if answer else None for name in names})


def measure_torch():
    works = [work for work in ONLY or COUNTS if work in COUNTS]
    return take_turns(torch_variants(), works, lambda v, w: f"{w} {v.counts[w]}",
                      lambda w, answer: {w: answer["mean"] if answer else None, w + " (median)": answer["median"] if answer else None,
                                         **({w + " (fastest)": answer["fastest"] if answer else None} if w in PAIRED else {})})


def describe_sampling(result):
    def spread(low, middle, high):
        return f"{middle:+.2f} % [{low:+.2f}, {high:+.2f}]"

    return (f"| {result['work']} | {result['rounds']} | {result['off']:.1f} us | {result['on']:.1f} us | {spread(*result['more'])} | "
            f"{spread(*result['noise'])} |")


def check_sampled(file):
    """Prints for which part of its time the busiest thread was sampled: a third, if the switch works."""
    sql = ("SELECT sum(length) / 1e9 AS sampled, (max(time) - min(time)) / 1e9 AS whole FROM host_sample GROUP BY thread "
           "ORDER BY sampled DESC LIMIT 1")
    done = subprocess.run([SLUICE, "query", "--format", "json", file, sql], capture_output=True, text=True, check=False)
    rows = json.loads(done.stdout) if done.returncode == 0 else []
    print(f"samples of one thread: {rows[0]['sampled']:.1f} of {rows[0]['whole']:.1f} s" if rows else "there are no samples", flush=True)


def measure_sampling():
    """Returns the cost of sampling host threads by work, and prints it as it becomes known."""
    file, results = f"{WORK}/sampling.sluice", {}
    command = [SLUICE, "record", "--force", "--mode", "timeline", "-o", file, "--", sys.executable, f"{HERE}/bench_work.py", "--sampling"]
    print("A step with sampling of host threads on, against off, in one process: medians [quartiles]\n\n"
          "| work | rounds | off | on | more | noise: off against off |\n|---|---|---|---|---|---|", flush=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, CORES)) as process:
        for line in process.stdout:
            if line.startswith("{"):
                result = json.loads(line)
                results[result["work"]] = result
                print(describe_sampling(result), flush=True)
    if process.returncode == 0:
        check_sampled(file)
    else:
        complain(f"sampling_paired: exit status {process.returncode}")
    return results


def compare(rounds):
    """Returns, for each variant, its median, and the median over the rounds of its excess over the bare run of that
    round."""
    bare = rounds.get("bare")
    if bare is None:  # The work is measured in pairs, so the results are percentages.
        return {name: paired_figure(figures) for name, figures in rounds.items() if any(f is not None for f in figures)}
    out = {}
    for name, figures in rounds.items():
        both = [(b, f) for b, f in zip(bare, figures) if b and f]
        if not both:
            continue
        out[name] = {"median": statistics.median(f for _, f in both), "more": statistics.median(f - b for b, f in both),
                     "more_percent": 100 * statistics.median(f / b - 1 for b, f in both), "rounds": figures}
    return out


def paired_figure(figures):
    there = sorted(f for f in figures if f is not None)
    return {"median": statistics.median(there), "low": there[len(there) // 4], "high": there[3 * len(there) // 4], "rounds": figures}


def disk():
    """Returns the bytes per event of a real training, for the whole file, stacks included."""
    out = {}
    for model in ("gpt", "mlp"):
        for mode in ("memory", "timeline"):
            path = f"{WORK}/disk-{model}-{mode}.sluice"
            done = subprocess.run([SLUICE, "record", "--force", "-o", path, "--mode", mode, "--", sys.executable, f"{HERE}/train.py",
                                   "--model", model, "--steps", "300"], capture_output=True, text=True, check=False)
            said = re.search(r"([\d,]+) events?, ([\d,]+) lost", done.stderr)
            if done.returncode == 0 and said and os.path.exists(path):
                events = int(said.group(1).replace(",", ""))
                out[f"{model}, {mode}"] = {"bytes": os.path.getsize(path), "events": events, "lost": said.group(2),
                                           "bytes_per_event": os.path.getsize(path) / max(1, events)}
            else:
                complain(f"disk, {model}, {mode}: {done.stderr[-400:]}")
    return out


def ring():
    """Returns the nanoseconds to put one event into the ring, if the benchmark is available."""
    program = os.path.join(os.path.dirname(SLUICE), "bench", "bench_ring")
    if not os.access(program, os.X_OK):
        return {}
    done = subprocess.run([program, "--benchmark_format=json"], capture_output=True, text=True, check=False)
    try:
        return {b["name"]: b["real_time"] for b in json.loads(done.stdout)["benchmarks"]}
    except (ValueError, KeyError):
        return {}


BUDGETS = [  # name, work, variant, maximum, unit
    ("MLP + Adam step, memory", "mlp", "memory", 1, "%"),
    ("MLP + Adam step, timeline", "mlp", "timeline", 2, "%"),
    ("MLP + Adam step, wide: the GPU is the bound, memory", "mlp_wide", "memory", 1, "%"),
    ("MLP + Adam step, wide: the GPU is the bound, timeline", "mlp_wide", "timeline", 2, "%"),
    ("transformer step, memory", "transformer", "memory", 1, "%"),
    ("transformer step, timeline", "transformer", "timeline", 2, "%"),
    ("transformer as a graph, memory, whole", "graph", "memory", 1, "%"),
    ("transformer as a graph, timeline, whole", "graph", "timeline", 1, "%"),
    ("transformer as a graph, timeline, node", "graph", "timeline, nodes", None, "%"),
    ("cudaMallocAsync + Free, native stack", "malloc_free_async", "memory", 250, "ns"),
    ("torch.empty + del, Python stack", "empty", "memory", 400, "ns"),
    ("tiny kernel, memory", "launch", "memory", 150, "ns"),
    ("tiny kernel that names 2 blocks, memory", "launch_touching", "memory", 150, "ns"),
    ("tiny kernel, timeline", "launch", "timeline", 550, "ns"),
]


COPIED = {"copied_4k": "4 KiB", "copied_1m": "1 MiB", "copied_64m": "64 MiB"}


def duplicates_lines(results):
    """Returns lines with the cost of --find-duplicates. Each copy is compared with the same copy recorded without the
    option, in the same round."""
    lines = []
    for work, size in COPIED.items():
        of = results.get(work, {})
        base = of.get("memory, no stacks")
        for variant, what in (("memory, no stacks, find duplicates", "--find-duplicates"),
                              ("memory, no stacks, find all duplicates", "--find-duplicates=100 (each copy hashed)")):
            if base is None or variant not in of:
                continue
            both = [(b, f) for b, f in zip(base["rounds"], of[variant]["rounds"]) if b and f]
            if not both:
                continue
            more = statistics.median(f - b for b, f in both)
            noise = f"{of['bare again']['more']:+.0f} ns" if "bare again" in of else ""
            lines.append(f"| copy of {size} from pinned memory, {what} | {of['bare']['median']:.0f} ns | {of[variant]['median']:.0f} ns | "
                         f"{more:+.0f} ns ({100 * more / base['median']:+.2f} %) to recording without | | {noise} | | stated |")
    return lines


def table(results, on_disk, in_ring):
    lines = ["| work | bare | recorded | more | CUPTI alone | noise | at most | |", "|---|---|---|---|---|---|---|---|"]
    unit = {"%": "us", "ns": "ns"}
    for what, work, variant, most, kind in BUDGETS:
        of = results.get(work, {})
        if variant not in of and not ONLY:
            lines.append(f"| {what} | | not measured | | | | | |")
        if variant not in of:
            continue
        field = "more_percent" if kind == "%" else "more"
        more = of[variant][field]
        # CUPTI's cost for the same kinds of callbacks and records is a lower bound for any recorder based on CUPTI.
        floor = of.get("CUPTI, memory" if variant.startswith("memory") else "CUPTI, timeline")
        floor = "" if floor is None else f"{floor[field]:+.2f} {kind}"
        noise = f"{of['bare again'][field]:+.2f} {kind}" if "bare again" in of else ""
        verdict = "stated" if most is None else "met" if more <= most else "missed"
        lines.append(f"| {what} | {of['bare']['median']:.1f} {unit[kind]} | {of[variant]['median']:.1f} {unit[kind]} | "
                     f"{more:+.2f} {kind} | {floor} | {noise} | {'' if most is None else f'+{most} {kind}'} | {verdict} |")
    lines += duplicates_lines(results)
    for name, nanoseconds in in_ring.items():
        lines.append(f"| ring: {name} | | {nanoseconds:.1f} ns | | | | +20 ns | |")
    for name, of in on_disk.items():
        lines.append(f"| disk: {name} ({of['events']} events, {of['lost']} lost) | | {of['bytes_per_event']:.2f} bytes/event | | | | 4 | "
                     f"{'met' if of['bytes_per_event'] <= 4 else 'missed'} |")
    paired = {work: of for work, of in results.items() if work.startswith(PAIRED)}
    if paired:
        lines += ["", "A step with recording on, against off in the same process: median over the rounds [quartiles]", "",
                  "| work | variant | more |", "|---|---|---|"]
    for work, of in paired.items():
        lines += [f"| {work} | {name} | {f['median']:+.2f} % [{f['low']:+.1f}, {f['high']:+.1f}] |" for name, f in of.items()]
    lines += ["", "Every variant beside the bare run of the same round:", ""]
    for work, of in results.items():
        if work in paired:
            continue
        lines.append(f"{work}: " + ", ".join(f"{name} {f['median']:.1f} ({f['more']:+.1f}, {f['more_percent']:+.2f} %)"
                                            for name, f in of.items()))
    return "\n".join(lines)


def write(everything, name="recorder"):
    with open(f"{OUT}/{name}.json", "w", encoding="utf-8") as out:
        json.dump(everything, out, indent=1)


def main():
    os.makedirs(OUT, exist_ok=True)
    if not os.access(SLUICE, os.X_OK):
        complain(f"{SLUICE}: no such program; build it with ./dev build")
        return 1
    begin = time.monotonic()
    sampling = measure_sampling() if not ONLY or "sampling_paired" in ONLY else {}
    write({"sampling": sampling})
    if ONLY == ["sampling_paired"]:
        shutil.rmtree(WORK, ignore_errors=True)
        return 0 if sampling else 1
    build()
    results = {work: compare(rounds) for work, rounds in measure_calls().items()} if not ONLY or "calls" in ONLY else {}
    write({"results": results})
    complain(f"calls done after {time.monotonic() - begin:.0f} s")
    if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
        results |= {work: compare(rounds) for work, rounds in measure_torch().items()}
        complain(f"PyTorch done after {time.monotonic() - begin:.0f} s")
        write({"results": results})
        on_disk = {} if ONLY else disk()
    else:
        complain("python3 has no torch, so its part is left out")
        on_disk = {}
    in_ring = ring()
    text = table(results, on_disk, in_ring)
    print(text)
    with open(f"{OUT}/recorder.txt", "w", encoding="utf-8") as out:
        out.write(text + "\n")
    write({"rounds": ROUNDS, "seconds": time.monotonic() - begin, "results": results, "disk": on_disk, "ring": in_ring,
           "sampling": sampling})
    shutil.rmtree(WORK, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
