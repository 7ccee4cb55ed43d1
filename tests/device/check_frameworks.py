#!/usr/bin/env python3
"""Compares a recording's report with a framework's own metrics, step by step, to the byte. run-frameworks calls it.

    check_frameworks.py native|expandable|async|cupy|numba|rmm|rmm-async REPORT.json SAID.json
    check_frameworks.py jax-segments|jax-platform|jax-cuda_async REPORT.json SAID.json
    check_frameworks.py ranks REPORT.json SAID.json.0 SAID.json.1 ...
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
    """Returns the recording's metrics for a step: {name: (metric, name of the framework's own metric)}."""
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
    if what in ("cupy", "rmm"):
        return {
            "blocks, bytes": (total(mark, "framework", "device"), "allocated"),
            "segments, bytes": (total(mark, "framework", "device", "segment_bytes"), "reserved"),
        }
    if what == "rmm-async":
        return {"blocks of the driver's pool, bytes": (total(mark, "pool", "device"), "allocated")}
    if what == "ranks":
        return {
            "blocks, bytes": (total(mark, "framework", "device"), "allocated"),
            "segments, bytes": (total(mark, "framework", "device", "segment_bytes"), "reserved"),
        }
    return {"arrays, bytes": (total(mark, "driver", "device"), "allocated")}


def check_stacks(report):
    """Checks that at the peak each block has a line, including blocks of a backward pass, and that every block has a
    stack."""
    rows = [m["by_line_at_maximum"] for m in report["memory"] if m["layer"] == "framework" and m.get("by_line_at_maximum")]
    lines = [line for row in rows for line in row["lines"]]
    inferred = {"the forward line": 0, "the call of backward()": 0}
    for line in lines:
        functions = [frame["function"] for frame in line["stack"]]
        for name, mark in zip(inferred, ("[inferred: the backward of]", "[inferred: on another thread, for]")):
            if mark in functions:
                inferred[name] += line["of_that_stack"]["bytes"]
    without = sum(row["without_stack"]["bytes"] for row in rows)
    print(f"  {'FAIL' if without else 'ok  '} bytes at the peak without a stack: {without} of"
          f" {sum(m['maximum_bytes'] for m in report['memory'] if m['layer'] == 'framework')}")
    print("       made by a backward pass, by the heaviest stack of each line: "
          + ", ".join(f"{of} bytes by {name}" for name, of in inferred.items()))
    return without != 0


def jax_figure(what, mark):
    """Returns the memory that XLA holds from the driver, and JAX's name for that number. In addition, CUDA libraries
    and XLA's own constants allocate from the driver, the same amount at each step. JAX does not count these
    allocations."""
    if what == "jax-cuda_async":
        return total(mark, "pool", "device"), "in_use"
    if what == "jax-platform":
        return total(mark, "driver", "mapping"), "arrays_in_pages"
    return total(mark, "driver", "device") + total(mark, "driver", "mapping"), "pool"


def check_jax(what, report, said, marks):
    """After a few steps everything is compiled and nothing else is allocated. From then on, the metrics must agree to
    the byte, step by step."""
    failures, rows = 0, []
    for step in said["steps"]:
        if step["step"] in marks:
            recorded, own = jax_figure(what, marks[step["step"]])
            rows.append((step["step"], recorded, step[own]))
    late = [row for row in rows[len(rows) // 3:] if row[2] is not None]
    beside = sorted({recorded - own for _, recorded, own in late})
    ok = len(beside) == 1 and beside[0] >= 0
    failures += not ok
    if not late:
        print(f"  FAIL JAX reports no memory: {said['steps'][-1]}")
    else:
        print(f"  {'ok  ' if ok else 'FAIL'} recorded {late[-1][1]} bytes, JAX's own {late[-1][2]} at the last of {len(late)} steps;"
              f" beside it, at each step: {', '.join(map(str, beside[:6]))}")
    copies = sum(t["count"] for t in report["transfers"] if t["direction"] == "h2d")
    kernels = report["kernels"]["count"] if isinstance(report["kernels"], dict) else sum(k["count"] for k in report["kernels"])
    for name, count in (("copies to the device", copies), ("kernels", kernels)):
        failures += count < len(rows)
        print(f"  {'ok  ' if count >= len(rows) else 'FAIL'} {name}: {count} in {len(rows)} steps")
    print(f"       {len(report['ranges'])} names of ranges; JAX's last words: {said['steps'][-1]}")
    return failures


def check_steps(what, report, said, process=None):
    """Compares the metrics step by step. `process` is the process's number in the recording, or None if there is only
    one."""
    failures, differences = 0, {}
    marks = {m["step"]: m for m in report["marks"] if m["step"] is not None and process in (None, m["process"])}
    missing = [s["step"] for s in said["steps"] if s["step"] not in marks]
    print(f"  {'FAIL' if missing else 'ok  '} steps in the recording: {len(marks)} of {len(said['steps'])}")
    failures += len(missing)
    if what.startswith("jax"):
        return failures + check_jax(what, report, said, marks)
    for step in said["steps"]:
        if step["step"] not in marks:
            continue
        for name, (recorded, own) in figures(what, marks[step["step"]]).items():
            # PyTorch reports its totals together with a block. It reports nothing when the cache is emptied.
            if name == "counter, reserved" and step.get("emptied"):
                continue
            differences.setdefault(name, []).append((step["step"], recorded, step[own]))
    for name, rows in differences.items():
        wrong = [row for row in rows if row[1] != row[2]]
        failures += len(wrong) != 0
        if wrong:
            step, recorded, own = wrong[0]
            print(f"  FAIL {name}: {len(wrong)} of {len(rows)} steps differ; first at step {step}: recorded {recorded}, the framework's own {own}")
        else:
            print(f"  ok   {name}: equal at all {len(rows)} steps, {rows[-1][1]} at the last")
    return failures


def check_ranks(report, all_said):
    failures = 0
    of_rank = {p["rank"]: p for p in report["processes"] if p["rank"] is not None}
    for said in all_said:
        process = of_rank.get(said["rank"])
        print(f"  {'FAIL' if process is None else 'ok  '} rank {said['rank']} ({said['backend']}): "
              + ("no such process" if process is None else f"process {process['pid']}"))
        failures += 1 if process is None else check_steps("ranks", report, said, process["id"])
    recorded = sum(m["allocations"] for m in report["memory"] if m["layer"] == "framework")
    own = sum(said["steps"][-1]["allocations"] for said in all_said)
    devices = len(report["devices"])
    for ok, text in ((recorded == own, f"{recorded} blocks recorded in all, PyTorch counts {own}"),
                     (devices == max(said["devices"] for said in all_said), f"{devices} devices")):
        print(f"  {'ok  ' if ok else 'FAIL'} {text}")
        failures += not ok
    return failures


def main():
    what, report, said = sys.argv[1], load(sys.argv[2]), load(sys.argv[3])
    all_said = [load(path) for path in sys.argv[3:]]
    if not all(each["recording"] for each in all_said):
        print("  FAIL the program did not find the recorder (is sluice.py in PYTHONPATH, and the library in LD_PRELOAD?)")
        sys.exit(1)
    lost = report["lost"]["events"]
    print(f"  {'ok  ' if lost == 0 else 'FAIL'} events lost: {lost}")
    failures = int(lost != 0)
    for text in report["warnings"]:
        if "the driver around the recorder" in text:
            print(f"  FAIL {text}")
            failures += 1
    failures += check_ranks(report, all_said) if what == "ranks" else check_steps(what, report, said)
    if what in ("native", "expandable"):
        parents = [m for m in report["memory"] if m["layer"] == "framework"]
        print(f"       {sum(m['allocations'] for m in parents)} blocks recorded, PyTorch counts {said['steps'][-1]['allocations']}"
              " allocations")
        ranges = {r["name"]: r["count"] for r in report["ranges"]}
        for name in ("forward", "backward"):
            ok = ranges.get(name) == len(said["steps"])
            failures += not ok
            print(f"  {'ok  ' if ok else 'FAIL'} scopes named {name}: {ranges.get(name)}")
        failures += check_stacks(report)
    if what == "numba":
        for row in report["memory"]:
            print(f"       {row['layer']} {row['kind']}: {row['allocations']} allocations, {row['frees']} frees")
        last = said["steps"][-1]
        print(f"       the arrays that the program holds at the last step are {last['arrays']} bytes")
    if what.startswith("rmm"):
        print(f"       RMM counts {said['steps'][-1]['allocations']} allocations in all")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
