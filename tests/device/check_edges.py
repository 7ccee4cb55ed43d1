#!/usr/bin/env python3
"""Compares reports of edge_program's recordings with the program's actions. run-edges calls it.

    check_edges.py WHAT REPORT.json DEVICES MODE      WHAT: fault, peer, ipc, around, batch, graph, children, beside
"""
import json
import sys

MIB = 1 << 20
GOES_AROUND = "calls the driver around the recorder"
failures = 0


def check(what, recorded, expected, holds=None):
    global failures
    ok = recorded == expected if holds is None else holds
    failures += not ok
    print(f"  {'ok  ' if ok else 'FAIL'} {what:<60} recorded {str(recorded):>12}  expected {str(expected):>12}")


def total(report, direction, what):
    return int(sum(t[what] for t in report["transfers"] if t["direction"] == direction))


def memory(report, kind, layer="driver"):
    return int(sum(m["allocated_bytes"] for m in report["memory"] if m["kind"] == kind and m["layer"] == layer))


def fault(report, devices, mode):
    check("events lost", report["lost"]["events"], 0)
    check("device memory, bytes", memory(report, "device"), 8 * MIB)
    check("copies to the device", total(report, "h2d", "count"), 1)
    faults = report["gpu_faults"]
    check("faults", len(faults), 1)
    if faults:
        launches = [launch["kernel"] for launch in faults[0]["launches_before"]]
        culprits = ("write_nowhere", "fall_into_trap", "assert_false")
        first = launches[0] if launches else "none"
        check("the last launch before it", first[:12], "the one", any(name in first for name in culprits))
        check("calls that failed", faults[0]["failed_calls"], ">= 6", faults[0]["failed_calls"] >= 6)
        check("the first finding", report["findings"][0]["kind"], "gpu_fault")
        until = report["processes"][0]["device_times_complete_until_ns"]
        if mode != "memory" and launches:
            last = faults[0]["launches_before"][0]["time_ns"]
            check("device times are complete up to a time before the fault", until, f"<= {last}", until is not None and until <= last)
    check("the recording's length, s", report["span"]["end_ns"] - report["span"]["begin_ns"], "< 10e9",
          report["span"]["end_ns"] - report["span"]["begin_ns"] < 10e9)
    activity = report["devices"][0]["activity"] if report["devices"] else None
    if mode != "memory":
        kernels = activity["kernels"] if activity else 0
        check("kernels before the fault (the program waited for 20)", kernels, ">= 20", kernels >= 20)


def peer(report, devices, mode):
    check("events lost", report["lost"]["events"], 0)
    if devices > 1:
        # The peak comes from CUPTI or, in memory mode, from the management library (NVML). 18 links of an H200 carry
        # 425 GB/s one way.
        for device in report["devices"]:
            peak = device["link"]["nvlink_peak_bytes_per_second"]
            check(f"NVLink's peak of GPU {device['ordinal']}, GB/s", peak and peak / 1e9, "some", bool(peak))
    if mode == "memory":
        return
    way = "p2p" if devices > 1 else "d2d"
    # Before peer access was enabled, a copy went through the host, as two copies.
    copied = (8 + 9 + 10 + 11 + 12 + 5 * 200) * MIB
    check(f"{way}, bytes", total(report, way, "bytes"), copied)


def ipc(report, devices, mode):
    check("events lost", report["lost"]["events"], 0)
    check("device memory of both, the shared counted once, bytes", memory(report, "device"), 7 * MIB)
    check("physical memory of both, the shared counted once, bytes", memory(report, "physical"), 4 * MIB)
    check("memory of pools of both, the shared counted once, bytes", memory(report, "device", "pool"), 2 * MIB)
    imports = report["imports"]
    kinds = sorted((had["layer"], had["kind"]) for had in imports)
    expected = [("driver", "device"), ("driver", "physical"), ("pool", "device")]
    check("kinds of imported blocks", len(kinds), 3, kinds == expected)
    for had in imports:
        named = had["owner"] is not None and had["owner"] != had["process"] and not had["owner_inferred"]
        check(f"owner of {had['layer']} {had['kind']}, blocks {had['blocks']}", had["owner"], "the other", named)


def batch(report, devices, mode):
    check("events lost", report["lost"]["events"], 0)
    kib = 1024
    h2d = (100 + 110 + 120 + 130 + 140 + 150 + 3000 * 4 + 1 * 32 + 2 * 32) * kib
    check("host to device, bytes", total(report, "h2d", "bytes"), h2d)
    check("device to host, bytes", total(report, "d2h", "bytes"), 160 * kib)
    check("device to device, bytes", total(report, "d2d", "bytes"), 170 * kib)


def around(report, devices, mode):
    told = [warning for warning in report["warnings"] if GOES_AROUND in warning]
    expected = 3 if mode == "memory" else 8
    check("device memory, bytes", memory(report, "device"), expected * MIB)
    check("warnings that something calls the driver around us", len(told), 1 if mode == "memory" else 0)
    for text in told:
        check("the warning names the program and the function", text[:40], "...", "itself" in text and "cuMemAlloc_v2" in text)


def graph(report, devices, mode):
    check("events lost", report["lost"]["events"], 0)


def beside(report, devices, mode):
    check("events lost", report["lost"]["events"], 0)
    check("host to device, bytes", total(report, "h2d", "bytes"), MIB + 100 * MIB // 4)
    fastest = max(t["fastest_bytes_per_second"] for t in report["transfers"] if t["direction"] == "h2d")
    check("fastest copy, GB/s: timed by the device, not by its call", fastest / 1e9, "< 100", fastest < 100e9)


def main():
    what, path, devices, mode = sys.argv[1:5]
    with open(path, encoding="utf-8") as text:
        report = json.load(text)
    ways = {"fault": fault, "peer": peer, "ipc": ipc, "around": around, "batch": batch, "graph": graph, "children": graph, "beside": beside}
    ways[what](report, int(devices), mode)
    if what != "around":
        told = [warning for warning in report["warnings"] if GOES_AROUND in warning]
        check("warnings that something calls the driver around us", len(told), 0)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
