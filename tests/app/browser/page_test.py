#!/usr/bin/env python3
"""The page in a real Chromium: each bundled recording looks there as `sluice screenshot` draws it, and nothing is complained of.

Usage: page_test.py SLUICE SITE RECORDINGS. Ends with 77 (skipped) where there is no page (./dev web builds it) or no Chromium."""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

from chromium import Chromium

WIDTH, HEIGHT = 1280, 720
# Pixels that differ by more than this in a colour count; text at other subpixel places does not.
TOLERANCE = 48
# Of the picture: the panels below may begin some pixels lower, as the page learns its size after its first frame.
MOST_DIFFERENT = 0.03


def pixels(path):
    """Rows of RGB bytes of an 8-bit PNG without interlacing."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    at, packed, header = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", data[at + 8:at + 8 + length])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += length + 12
    width, height, depth, colours = header[:4]
    assert depth == 8 and colours in (2, 6), (depth, colours)
    channels = 3 if colours == 2 else 4
    raw, stride = zlib.decompress(packed), width * channels
    before, rows = bytearray(stride), []
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride) if kind else ():
            left = row[x - channels] if x >= channels else 0
            corner = before[x - channels] if x >= channels else 0
            if kind == 1:
                add = left
            elif kind == 2:
                add = before[x]
            elif kind == 3:
                add = (left + before[x]) // 2
            else:
                guess = left + before[x] - corner
                add = min((abs(guess - each), place, each) for place, each in enumerate((left, before[x], corner)))[2]
            row[x] = (row[x] + add) & 255
        before = row
        rows.append(bytes(row) if channels == 3 else b"".join(bytes(row[x:x + 3]) for x in range(0, stride, 4)))
    return rows


def share_of_difference(one, other):
    different = 0
    for a, b in zip(one, other):
        if a != b:
            different += sum(any(abs(a[x + c] - b[x + c]) > TOLERANCE for c in range(3)) for x in range(0, len(a), 3))
    return different / (len(one) * len(one[0]) / 3)


def main():
    sluice, site, recordings = sys.argv[1:4]
    if not os.path.exists(os.path.join(site, "page.wasm")):
        print("skipped: no page in build/web/site (./dev web builds it)")
        return 77
    if not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        print("skipped: no chromium")
        return 77
    server = subprocess.Popen([sluice, "serve", recordings], stdout=subprocess.PIPE, text=True)
    address = server.stdout.readline().split()[-1].removesuffix("recordings/")
    failures = 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in sorted(each for each in os.listdir(recordings) if each.endswith(".sluice")):
                expected, seen = os.path.join(folder, "expected.png"), os.path.join(folder, "seen.png")
                subprocess.run([sluice, "screenshot", os.path.join(recordings, name), "-o", expected, "--force", "--size", f"{WIDTH}x{HEIGHT}"],
                               check=True, stdout=subprocess.DEVNULL)
                wanted, share, begin = pixels(expected), 1.0, time.monotonic()
                with Chromium(WIDTH, HEIGHT) as browser:
                    browser.open(f"{address}?file=recordings/1/{name}")
                    while share > MOST_DIFFERENT and time.monotonic() - begin < 90:
                        time.sleep(1)
                        browser.picture(seen)
                        share = share_of_difference(wanted, pixels(seen))
                    troubles = [each for each in browser.messages if "Blocking on the main thread" not in each]
                    said = browser.value("document.getElementById('message').textContent")
                good = share <= MOST_DIFFERENT and not troubles and said == ""
                failures += not good
                print(f"{'ok' if good else 'FAILED'}: {name}: {share:.2%} of the pixels differ after {time.monotonic() - begin:.1f} s"
                      + "".join(f"\n  {each}" for each in troubles + ([said] if said else [])), flush=True)
                if not good and (kept := os.environ.get("SLUICE_KEEP_PICTURES")):
                    shutil.copy(seen, os.path.join(kept, name + ".page.png"))
                    shutil.copy(expected, os.path.join(kept, name + ".window.png"))
    finally:
        server.kill()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
