#!/usr/bin/env python3
"""Computes totals of a torch.profiler trace with Python's json module.

kineto_totals.py FILE prints metrics, one per line, sorted by name.

The same metrics, computed from the imported file, must give the same text (kineto_reference_test.cpp).
"""
import collections
import decimal
import gzip
import json
import sys


def load(path):
    with open(path, "rb") as file:
        content = file.read()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    return json.loads(content, parse_float=decimal.Decimal)


def ns(microseconds):
    return int(decimal.Decimal(microseconds) * 1000)


DIRECTIONS = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "PtoP": "p2p", "HtoH": "h2h"}


def totals(document):
    figures = collections.Counter()
    calls, work, memory, flows = {}, [], [], set()
    base = document.get("baseTimeNanoseconds", 0)
    for event in document["traceEvents"]:
        phase, category, args = event.get("ph"), event.get("cat"), event.get("args", {})
        if phase == "X":
            kind = {"cuda_runtime": "call", "cuda_driver": "call"}.get(category, category)
            figures[f"{kind} count"] += 1
            figures[f"{kind} ns"] += ns(event["dur"])
            if kind == "call":
                calls[args["correlation"]] = event
            if category in ("kernel", "gpu_memcpy", "gpu_memset"):
                work.append(event)
                figures[f"{category} last end"] = max(figures[f"{category} last end"], base + ns(event["ts"]) + ns(event["dur"]))
            if category == "kernel":
                figures[f"kernel '{event['name']}' count"] += 1
                figures[f"kernel '{event['name']}' ns"] += ns(event["dur"])
                figures["kernel threads"] += (args["grid"][0] * args["grid"][1] * args["grid"][2] *
                                              args["block"][0] * args["block"][1] * args["block"][2])
                figures["kernel registers"] += args["registers per thread"]
                figures["kernel shared"] += args["shared memory"]
            if category == "gpu_memcpy":
                figures[f"copied {DIRECTIONS[event['name'].split()[1]]} bytes"] += args["bytes"]
            if category == "gpu_memset":
                figures["memset bytes"] += args["bytes"]
            if category in ("cpu_op", "python_function", "user_annotation"):
                figures[f"{category} '{event['name']}' count"] += 1
        elif phase == "i" and event["name"] == "[memory]":
            memory.append(event)
        elif phase == "i":
            figures["instants"] += 1
        elif phase == "s" and category == "fwdbwd":
            flows.add(event["id"])
    figures["arrows"] = len(flows)
    for event in work:
        call = calls.get(event["args"]["correlation"])
        if call is not None:
            figures["work with its call"] += 1
            figures["ns from call to work"] += ns(event["ts"]) - ns(call["ts"])
    memory.sort(key=lambda event: decimal.Decimal(event["ts"]))
    for event in memory:
        args = event["args"]
        where = "device" if args["Device Type"] == 1 else "host"
        figures[f"{where} {'allocs' if args['Bytes'] > 0 else 'frees'}"] += 1
        if args["Bytes"] > 0:
            figures[f"{where} bytes"] += args["Bytes"]
        figures[f"{where} live bytes"] += args["Bytes"]
        if where == "device":
            figures["allocated at the end"] = args["Total Allocated"]
            figures["reserved at the end"] = args["Total Reserved"]
            figures["allocated at most"] = max(figures["allocated at most"], args["Total Allocated"])
    return figures


if __name__ == "__main__":
    for name, value in sorted(totals(load(sys.argv[1])).items()):
        if value != 0:
            print(f"{name}: {value}")
