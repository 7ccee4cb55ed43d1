#!/usr/bin/env python3
"""Checks that a recording shows that a program used the pool of libsluice_pool.so: check_pool.py REPORT.json WHO (for
run-runtime)."""
import json
import sys

report, who = json.load(open(sys.argv[1])), sys.argv[2]
least = {"torch": 300, "cupy": 10, "numba": 5}[who]
failed = False


def expect(holds, what):
    global failed
    print(("  ok   " if holds else "  FAIL ") + f"{who}: {what}")
    failed = failed or not holds


pools = {pool["name"]: pool for pool in report["pools"]}
expect("libsluice_pool" in pools, f"the recording contains the pool, beside {sorted(set(pools) - {'libsluice_pool'})}")
rows = [row for row in report["memory"] if row["layer"] == "pool" and row["kind"] == "device" and
        any(holder["pool"] == "libsluice_pool" or holder["name"] == "libsluice_pool" for holder in row["holders_at_maximum"])]
blocks = sum(row["allocations"] for row in rows)
expect(blocks >= least, f"{blocks} blocks of the pool, at least {least} expected")
if rows:
    expect(all(row["frees"] <= row["allocations"] for row in rows), f"{sum(row['frees'] for row in rows)} of them freed")
below = [row for row in report["memory"] if row["layer"] == "driver" and row["kind"] in ("mapping", "device")]
expect(below, "the blocks have memory of the driver layer below them")
expect(not report["lost"] or report["lost"].get("memory_events", 0) == 0, f"no memory event was lost: {report['lost']}")
expect(report["failed_allocations"]["count"] == 0, "no allocation failed")
sys.exit(failed)
