#!/usr/bin/env python3
"""Compiles headers alone: compile_alone.py COMPILE_COMMANDS HEADER...

A header that includes too little compiles only after other headers, and unity files hide that. Each header is compiled
with the options of a source in the same folder, or in the nearest folder above it that has a source. Prints the
compiler's errors. The exit status is 1 if there are any.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def options_by_folder(path):
    found = {}
    for entry in json.load(open(path)):
        folder = os.path.dirname(os.path.relpath(entry["file"], os.getcwd()))
        if not folder.startswith(("..", "build")):
            found.setdefault(folder, entry)
    return found


def options_for(header, found):
    folder = os.path.dirname(header)
    while folder:
        below = [name for name in sorted(found) if name == folder or name.startswith(folder + "/")]
        if below:
            return found[below[0]]
        folder = os.path.dirname(folder)
    return None


def compile_alone(header, found):
    entry = options_for(header, found)
    if entry is None:
        return ""  # This build leaves out this part of the tree.
    words = shlex.split(entry["command"])
    at = words.index("-o")
    del words[at:at + 2]
    words = [word for word in words if word != "-c" and word != entry["file"]]
    words += ["-fsyntax-only", "-include", os.path.abspath(header), "-x", "c++", os.devnull]
    done = subprocess.run(words, cwd=entry["directory"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{header} does not compile alone:\n{done.stderr}"


def main():
    found = options_by_folder(sys.argv[1])
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [text for text in pool.map(lambda header: compile_alone(header, found), sys.argv[2:]) if text]
    print("\n".join(failures), end="")
    sys.exit(1 if failures else 0)


main()
