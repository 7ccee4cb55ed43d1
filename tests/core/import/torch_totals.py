#!/usr/bin/env python3
"""Computes totals of a PyTorch memory snapshot, which it reads with Python's pickle module.

torch_totals.py FILE prints JSON, one key per line, sorted.

The same metrics, computed from the imported trace, must give the same text (torch_reference_test.cpp).
"""

import collections
import gzip
import json
import pickle
import sys


def load(path):
    with open(path, "rb") as file:
        content = file.read()
    return pickle.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)


def stack_text(frames):
    """Formats a stack, innermost frame first, as the allocator lists it."""
    return "|".join(f"{f['name']}@{f['filename']}:{f['line']}" for f in frames)


def totals(snapshot):
    actions = collections.Counter()
    bytes_of = collections.Counter()
    stacks = collections.defaultdict(lambda: [0, 0])
    kinds = [("device", snapshot.get("device_traces", []), snapshot.get("segments", [])),
             ("host", snapshot.get("host_traces", []), snapshot.get("host_segments", []))]
    result = {}
    entries_read = 0
    for kind, traces, segments in kinds:
        if traces and isinstance(traces[0], dict):
            traces = [traces]
        for entries in traces:
            for entry in entries:
                action = f"{kind} {entry['action']}"
                entries_read += 1
                if entry["action"] != "segment_unmap":  # one unmap may span several segments
                    actions[action] += 1
                if entry["action"] != "snapshot":
                    bytes_of[action] += entry["size"]
                if entry["action"] == "alloc":
                    stack = stacks[stack_text(entry.get("frames", []))]
                    stack[0] += 1
                    stack[1] += entry["size"]
        blocks = [(segment, block) for segment in segments for block in segment["blocks"]]
        live = [block for _, block in blocks if block["state"] == "active_allocated"]
        result[f"{kind} reserved at the end"] = sum(segment["total_size"] for segment in segments)
        result[f"{kind} allocated at the end"] = sum(block["requested_size"] for block in live)
        result[f"{kind} blocks at the end"] = len(live)
    result["entries"] = entries_read
    result["actions"] = dict(actions)
    result["bytes"] = dict(bytes_of)
    result["stacks"] = len(stacks)
    # This uses the texts themselves, because Python's hash of a text differs from run to run.
    result["per stack"] = sorted([allocations, size, text] for text, (allocations, size) in stacks.items())
    return result


if __name__ == "__main__":
    print(json.dumps(totals(load(sys.argv[1])), indent=0, sort_keys=True))
