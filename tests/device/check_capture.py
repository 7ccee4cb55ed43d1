#!/usr/bin/env python3
"""Compares reports of recordings with the recorded programs' own output. run-capture calls it.

    check_capture.py program REPORT.json LEDGER      journal_program's ledger, exactly
    check_capture.py memory REPORT.json LEDGER       the same in memory mode: without graph work and kernels
    check_capture.py torch REPORT.json TRAIN.json    train.py's own metrics
    check_capture.py killed REPORT.json              journal_program killed at its end: all is recorded, 7 MiB is live
"""
import json
import sys

MIB = 1 << 20
failures = 0


def check(what, recorded, expected, holds=None):
    global failures
    ok = recorded == expected if holds is None else holds
    failures += not ok
    print(f"  {'ok  ' if ok else 'FAIL'} {what:<44} recorded {str(recorded):>16}  expected {str(expected):>16}")


def load(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


def memory(report, kind, layer="driver"):
    rows = [m for m in report["memory"] if m["kind"] == kind and m["layer"] == layer]
    return sum(m["allocations"] for m in rows), int(sum(m["allocated_bytes"] for m in rows))


def transfers(report, direction):
    rows = [t for t in report["transfers"] if t["direction"] == direction]
    managed = [p for t in rows for p in t["parts"] if p["host_side"] == "managed"]
    count = sum(t["count"] for t in rows) - sum(p["count"] for p in managed)
    return count, int(sum(t["bytes"] for t in rows) - sum(p["bytes"] for p in managed))


def check_pair(what, recorded, expected):
    check(what + ", count", recorded[0], expected[0])
    check(what + ", bytes", recorded[1], expected[1])


def program(report, ledger, graphs_too=True):
    if not graphs_too:
        ledger = dict(ledger, graph_copy_h2d=[0, 0], graph_memset=[0, 0])
    check("events lost", report["lost"]["events"], 0)
    check_pair("device memory", memory(report, "device"), ledger["device_alloc"])
    pinned = [a + b for a, b in zip(ledger["host_alloc"], ledger["host_register"])]
    check_pair("pinned and registered host memory", memory(report, "pinned"), pinned)
    check_pair("managed memory", memory(report, "managed"), ledger["managed_alloc"])
    check_pair("arrays", memory(report, "array"), ledger["array_alloc"])
    pooled = [a + b for a, b in zip(ledger["async_alloc"], ledger.get("graph_alloc", [0, 0]))]
    check_pair("stream-ordered memory, including the graphs' own", memory(report, "device", "pool"), pooled)
    for kind in ("physical", "mapping", "reservation"):
        check(f"{kind} memory never freed", len([u for u in report["unfreed"] if u["kind"] == kind]), 0)
    check("pools' memory never freed", len([u for u in report["unfreed"] if u["layer"] == "pool"]), 0)
    check_pair("reserved addresses", memory(report, "reservation"), ledger["address_reserve"])
    check_pair("physical memory", memory(report, "physical"), ledger["physical_alloc"])
    check_pair("mappings", memory(report, "mapping"), ledger["map"])
    check("failed allocations", report["failed_allocations"]["count"], ledger["failed_alloc"][0])
    h2d = [sum(x) for x in zip(ledger["copy_h2d"], ledger["copy_h2a"], ledger["graph_copy_h2d"])]
    batch = ledger.get("batch_copy_h2d", [0, 0])
    recorded = transfers(report, "h2d")
    # CUPTI reports a batch of copies as one record, or as one record per copy.
    check("host to device, count", recorded[0], h2d[0] + 1, recorded[0] in (h2d[0] + 1, h2d[0] + batch[0]))
    check("host to device, bytes", recorded[1], h2d[1] + batch[1])
    check_pair("device to host", transfers(report, "d2h"), ledger["copy_d2h"])
    check_pair("device to device", transfers(report, "d2d"), ledger["copy_d2d"])
    activity = report["devices"][0]["activity"]
    if graphs_too:
        check("kernels", activity["kernels"], ledger["kernel"][0] + ledger["graph_kernel"][0])
    check("memsets", activity["memsets"], ledger["memset"][0] + ledger["graph_memset"][0])
    moved = sum(p["bytes"] for t in report["transfers"] if t["direction"] == "h2d" for p in t["parts"]
                if p["host_side"] == "managed")
    check("managed bytes that migrated to the device", int(moved), ledger["managed_alloc"][1])
    left = [u for u in report["unfreed"] if u["kind"] == "device"]
    check("device memory never freed, bytes", sum(u["bytes"] for u in left), 7 * MIB)
    print("  device:", report["devices"][0]["name"], "link peak GB/s:",
          report["devices"][0]["link"]["peak_bytes_per_second"] / 1e9)
    best = {t["direction"]: round(t["fastest_bytes_per_second"] / 1e9, 1) for t in report["transfers"]}
    print("  fastest transfer by direction, GB/s:", best)


def torch(report, train):
    check("events lost", report["lost"]["events"], 0)
    count, _ = memory(report, "device")
    check("device segments (at least PyTorch's)", count, train["device_alloc"], count >= train["device_alloc"])
    peak = int(max([m["maximum_bytes"] for m in report["memory"] if m["kind"] == "device" and m["layer"] == "driver"] or [0]))
    check("device memory peak (at least PyTorch's reserved)", peak, train["reserved_peak"], peak >= train["reserved_peak"])
    activity = report["devices"][0]["activity"]
    check("kernels (at least 30 a step)", activity["kernels"], 30 * train["steps"], activity["kernels"] >= 30 * train["steps"])
    launches = sum(c["count"] for c in report["calls"] if c["name"].startswith("cuLaunch"))
    check("kernels and launch calls", activity["kernels"], launches)
    h2d, _ = transfers(report, "h2d")
    check("host to device copies (at least one a step)", h2d, train["steps"], h2d >= train["steps"])
    until = report["processes"][0]["device_times_complete_until_ns"]
    end = report["span"]["end_ns"]
    check("device times complete, ns before the end", until if until is None else end - until, "< 1 s",
          until is None or end - until < 1e9)
    for row in report["not_tracked"]:
        print(f"  not tracked {row['maximum_bytes'] / MIB:.0f} MiB, the recorder's share (estimated) {row['recorder_bytes'] / MIB:.1f} MiB, "
              f"{row['samples']} samples")


def killed(report):
    left = [u for u in report["unfreed"] if u["kind"] == "device"]
    check("device memory held when it was killed, bytes", sum(u["bytes"] for u in left), 7 * MIB)
    check("kernels", report["devices"][0]["activity"]["kernels"], 30)


def main():
    what, report = sys.argv[1], load(sys.argv[2])
    if what in ("program", "memory"):
        with open(sys.argv[3], encoding="utf-8") as text:
            ledger = {w[0]: [int(w[1]), int(w[2])] for w in (line.split() for line in text)}
        program(report, ledger, graphs_too=what == "program")
    elif what == "torch":
        torch(report, load(sys.argv[3]))
    else:
        killed(report)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
