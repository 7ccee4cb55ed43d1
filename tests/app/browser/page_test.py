#!/usr/bin/env python3
"""Tests the page in Chromium and Firefox. It must look like the window, have the numbers of `sluice query`, and log no
errors.

Usage: page_test.py SLUICE SITE RECORDINGS [PART OF A TEST'S NAME]. Exits with 77 (skipped)
if there is no page (./dev web builds it) or no Chromium."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

from chromium import Chromium
from firefox import Firefox

WIDTH, HEIGHT = 1280, 720
# Pixels count as different above this difference in a colour. Text at other subpixel positions stays below it.
TOLERANCE = 48
# Allowed share of different pixels. The page's menu bar has no Demo entry, unlike the program's.
MOST_DIFFERENT = 0.01


def pixels(path):
    """Returns the rows of an 8-bit PNG without interlacing, as RGB bytes."""
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


# The tables of metrics, which are the same as in the report.
TABLES = ("memory_use", "transfer_use", "device_use", "finding")


class Page:
    """An open page and the errors that it logs."""

    def __init__(self, browser, folder):
        self.browser, self.folder, self.number = browser, folder, 0
        browser.downloads_to(folder)

    def open(self, address, title):
        self.browser.open(address)
        return self.wait_for_title(title)

    def wait_for_title(self, title):
        found = self.browser.wait_for(f"document.title === {json.dumps(title + ' - Sluice')}", 60)
        assert found is not None, f"the title is {self.browser.value('document.title')!r}, not that of {title}; {self.said()!r} {self.browser.messages}"
        return found

    def said(self):
        return self.browser.value("(document.getElementById('message') || {}).textContent")

    def invoke(self, command, text=""):
        self.browser.value(f"Module.ccall('sluice_invoke', null, ['string', 'string'], [{json.dumps(command)}, {json.dumps(text)}])")

    def downloaded(self, name, seconds=30):
        """Returns the content of a file that the page saves. Waits until the file is complete."""
        path, end = os.path.join(self.folder, name), time.monotonic() + seconds
        while not os.path.exists(path):
            assert time.monotonic() < end, f"{name} was not saved; there are {os.listdir(self.folder)}"
            self.browser.value("0")
            time.sleep(0.1)
        time.sleep(0.2)
        with open(path, "rb") as file:
            content = file.read()
        os.remove(path)
        return content

    def answer(self, sql):
        """Returns the result of a query as lines of CSV, which the window's own commands save."""
        self.number += 1
        # Commands do nothing until the recording is ready and has rows. A late result of an earlier query has another
        # number.
        for _ in range(10):
            self.invoke("query.run", f"select {self.number} as number, * from ({sql})")
            time.sleep(0.5)
            self.invoke("query.save")
            try:
                lines = self.downloaded("query.csv", 2).decode().splitlines()
            except AssertionError:
                continue
            if all(each.startswith(f"{self.number},") for each in lines[1:]):
                return [each.split(",", 1)[1] for each in lines]
        raise AssertionError(f"no answer to {sql!r}")

    def looks_like(self, wanted):
        """Waits until the page looks like the picture; returns the share of pixels that differ."""
        seen, share, end = os.path.join(self.folder, "seen.png"), 1.0, time.monotonic() + 90
        while share > MOST_DIFFERENT and time.monotonic() < end:
            time.sleep(0.5)
            self.browser.picture(seen)
            share = share_of_difference(wanted, pixels(seen))
        assert share <= MOST_DIFFERENT, f"{share:.2%} of the pixels differ"
        return share

    def troubles(self):
        return [each for each in self.browser.messages if "Blocking on the main thread" not in each]


class Tests:
    def __init__(self, sluice, recordings, address, folder):
        self.sluice, self.recordings, self.address, self.folder = sluice, recordings, address, folder

    def run(self, *words):
        return subprocess.run([self.sluice, *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

    def expected(self, name):
        path = os.path.join(self.folder, "expected.png")
        self.run("screenshot", os.path.join(self.recordings, name), "-o", path, "--force", "--size", f"{WIDTH}x{HEIGHT}")
        return pixels(path)

    def answer(self, path, sql):
        return self.run("query", path, sql, "--format", "csv").splitlines()

    def has_the_figures_of(self, page, name):
        for table in TABLES:
            sql = f"select * from {table}"
            wanted = self.answer(os.path.join(self.recordings, name), sql)
            if len(wanted) > 1:  # A result without rows is not saved.
                found = page.answer(sql)
                assert found == wanted, f"{table} of {name} differs: {found!r} instead of {wanted!r}"

    def each_recording_looks_as_in_the_window_and_has_its_figures(self, page):
        names = sorted(each for each in os.listdir(self.recordings) if each.endswith(".sluice"))
        assert names
        for name in names:
            page.open(f"{self.address}?file=recordings/1/{name}", name)
            share = page.looks_like(self.expected(name))
            self.has_the_figures_of(page, name)
            print(f"    {name}: {share:.2%} of the pixels differ", flush=True)

    def a_page_in_one_file_is_opened_from_disk(self, page):
        made = os.path.join(self.folder, "made.html")
        self.run("export", os.path.join(self.recordings, "leak.sluice"), "-o", made, "--force")
        page.open("file://" + made, "leak.sluice")
        assert page.browser.value("crossOriginIsolated") is False, "it has no threads"
        page.looks_like(self.expected("leak.sluice"))
        self.has_the_figures_of(page, "leak.sluice")

    def a_part_of_a_recording_is_put_into_a_page(self, page):
        made = os.path.join(self.folder, "part.html")
        self.run("export", os.path.join(self.recordings, "pytorch-training.sluice"), "--range", "7s:7.2s", "--redact", "-o", made, "--force")
        with open(made) as file:
            assert "train.py" not in file.read()
        page.open("file://" + made, "pytorch-training.sluice")
        kernels = "select count(*) from kernels where time >= 7000000000 and time < 7200000000"
        assert page.answer(kernels) == self.answer(os.path.join(self.recordings, "pytorch-training.sluice"), kernels)

    def a_recording_is_followed_while_it_is_made(self, page):
        made = os.path.join(self.folder, "growing.sluice")
        maker = subprocess.Popen([self.sluice, "demo", "pool-churn", "--device", "sim", "--pace", "--seconds", "20", "--force", "-o", made],
                                 stdout=subprocess.DEVNULL)
        while not os.path.exists(made) or os.path.getsize(made) < 5000:
            time.sleep(0.1)
        server = subprocess.Popen([self.sluice, "serve", made], stdout=subprocess.PIPE, text=True)
        try:
            page.open(server.stdout.readline().split()[-1], "growing.sluice")
            assert maker.poll() is None, "the recording must still be written when it is opened"
            sql = "select count(*) from alloc"
            early = page.answer(sql)
            pictures = []
            for _ in range(2):
                time.sleep(2)
                page.browser.picture(seen := os.path.join(self.folder, "seen.png"))
                pictures.append(pixels(seen))
            assert pictures[0] != pictures[1], "the page does not show new events without input"
            assert maker.wait() == 0
            whole, end = self.answer(made, sql), time.monotonic() + 30
            assert int(whole[1]) > int(early[1]) > 0, early
            while page.answer(sql) != whole:
                assert time.monotonic() < end, f"the page has {page.answer(sql)[1]} allocations instead of {whole[1]}"
            self.has_the_figures_of(page, made)
        finally:
            maker.kill()
            maker.wait()
            server.kill()

    def a_dropped_file_is_opened(self, page):
        page.browser.open(self.address)
        assert page.browser.wait_for("(document.getElementById('message') || {}).textContent === ''", 60) is not None
        page.browser.drop([os.path.join(self.recordings, "overlap.sluice")], 300, 300)
        page.wait_for_title("overlap.sluice")
        self.has_the_figures_of(page, "overlap.sluice")

    def a_trace_of_another_tool_is_imported(self, page):
        made = os.path.join(self.folder, "chrome.json")
        self.run("export", os.path.join(self.recordings, "overlap.sluice"), "--format", "chrome", "-o", made, "--force")
        page.browser.open(self.address)
        assert page.browser.wait_for("(document.getElementById('message') || {}).textContent === ''", 60) is not None
        page.browser.drop([made], 300, 300)
        page.wait_for_title("chrome.json")
        sql = "select count(*), sum(duration) from kernels"
        assert page.answer(sql) == self.answer(made, sql)

    def a_file_that_is_no_recording_is_refused_in_a_line(self, page):
        for content in (b"", b"SLUICE" * 1000, os.urandom(100_000)):
            with open(os.path.join(self.folder, "hostile.sluice"), "wb") as file:
                file.write(content)
            page.browser.open(self.address)
            assert page.browser.wait_for("(document.getElementById('message') || {}).textContent === ''", 60) is not None
            page.browser.drop([os.path.join(self.folder, "hostile.sluice")], 300, 300)
            time.sleep(1)
            assert page.browser.value("document.title") == "Sluice"
            page.browser.drop([os.path.join(self.recordings, "leak.sluice")], 300, 300)
            page.wait_for_title("leak.sluice")

    def a_picture_is_saved_as_a_download(self, page):
        page.open(f"{self.address}?file=recordings/1/leak.sluice", "leak.sluice")
        page.invoke("file.save_picture")
        content = page.downloaded("leak.png")
        assert content.startswith(b"\x89PNG") and struct.unpack(">II", content[16:24]) == (WIDTH, HEIGHT), len(content)

    def the_theme_is_kept_until_the_next_visit(self, page):
        page.open(f"{self.address}?file=recordings/1/leak.sluice", "leak.sluice")
        dark = page.browser.wait_for("true", 1)
        assert dark is not None
        page.invoke("window.theme")
        time.sleep(1)
        page.open(f"{self.address}?file=recordings/1/overlap.sluice", "overlap.sluice")
        kept = page.browser.value("localStorage.getItem('sluice/settings') || Object.keys(localStorage).join()")
        assert "light" in kept, kept

    def a_zoomed_display_gets_a_sharp_picture(self, page):
        page.browser.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=2, mobile=False)
        page.open(f"{self.address}?file=recordings/1/leak.sluice", "leak.sluice")
        time.sleep(1)
        assert page.browser.value("Module.canvas.width") == 2 * WIDTH
        assert page.browser.value("Module.canvas.height") == 2 * HEIGHT


ALL = [name for name in vars(Tests) if name.startswith(("a_", "each_", "the_"))]
BROWSERS = (("Chromium", lambda _: Chromium(WIDTH, HEIGHT), ALL),
            ("Firefox", lambda folder: Firefox(WIDTH, HEIGHT, folder), ["a_page_in_one_file_is_opened_from_disk", "a_recording_is_followed_while_it_is_made"]))


def passes(tests, name, browser_name, make_browser, folder):
    begin, why = time.monotonic(), ""
    words = f"{name.replace('_', ' ')}, in {browser_name}"
    try:
        made = make_browser()
    except FileNotFoundError as problem:
        print(f"skipped: {words}: {problem}")
        return True
    with made as browser:
        page = Page(browser, folder)
        try:
            getattr(tests, name)(page)
            assert not page.troubles(), page.troubles()
            assert page.said() == "", page.said()
        except (AssertionError, RuntimeError, TimeoutError) as problem:
            why = f"{type(problem).__name__}: {problem}"
            if kept := os.environ.get("SLUICE_KEEP_PICTURES"):
                browser.picture(os.path.join(kept, name + ".png"))
    print(f"{'FAILED' if why else 'ok'}: {words} ({time.monotonic() - begin:.1f} s) {why[:2000]}", flush=True)
    return not why


def main():
    sluice, site, recordings = sys.argv[1:4]
    wanted = sys.argv[4] if len(sys.argv) > 4 else ""
    if not os.path.exists(os.path.join(site, "page.wasm.gz")):
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
            tests = Tests(sluice, recordings, address, folder)
            for browser_name, browser, names in BROWSERS:
                for name in names:
                    if wanted in name:
                        failures += not passes(tests, name, browser_name, lambda: browser(folder), folder)
    finally:
        server.kill()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
