#!/usr/bin/env python3
"""Measures the cost of traces of any size: ./dev bench trace [EVENTS...] [--only WORD] [--keep] (see ./dev help)

Generates traces of the requested sizes (default 1M, 10M and 100M), repeats a recording up to the largest size, and
takes the table's measurements on each. Each line states its target, and whether the target is met. A command that
exceeds its limit of time or memory is stopped, and its line reports that. Times are medians of the runs, and wall-clock
times unless noted. "cold" means that the trace is not in the page cache, but the program is. Each part begins with the
time of a fixed piece of work, so that runs can be compared.
"""
import argparse
import os
import random
import re
import resource
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORDING = os.path.join(ROOT, "assets/recordings/pytorch-training.sluice")
SMALL = os.path.join(ROOT, "assets/recordings/overlap.sluice")
MIB = 1 << 20


def fixed_work():
    """Returns the processor time in ms of compressing 4 MiB of noise with zlib, the fastest of three. It makes results
    of different runs comparable: other load on a host can make a virtual machine of two processors half as fast for
    minutes."""
    noise = random.Random(1).randbytes(4 * MIB)
    fastest = float("inf")
    for _ in range(3):
        begin = time.process_time()
        zlib.compress(noise, 6)
        fastest = min(fastest, time.process_time() - begin)
    return 1e3 * fastest


def size_of(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgG]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of events; write 1000000 or 1M")
    return int(float(match[1]) * {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}[match[2].lower()])


def short(events):
    for unit, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if events >= unit:
            return f"{events / unit:g}{name}"
    return str(events)


class Run:
    """One command: its time, its peak memory, and its output."""

    def __init__(self, command, limits, memory=True):
        self.failure = None
        def limit():
            if memory:
                resource.setrlimit(resource.RLIMIT_DATA, (limits.memory, limits.memory))
        with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
            begin = time.perf_counter()
            process = subprocess.Popen(command, stdout=said, stderr=complained, preexec_fn=limit, cwd=ROOT)
            # This sleeps until the process ends, because polling might disturb the measurement.
            ended = os.pidfd_open(process.pid)
            if not select.select([ended], [], [], limits.seconds)[0]:
                process.kill()
                self.failure = f"stopped after {limits.seconds:g} s"
            _, status, used = os.wait4(process.pid, 0)
            os.close(ended)
            self.seconds = time.perf_counter() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
            self.resident = used.ru_maxrss * 1024
            self.processor = used.ru_utime + used.ru_stime
            said.seek(0)
            complained.seek(0)
            self.said = said.read()
            if process.returncode != 0 and not self.failure:
                last = complained.read().strip().splitlines()[-1:] or [f"exit status {process.returncode}"]
                self.failure = f"failed: {last[0][:120]}"
                if "bad_alloc" in last[0] or process.returncode in (-6, -9, -11):
                    self.failure = f"stopped at {limits.memory / MIB / 1024:g} GiB of memory"


def forget(path):
    """Evicts a file from the page cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Bench:
    def __init__(self, options):
        self.options = options
        self.sluice = os.path.join(options.build, "sluice")
        self.tools = os.path.join(options.build, "tests/bench")
        self.folder = options.folder
        self.lines = 0
        self.missed = []
        os.makedirs(self.folder, exist_ok=True)

    def wanted(self, group):
        return not self.options.only or group in self.options.only

    def headline(self, text):
        print(f"\n{text}\n  (a fixed piece of work, zlib over 4 MiB, takes {fixed_work():.0f} ms of one processor now)")

    def line(self, what, figure, bar, met, note=""):
        """Prints one line of the table. `met` is True, False, or None if there is no target."""
        verdict = "" if met is None else "met" if met else "MISSED"
        if met is False:
            self.missed.append(what)
        print(f"  {what:<58} {figure:>22}  {bar:<22} {verdict:<7} {note}", flush=True)

    def failed(self, what, bar, run):
        self.line(what, "-", bar, False if bar else None, run.failure)

    def repeat(self, command, cold=None, rounds=None):
        """Returns the median run, or the first that failed."""
        runs = []
        for _ in range(rounds or self.options.rounds):
            if cold:
                forget(cold)
            runs.append(Run(command, self.options))
            if runs[-1].failure:
                return runs[-1]
        return sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]

    # --- traces -----------------------------------------------------------------------------------------------------

    def make(self, name, arguments):
        """Generates a trace unless it already exists. Returns its path and the generator's output."""
        path = os.path.join(self.folder, name + ".sluice")
        command = [self.sluice, "generate", *arguments, "--force", "-o", path]
        run = Run(command, argparse.Namespace(memory=self.options.memory, seconds=3600))
        if run.failure:
            sys.exit(f"trace_at_scale: {' '.join(command)}: {run.failure}")
        events, size = map(int, re.search(r": (\d+) events, (\d+) bytes", run.said).groups())
        return path, events, size, run

    def sizes(self):
        """Prints the bytes per event of generated and recorded traces."""
        if not self.wanted("size"):
            return
        self.headline("Size on disk (bytes per event, of the whole file)")
        def an_event(path):
            """Returns the bytes of tables and events. Summaries are the same for both if a trace is large enough to
            have them."""
            rows = self.rows_of(path)
            return (rows["tables"][1] + rows["events"][1]) / rows["events"][0]

        recorded = an_event(RECORDING)
        self.line("recorded: PyTorch training, timeline mode, Python stacks", f"{recorded:.2f}", "", None, "assets/recordings/pytorch-training.sluice")
        path, events, size, _ = self.make("size-training", ["--events", "1000000"])
        generated = an_event(path)
        self.line("generated: training, the same mode and stacks", f"{generated:.2f}", "recorded +- 10 %", abs(generated / recorded - 1) <= 0.1,
                  f"sluice generate --events 1000000; with its summaries {size / events:.2f}")
        for stacks, bar in (("none", 3.0), ("python", 4.0), ("all", 4.0)):
            path, _, _, _ = self.make(f"size-{stacks}", ["--events", "1000000", "--stacks", stacks, "--mode", "memory"])
            rows = self.rows_of(path)
            memory = [rows[kind] for kind in ("alloc", "free", "touch", "live_block", "checkpoint") if kind in rows]
            tables = rows["tables"][1] if stacks != "none" else 0
            figure = (sum(size for _, size in memory) + tables) / sum(count for count, _ in memory)
            self.line(f"memory events, stacks: {stacks}", f"{figure:.2f}", f"{bar} each", figure <= bar,
                      "allocations, frees, touches, checkpoints" + (", and all tables" if tables else ""))
            pairs = [rows[kind] for kind in ("alloc", "free")]
            figure = (sum(size for _, size in pairs) + tables) / sum(count for count, _ in pairs)
            self.line("  of these allocations and frees alone", f"{figure:.2f}", f"{bar} each", figure <= bar)

    def rows_of(self, path):
        """Returns rows and bytes by kind."""
        run = Run([os.path.join(self.tools, "trace_sizes"), path], self.options)
        if run.failure:
            sys.exit(f"trace_at_scale: {run.failure}")
        found = {}
        for text in run.said.splitlines():
            match = re.match(r"(\S[^|]*?)\s+\|\s+(\d+)\s+(\d+)\s", text)
            if match:
                found[match[1]] = (int(match[2]), int(match[3]))
        return found

    def writing(self):
        if not self.wanted("write"):
            return
        self.headline("Writing (one core's processor time; files in memory)")
        path, *_ = self.make("write", ["--events", "2000000"])
        for what, arguments, bar in (("from rings, through the collector", ["rings", "10000000"], 20), ("from rows, a training's", ["rows", path], None)):
            run = self.repeat([os.path.join(self.tools, "trace_writing"), *arguments])
            label = f"write, {what}"
            wanted = f">= {bar} M events/s" if bar else ""
            if run.failure:
                self.failed(label, wanted, run)
                continue
            rate, density = map(float, re.search(r": ([\d.]+) million events/s, ([\d.]+) bytes", run.said).groups())
            self.line(label, f"{rate:.2f} M events/s", wanted, rate >= bar if bar else None, f"trace_writing {arguments[0]}, {density:.2f} bytes an event")

    # --- reading ----------------------------------------------------------------------------------------------------

    def picture(self, path, cold):
        return self.repeat([self.sluice, "screenshot", path, "--force", "-o", os.path.join(self.folder, "picture.png")], cold=path if cold else None)

    def reading(self, name, path, events, size, largest, smallest=None):
        """Measures reading one trace. `smallest` is the same kind of trace with the fewest events."""
        self.headline(f"{name}: {events:,} events, {size / MIB:.1f} MiB, {size / events:.2f} bytes an event")
        bars = largest
        if self.wanted("open"):
            self.pictures(path, bars, smallest)
        if self.wanted("questions"):
            self.questions(path, bars)
        if self.wanted("report"):
            run = self.repeat([self.sluice, "report", path])
            label, bar = "sluice report, warm", "1 s" if bars else ""
            if run.failure:
                self.failed(label, bar, run)
            else:
                self.line(label, f"{run.seconds:.2f} s", bar, run.seconds <= 1 if bars else None, f"{run.resident / MIB:.0f} MiB resident")

    def pictures(self, path, bars, smallest):
        if not self.small:
            self.small = self.picture(SMALL, False)
        for cold in (True, False):
            label = f"sluice screenshot, {'cold' if cold else 'warm'}"
            run = self.picture(path, cold)
            if run.failure:
                self.failed(label, "0.5 s" if bars else "", run)
                continue
            self.line(label, f"{run.seconds:.3f} s", "0.5 s" if bars else "", run.seconds <= 0.5 if bars else None,
                      f"process start to picture written; {run.processor:.2f} s of processor time")
            # These costs do not depend on the trace: the program's start, GL, fonts and shaders, the image file.
            ours = run.seconds - self.small.seconds
            self.line("  more than of a recording of 7 KiB, which is GL's start", f"{ours:+.3f} s", "0.15 s" if bars else "", ours <= 0.15 if bars else None,
                      f"{self.small.seconds:.3f} s for that")
            if not cold:
                self.line("  resident at most", f"{run.resident / MIB:.0f} MiB", "400 MiB" if bars else "", run.resident <= 400 * 10**6 if bars else None)
                if self.first_seconds is None:
                    self.first_seconds = run.seconds
                elif bars:
                    ratio = run.seconds / self.first_seconds
                    self.line("  against the smallest training", f"{ratio:.2f} x", "1.2 x", ratio <= 1.2)
                if smallest:
                    beside = self.picture(smallest, False)
                    ratio = run.seconds / beside.seconds
                    self.line("  against the smallest of its kind", f"{ratio:.2f} x", "1.2 x", ratio <= 1.2, f"{beside.seconds:.3f} s for that")

    def questions(self, path, bars):
        run = Run([os.path.join(self.tools, "trace_queries"), path], self.options)
        if run.failure:
            self.failed("any zoom or pan, all tracks, data side", "2 ms" if bars else "", run)
            return
        figures = {match[1]: (float(match[2]), float(match[3])) for match in re.finditer(r"(.+): median ([\d.]+) worst ([\d.]+)", run.said)}
        for key, label, bar in (("open until the tracks are known", "open until the tracks are known", None),
                                ("first look at all tracks", "first look at all tracks, 1600 pixels", None),
                                ("a zoom or pan, all tracks, 16 ms after the last", "a zoom or pan, all tracks, exact, 16 ms after the last", 2),
                                ("a zoom or pan, all tracks, again", "  without a pause, where it was before", 2),
                                ("a zoom or pan, all tracks, without a pause", "  without a pause, where it never was", 2),
                                ("a jump to another place, all tracks", "  a jump to a place it was never near", None),
                                ("a zoom or pan, all tracks, until drawn", "a view without a pause, until a first answer is drawn", 2),
                                ("a notch of the wheel each 16 ms, all tracks, until exact", "a view at one each 16 ms, until exact", 2),
                                ("blocks live at a time, first time", "blocks live at a random time, first time", 50),
                                ("blocks live at a time, again", "blocks live at a random time, again", 5),
                                ("address map of all segments at a time, first time", "address map at a random time, first time", 50),
                                ("address map of all segments at a time, again", "address map at a random time, again", 5),
                                ("figures of half the trace", "figures of half the trace", None),
                                ("blocks of half the trace", "blocks of half the trace", None),
                                ("stacks at the peak of half the trace", "stacks at the peak of half the trace", None)):
            if key not in figures:
                continue
            median, worst = figures[key]
            met = None if bar is None or not bars else worst <= bar
            self.line(label, f"{median:.2f} / {worst:.2f} ms", f"{bar} ms at worst" if bar and bars else "", met, "median / worst" if median != worst else "")
        resident = re.search(r"resident at most: (\d+) KiB", run.said)
        self.line("resident at most while asking", f"{int(resident[1]) / 1024:.0f} MiB", "", None, "trace_queries")

    # --- imports ----------------------------------------------------------------------------------------------------

    def imports(self):
        if not self.wanted("import"):
            return
        self.headline("Imports (sluice import, warm)")
        for what, maker, arguments, file, seconds, resident in (
                ("Kineto JSON, 1M events", "make-kineto-json", ["1000000"], "kineto.json", 0.35, 150),
                ("Kineto JSON, 1M events, .gz", "make-kineto-json", ["1000000"], "kineto.json.gz", None, 150),
                ("PyTorch snapshot, 200k events", "make-torch-snapshot", ["200000"], "snapshot.pickle", 0.2, None),
                ("Nsight Systems SQLite, 10M rows", "make-nsys-sqlite", ["10000000"], "nsys.sqlite", 5, None)):
            program = os.path.join(ROOT, "tests/bench", maker)
            if not os.path.exists(program):
                self.line(what, "-", f"{seconds:g} s" if seconds else "", None, f"no tests/bench/{maker}")
                continue
            path = os.path.join(self.folder, file)
            if not os.path.exists(path):
                made = Run([program, *arguments, path], argparse.Namespace(memory=16 << 30, seconds=1800))
                if made.failure:
                    self.line(what, "-", "", None, f"{maker}: {made.failure}")
                    continue
            run = self.repeat([self.sluice, "import", path, "--force", "-o", os.path.join(self.folder, "imported.sluice")])
            bar = f"{seconds:g} s" if seconds else "inflating + 20 %"
            limit = seconds
            if not seconds:
                begin = time.perf_counter()
                subprocess.run(["gzip", "-dc", path], stdout=subprocess.DEVNULL, check=True)
                inflating = time.perf_counter() - begin
                plain = self.import_seconds.get("kineto.json")
                limit = (plain or 0.35) + 1.2 * inflating
                bar = f"{limit:.2f} s"
            if run.failure:
                self.failed(what, bar, run)
                continue
            self.import_seconds[file] = run.seconds
            self.line(what, f"{run.seconds:.2f} s", bar, run.seconds <= limit, f"{os.path.getsize(path) / 10**6:.0f} MB")
            self.line("  resident at most", f"{run.resident / MIB:.0f} MiB", f"{resident} MB" if resident else "",
                      run.resident <= resident * 10**6 if resident else None, f"{run.processor:.2f} s of processor time")

    def run(self):
        options = self.options
        with open("/proc/cpuinfo") as info:
            processor = re.search(r"model name\s*: (.*)", info.read())
        print(f"{os.cpu_count()} cores, {processor[1] if processor else 'unknown'}; medians of {options.rounds}; load {os.getloadavg()[0]:.1f}")
        self.small = None
        self.first_seconds = None
        self.import_seconds = {}
        self.sizes()
        self.writing()
        if any(self.wanted(group) for group in ("open", "questions", "report")):
            largest = max(options.events)
            for events in sorted(options.events):
                path, count, size, made = self.make(f"training-{short(events)}", ["--events", str(events)])
                self.reading(f"Generated training, {short(events)} (made in {made.seconds:.1f} s, {made.resident / MIB:.0f} MiB)", path, count, size, events == largest)
            for name, arguments in (("tiled", ["--tile", RECORDING]), ("inference", ["--pattern", "inference"])):
                path, count, size, made = self.make(f"{name}-{short(largest)}", ["--events", str(largest), *arguments])
                smallest = self.make(f"{name}-{short(min(options.events))}", ["--events", str(min(options.events)), *arguments])[0]
                title = "PyTorch training as recorded, repeated" if name == "tiled" else "Generated inference"
                self.reading(f"{title}, {short(largest)} (made in {made.seconds:.1f} s)", path, count, size, True, smallest)
        self.imports()
        print(f"\n{len(self.missed)} targets missed" if self.missed else "\nevery target met")
        if not options.keep:
            shutil.rmtree(self.folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", nargs="*", type=size_of, help="sizes, such as 1M 10M 100M")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--folder", default=os.path.join(ROOT, "build/bench/trace"))
    parser.add_argument("--only", action="append", choices=("size", "write", "open", "questions", "report", "import"), help="measure only this; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each command")
    parser.add_argument("--seconds", type=float, default=60, help="stop a command after this many seconds")
    parser.add_argument("--memory", type=size_of, default=8 << 30, help="stop a command that uses more than this many bytes of memory")
    parser.add_argument("--keep", action="store_true", help="keep the traces in the folder")
    options = parser.parse_args()
    options.events = options.events or [10**6, 10**7, 10**8]
    Bench(options).run()


if __name__ == "__main__":
    main()
