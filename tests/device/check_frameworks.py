#!/usr/bin/env python3
"""Compares a recording's report with what a framework said of itself, step by step, to the byte. Used by run-frameworks.

    check_frameworks.py native|expandable|async|cupy|numba REPORT.json SAID.json
"""
import json
import sys


def load(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


def total(mark, layer, kind, member="bytes"):
    return sum(m[member] for m in mark["memory"] if m["layer"] == layer and m["kind"] == kind)


def counter(mark, name):
    values = [c["value"] for c in mark["counters"] if c["name"] == name]
    return int(values[0]) if values else None


def figures(what, mark):
    """What the recording has for a step: {name: (figure, name of the framework's own)}."""
    if what == "native":
        return {
            "blocks, bytes": (total(mark, "framework", "device"), "allocated"),
            "segments, bytes": (total(mark, "framework", "device", "segment_bytes"), "reserved"),
            "counter, allocated": (counter(mark, "PyTorch allocated"), "allocated"),
            "counter, reserved": (counter(mark, "PyTorch reserved"), "reserved"),
        }
    if what == "expandable":
        return {
            "blocks, bytes": (total(mark, "framework", "device"), "allocated"),
            "mappings, bytes": (total(mark, "driver", "mapping"), "reserved"),
            "counter, allocated": (counter(mark, "PyTorch allocated"), "allocated"),
        }
    if what == "async":
        pools = mark["pools"]
        return {
            "pool, used": (sum(p["used_bytes"] for p in pools), "allocated"),
            "pool, reserved": (sum(p["reserved_bytes"] for p in pools), "reserved"),
        }
    if what == "cupy":
        return {
            "blocks, bytes": (total(mark, "framework", "device"), "allocated"),
            "segments, bytes": (total(mark, "framework", "device", "segment_bytes"), "reserved"),
        }
    return {"arrays, bytes": (total(mark, "driver", "device"), "allocated")}


def main():
    what, report, said = sys.argv[1], load(sys.argv[2]), load(sys.argv[3])
    failures = 0
    if not said["recording"]:
        print("  FAIL the program did not find its recorder (sluice.py in PYTHONPATH, the library in LD_PRELOAD?)")
        sys.exit(1)
    lost = report["lost"]["events"]
    print(f"  {'ok  ' if lost == 0 else 'FAIL'} events lost: {lost}")
    failures += lost != 0
    marks = {m["step"]: m for m in report["marks"] if m["step"] is not None}
    missing = [s["step"] for s in said["steps"] if s["step"] not in marks]
    print(f"  {'FAIL' if missing else 'ok  '} steps in the recording: {len(marks)} of {len(said['steps'])}")
    failures += len(missing)
    differences = {}
    for step in said["steps"]:
        if step["step"] not in marks:
            continue
        for name, (recorded, own) in figures(what, marks[step["step"]]).items():
            # PyTorch states its totals with a block: nothing is stated when the cache is emptied.
            if name == "counter, reserved" and step.get("emptied"):
                continue
            differences.setdefault(name, []).append((step["step"], recorded, step[own]))
    for name, rows in differences.items():
        wrong = [row for row in rows if row[1] != row[2]]
        failures += len(wrong) != 0
        if wrong:
            step, recorded, own = wrong[0]
            print(f"  FAIL {name}: {len(wrong)} of {len(rows)} steps differ; first at step {step}: recorded {recorded}, its own {own}")
        else:
            print(f"  ok   {name}: equal at all {len(rows)} steps, {rows[-1][1]} at the last")
    if what in ("native", "expandable"):
        parents = [m for m in report["memory"] if m["layer"] == "framework"]
        print(f"       {sum(m['allocations'] for m in parents)} blocks recorded, PyTorch counts {said['steps'][-1]['allocations']}"
              " allocations")
        ranges = {r["name"]: r["count"] for r in report["ranges"]}
        for name in ("forward", "backward"):
            ok = ranges.get(name) == len(said["steps"])
            failures += not ok
            print(f"  {'ok  ' if ok else 'FAIL'} scopes named {name}: {ranges.get(name)}")
    if what == "numba":
        for row in report["memory"]:
            print(f"       {row['layer']} {row['kind']}: {row['allocations']} allocations, {row['frees']} frees")
        last = said["steps"][-1]
        print(f"       at the last step Numba holds {last['allocated']} bytes, {last['waiting']} of them to be freed, in arrays"
              f" {last['arrays']}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
