#!/usr/bin/env python3
"""Frame times of the window in a browser, compared with the program: ./dev bench page [EVENTS] [--rounds N]

Opens one recording alternately in the browser and in the program, and takes the same steps: zooms and pans of the
timeline at 1600x900. Both draw with software GL as fast as they can. A frame of the page is the time between two
animation callbacks of the browser. This script needs Chromium, and the page that `./dev web` builds.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time

from app_frames import Frames
from trace_at_scale import ROOT, short, size_of

sys.path.insert(0, os.path.join(ROOT, "tests/app/browser"))
from chromium import Chromium

COMMANDS = ["timeline.zoom_in", "timeline.pan_right", "timeline.pan_left", "timeline.zoom_out"]
FRAMES_EACH = 60
# A browser without a GPU composites pages without GL. Chromium uses GL on this machine only if an option requests it.
FLAGS = ("--disable-frame-rate-limit", "--disable-gpu-vsync", "--disable-gpu-compositing")
LOOP = """new Promise(done => {
  const times = [];
  let last = performance.now(), number = 0;
  function frame() {
    const now = performance.now();
    if (number > 0) times.push(now - last);
    last = now;
    if (number === %d) return done(times);
    const id = %s[Math.floor(number++ / %d)];
    Module.ccall("sluice_invoke", null, ["string", "string"], [id, ""]);
    requestAnimationFrame(frame);
  }
  requestAnimationFrame(frame);
})""" % (FRAMES_EACH * len(COMMANDS), COMMANDS, FRAMES_EACH)


def of_page(sluice, recording):
    """Returns the median and 99th percentile of the frames (ms), the seconds until the first image, and the seconds
    until the recording is shown."""
    server = subprocess.Popen([sluice, "serve", recording], stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http://\S+", server.stdout.readline()).group()
        with Chromium(1600, 900, flags=FLAGS) as browser:
            start = time.monotonic()
            browser.open(address)
            browser.wait_for("(document.getElementById('message') || {}).textContent === ''", 60)
            first = time.monotonic() - start
            browser.wait_for("document.title !== 'Sluice'", 60)
            opened = time.monotonic() - start
            time.sleep(2)
            times = sorted(browser.value(LOOP))
            return statistics.median(times), times[len(times) * 99 // 100], first, opened
    finally:
        server.terminate()
        server.wait()


def of_program(sluice, recording):
    """Returns the median and 99th percentile of the frames (ms)."""
    steps = [word for command in COMMANDS for word in ("--step", f"{FRAMES_EACH} {command}")]
    said = subprocess.run([sluice, "screenshot", recording, "--size", "1600x900", "--step", "60", *steps], check=True, capture_output=True, text=True)
    found = Frames(said.stdout + said.stderr)
    return found.median, found.high or found.slowest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", nargs="?", type=size_of, default=10**6, help="events of the recording, such as 1M")
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--folder", default=os.path.join(ROOT, "build/bench/app"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    sluice = os.path.join(options.build, "sluice")
    os.makedirs(options.folder, exist_ok=True)
    recording = os.path.join(options.folder, f"page-{short(options.events)}.sluice")
    subprocess.run([sluice, "generate", "--events", str(options.events), "--force", "-o", recording], check=True, stdout=subprocess.DEVNULL)
    pages, programs = [], []
    for _ in range(options.rounds):
        programs.append(of_program(sluice, recording))
        pages.append(of_page(sluice, recording))
    middle = lambda rows, column: statistics.median(row[column] for row in rows)
    ratio = middle(pages, 0) / middle(programs, 0)
    print(f"{short(options.events)} events, medians of {options.rounds} rounds by turns; load {os.getloadavg()[0]:.1f}")
    print(f"frame of the program   {middle(programs, 0):6.2f} / {middle(programs, 1):.2f} ms (median / 99th percentile)")
    print(f"frame of the page      {middle(pages, 0):6.2f} / {middle(pages, 1):.2f} ms")
    print(f"ratio                  {ratio:6.2f}   bar 2.5: {'met' if ratio <= 2.5 else 'MISSED'}")
    print(f"first frame after      {middle(pages, 2):6.2f} s  bar 1: {'met' if middle(pages, 2) <= 1 else 'MISSED'}")
    print(f"recording shown after  {middle(pages, 3):6.2f} s")


if __name__ == "__main__":
    main()
