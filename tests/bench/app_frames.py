#!/usr/bin/env python3
"""Frame times of the window: ./dev bench app [EVENTS] [--only WORD] [--against PROGRAM] (see ./dev help)

Opens recordings with this many events (default 100M), drives the window by scripted steps (`sluice screenshot --step`),
and measures each frame until GL has finished. It needs no display, and uses software GL if there is no GPU. Each line
states its target, and whether the target is met. "ratio" is the frame time divided by the time to clear the window and
draw one line of text, alternating in the same run. "processor" is a frame's processor time in all threads; "our part"
is that of the window's thread without GL. On a busy machine compare ratios and processor time. With --against, an older
program alternates with this one on the same steps. Recordings are kept in build/bench/app, per file format; remove the
folder to free the space.
"""
import argparse
import hashlib
import os
import re
import signal
import subprocess
import sys
import time

from trace_at_scale import MIB, ROOT, Bench, Run, short, size_of

WHOLE = ["60", "60 timeline.zoom_in", "60 timeline.pan_right", "60 timeline.pan_left", "60 timeline.zoom_out"]
JUMPS = [f"2 timeline.show={share * 3}s:{share * 3 + 1}s" for share in range(1, 31)]
PLAY = ["1 film.play", "180"]
FIGURE = re.compile(r"frames \d+.*?median ([\d.]+) ms(?:, 99th percentile ([\d.]+) ms)?.*?slowest ([\d.]+) ms"
                    r"(?:; processor ([\d.]+) ms, at least ([\d.]+) ms; our part ([\d.]+) ms, 99th percentile ([\d.]+) ms; clear and text ([\d.]+) ms, ratio ([\d.]+))?")


class Frames:
    """The frame times in a program's output."""

    def __init__(self, said):
        found = FIGURE.findall(said)
        if not found:
            raise ValueError(f"no frame times in the output: {said.strip()[-120:]!r}")
        number = [float(text) if text else None for text in found[-1]]
        self.median, self.high, self.slowest, self.processor, self.least, self.ours, self.ours_high, self.empty, self.ratio = number


class App(Bench):
    def __init__(self, options):
        super().__init__(options)
        self.known_format = None
        self.programs = [("", self.sluice)]
        if options.against:
            old = os.path.join(options.against, "sluice") if os.path.isdir(options.against) else options.against
            if not os.access(old, os.X_OK):
                sys.exit(f"app_frames: {old} is not a program; name an older sluice, or the folder of its build")
            self.programs.append(("old: ", old))
        self.takes_steps = {program: self.has_steps(program) for _, program in self.programs}

    def has_steps(self, program):
        return Run([program, "screenshot", "--step", "1", "--size", "320x200"], self.options, memory=False).failure is None

    def format(self):
        """Identifies the recording format. A program reads all of a large file if its stored metrics have another
        format."""
        if self.known_format is None:
            small = os.path.join(self.folder, "format.sluice")
            made = Run([self.sluice, "generate", "--events", "20000", "--force", "-o", small], self.options, memory=False)
            if made.failure:
                sys.exit(f"app_frames: sluice generate: {made.failure}")
            with open(small, "rb") as file:
                self.known_format = hashlib.sha256(file.read()).hexdigest()[:8]
        return self.known_format

    def kept(self, name, arguments):
        """Returns a generated recording, which is created unless it already exists."""
        path = os.path.join(self.folder, f"{name}-{self.format()}.sluice")
        if not os.path.exists(path):
            print(f"  (making {name}.sluice)", flush=True)
            made = Run([self.sluice, "generate", *arguments, "-o", path], argparse.Namespace(seconds=3600, memory=None), memory=False)
            if made.failure:
                sys.exit(f"app_frames: {path}: {made.failure}")
        return path

    def training(self, events, seed=1):
        return self.kept(f"training-{short(events)}" + (f"-{seed}" if seed > 1 else ""), ["--events", str(events), "--seed", str(seed)])

    def take(self, program, arguments, steps):
        """Makes one run. If one of the programs supports no steps, both draw only frames of the first view."""
        if all(self.takes_steps.values()):
            how = [word for step in steps for word in ("--step", step)]
        else:
            how = ["--frames", "200"]
        return Run([program, "screenshot", *arguments, *how], self.options, memory=False)

    def frames(self, what, arguments, steps, median=None, high=None, ours=None, memory=None):
        """Prints lines for the frames of these steps, from the run with the median of the medians."""
        bar = " / ".join(f"{each:g}" for each in (median, high) if each) + " ms" if median else ""
        runs = {label: [] for label, _ in self.programs}
        for _ in range(self.options.rounds):
            for label, program in self.programs:
                run = self.take(program, arguments, steps)
                if run.failure:
                    return self.failed(label + what, bar, run)
                runs[label].append((Frames(run.said), run))
        for label, _ in self.programs:
            shown, run = sorted(runs[label], key=lambda pair: pair[0].median)[len(runs[label]) // 2]
            barred = not label and not self.options.no_bars
            met = shown.median <= median and (not high or shown.high is None or shown.high <= high) if median and barred else None
            note = "" if shown.ratio is None else f"ratio {shown.ratio:.1f}, processor {shown.processor:.2f} ms, at least {shown.least:.2f}"
            figure = f"{shown.median:.2f} / {shown.high or shown.slowest:.2f} ms"
            self.line(label + what, figure, bar if barred else "", met, note)
            if shown.ours is not None:
                self.line(f"  {label}our part", f"{shown.ours:.2f} / {shown.ours_high:.2f} ms", f"{ours:g} ms" if ours and barred else "",
                          shown.ours <= ours if ours and barred else None)
            self.line(f"  {label}resident at most", f"{run.resident / MIB:.0f} MiB", f"{memory} MB" if memory and barred else "",
                      run.resident <= memory * 10**6 if memory and barred else None)

    # --- the lines --------------------------------------------------------------------------------------------------------

    def timeline(self, events):
        path = self.training(events)
        self.headline(f"Timeline, {short(events)} events: zooms, pans, jumps, play (median / 99th percentile of frames)")
        for size, median, high, ours in (("1600x900", 8, 16, 1), ("2560x1440", 12, None, None)):
            self.frames(f"timeline, {size}", [path, "--size", size], WHOLE + JUMPS + PLAY, median, high, ours)

    def film(self, events):
        blocks = min(events, 10**6)
        path = self.kept(f"kept-{short(blocks)}", ["--events", str(5 * blocks), "--kept-blocks", str(blocks), "--kept-stacks", str(blocks)])
        self.headline(f"Film of the memory map, {short(blocks)} live blocks")
        self.frames("film", [path, "--view", "memory-map"], ["1 film.play", "300"], 16)
        self.frames("film, after zooming in", [path, "--view", "memory-map"], ["6 map.zoom_in", "1 film.play", "300"], 16)

    def compare(self, events):
        first, second = self.training(events), self.training(events, 2)
        self.headline(f"Compare, two recordings of {short(events)} events")
        steps = ["60", "1 compare.tab=Metrics", "60", "1 compare.tab=Flame graph", "60 mouse 1200,300", "1 compare.align=step", "60 mouse 400,300"]
        self.frames("compare", [first, "--view", "compare", "--run", f"compare.with={second}"], steps, 16)

    def blocks(self, events):
        path = self.training(events)
        self.headline(f"Blocks, {short(events)} events")
        view = [path, "--view", "blocks"]
        if all(self.takes_steps.values()):
            columns = ["Allocated", "Size", "Freed", "Lifetime", "Last use", "Idle since last use", "Category", "Address", "Name"]
            for label, program in self.programs:
                run = self.take(program, view, [f"done blocks.sort={column}" for column in columns])
                if run.failure:
                    self.failed(label + "sort", "0.5 s", run)
                    continue
                for column, seconds in re.findall(r"done blocks\.sort=(.*): done after ([\d.]+) s", run.said):
                    barred = not label and not self.options.no_bars
                    self.line(f"{label}sort by {column.lower()}", f"{float(seconds):.2f} s", "0.5 s" if barred else "",
                              float(seconds) <= 0.5 if barred else None)
                self.line(f"  {label}resident at most", f"{run.resident / MIB:.0f} MiB", "", None)
        self.frames("scroll", view, ["1 mouse 400,400", "120 wheel -1", "120 wheel -40", "60 wheel 40"], 16)

    def flames(self, events):
        stacks = min(events, 10**6)
        path = self.kept(f"kept-{short(stacks)}", ["--events", str(5 * stacks), "--kept-blocks", str(stacks), "--kept-stacks", str(stacks)])
        self.headline(f"Flame graph, {short(stacks)} call stacks")
        hover = [f"10 mouse {x},{y}" for x in (200, 700, 1300) for y in (150, 200, 250, 300)]
        self.frames("flame graph", [path, "--view", "stacks"], ["60", *hover, "2 click 300,170", "60"], 16)

    def live(self, _):
        self.headline("Live view of a program that makes 1M events/s")
        path = os.path.join(self.folder, "live.sluice")
        for label, program in self.programs:
            if os.path.exists(path):
                os.remove(path)
            writer = subprocess.Popen([os.path.join(self.tools, "trace_writing"), "live", path, "1000000", "120"], stdout=subprocess.DEVNULL)
            try:
                time.sleep(3)
                saved, self.programs = self.programs, [(label, program)]
                rounds, self.options.rounds = self.options.rounds, 1
                self.frames("live", [path], ["600", "60 timeline.zoom_in", "60 timeline.zoom_out", "300"], 16, None, None, 400)
                self.programs, self.options.rounds = saved, rounds
                if writer.poll() is not None:
                    self.line("  the program ended before the view", "-", "", None)
            finally:
                if writer.poll() is None:
                    writer.send_signal(signal.SIGTERM)
                writer.wait()
        if os.path.exists(path):
            os.remove(path)

    def run(self):
        options = self.options
        print(f"{os.cpu_count()} cores; medians of {options.rounds}; load {os.getloadavg()[0]:.1f}")
        if not all(self.takes_steps.values()):
            print("one of the programs supports no steps: only frames of the first view are compared")
        for name in GROUPS:
            if self.wanted(name):
                getattr(self, name)(options.events)
        if not options.no_bars:
            print(f"\n{len(self.missed)} targets missed" if self.missed else "\nevery target met")


GROUPS = ("timeline", "film", "compare", "blocks", "flames", "live")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", nargs="?", type=size_of, default=10**8, help="events of the recordings, such as 1M (default 100M)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--folder", default=os.path.join(ROOT, "build/bench/app"))
    parser.add_argument("--against", help="an older sluice, or the folder of its build")
    parser.add_argument("--only", action="append", choices=GROUPS, help="measure only this group; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each line")
    parser.add_argument("--seconds", type=float, default=180, help="stop a command after this many seconds")
    parser.add_argument("--no-bars", action="store_true", help="only measure")
    App(parser.parse_args()).run()


if __name__ == "__main__":
    main()
