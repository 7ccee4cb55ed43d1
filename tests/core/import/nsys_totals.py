#!/usr/bin/env python3
"""Computes totals of an Nsight Systems export with Python's sqlite3 module.

nsys_totals.py FILE prints metrics, one per line, sorted by name.

The same metrics, computed from the imported file, must give the same text (nsys_reference_test.cpp).
"""
import collections
import sqlite3
import sys

WAYS = {1: "h2d", 2: "d2h", 3: "h2d", 4: "d2h", 5: "d2d", 6: "d2d", 7: "d2d", 8: "d2d", 9: "h2h", 10: "p2p"}


def totals(db):
    db.row_factory = sqlite3.Row
    present = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    rows = lambda table: db.execute(f"SELECT * FROM {table}") if table in present else ()
    names = {row["id"]: row["value"] for row in rows("StringIds")}
    figures, calls = collections.Counter(), {}
    pid = lambda ident: (ident >> 24) & 0xFFFFFF

    def lasting(kind, row):
        figures[f"{kind} count"] += 1
        figures[f"{kind} ns"] += (row["end"] or row["start"]) - row["start"]

    def work(kind, row):
        lasting(kind, row)
        figures[f"{kind} on stream {row['streamId']} of {pid(row['globalPid'])}"] += 1
        call = calls.get((pid(row["globalPid"]), row["correlationId"]))
        if call is not None:
            figures["work with its call"] += 1
            figures["ns from call to work"] += row["start"] - call

    for row in rows("CUPTI_ACTIVITY_KIND_RUNTIME"):
        lasting("call", row)
        calls[(pid(row["globalTid"]), row["correlationId"])] = row["start"]
        figures[f"call '{names.get(row['nameId'], '')}' count"] += 1
        figures["call results"] += row["returnValue"]
    for row in rows("CUPTI_ACTIVITY_KIND_KERNEL"):
        work("kernel", row)
        figures[f"kernel '{names.get(row['demangledName'], '')}' count"] += 1
        figures["kernel threads"] += (row["gridX"] * row["gridY"] * row["gridZ"] * row["blockX"] * row["blockY"] * row["blockZ"])
        figures["kernel registers"] += row["registersPerThread"]
        figures["kernel shared"] += row["staticSharedMemory"] + row["dynamicSharedMemory"]
    for row in rows("CUPTI_ACTIVITY_KIND_MEMCPY"):
        if row["copyKind"] in WAYS:
            work("copy", row)
            figures[f"copied {WAYS[row['copyKind']]} bytes"] += row["bytes"]
        else:
            lasting("migration", row)
            figures["migrated bytes"] += row["bytes"]
    for row in rows("CUPTI_ACTIVITY_KIND_MEMSET"):
        work("memset", row)
        figures["memset bytes"] += row["bytes"]
    for row in rows("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"):
        lasting("sync", row)
    for row in rows("NVTX_EVENTS"):
        if row["eventType"] in (59, 60, 70, 71):
            lasting("range", row)
            figures[f"range '{row['text'] or names.get(row['textId'], '')}' count"] += 1
        elif row["eventType"] in (34, 65):
            figures["marks"] += 1
    for row in rows("CUDA_GPU_MEMORY_USAGE_EVENTS"):
        figures["frees" if row["memoryOperationType"] == 1 else "allocs"] += 1
        figures["freed bytes" if row["memoryOperationType"] == 1 else "allocated bytes"] += row["bytes"]
    figures["devices"] = db.execute("SELECT count(*) FROM TARGET_INFO_GPU").fetchone()[0] if "TARGET_INFO_GPU" in present else 0
    return figures


if __name__ == "__main__":
    for name, value in sorted(totals(sqlite3.connect(f"file:{sys.argv[1]}?immutable=1", uri=True)).items()):
        if value != 0:
            print(f"{name}: {value}")
