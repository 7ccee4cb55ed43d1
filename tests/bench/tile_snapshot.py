#!/usr/bin/env python3
"""A PyTorch memory snapshot made long by repetition: tile_snapshot.py FROM.pickle[.gz] EVENTS OUT.pickle

Each turn is later than the one before; entries and lists of frames are objects of their own, and frames are shared, as PyTorch's are.
"""

import gzip
import pickle
import sys


def main(source, events, out):
    with open(source, "rb") as file:
        content = file.read()
    snapshot = pickle.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
    traces = snapshot["device_traces"]
    first = min(entry["time_us"] for trace in traces for entry in trace)
    last = max(entry["time_us"] for trace in traces for entry in trace)
    lasts = last - first + 1
    total = sum(len(trace) for trace in traces)
    for number, trace in enumerate(traces):
        made = []
        for turn in range(-(-events // total)):
            lists = {}  # what shares a list of frames does so again
            for entry in trace:
                copy = dict(entry)
                # The allocator's segments stay: only the first turn gets them.
                if turn > 0 and entry["action"].startswith("segment"):
                    continue
                copy["time_us"] = entry["time_us"] + turn * lasts
                if "frames" in entry:
                    copy["frames"] = lists.setdefault(id(entry["frames"]), list(entry["frames"]))
                made.append(copy)
        traces[number] = made[: max(1, events * len(trace) // total)]
    with open(out, "wb") as file:
        pickle.dump(snapshot, file)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
