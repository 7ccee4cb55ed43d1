#!/usr/bin/env python3
"""Compares a recording of ranks.py with the ranks' own metrics.

    check_ranks.py SLUICE RECORDING TRUTH

Each rank's peak must equal torch's to the byte, and its steps must be the loop's. If a rank is late, the others must
wait as long as it was late, within a fifth, plus at most a fifth of the hosts' time, because devices also wait for
their hosts, and ranks for the slowest host. The late rank must hardly wait. A finding must name the late rank. Without
a late rank there must be no finding, unless one rank's host took a tenth longer for its steps than another's. With
fsdp2, devices mostly wait for their hosts. There, the other ranks must wait at least as long as a rank was late, and
the late rank less than half as long. The stages of a pipeline also wait for each other by design. The exit status is 1
if a check fails.
"""
import json
import re
import subprocess
import sys


def main():
    sluice, path, truth_file = sys.argv[1:]
    report = json.loads(subprocess.run([sluice, "report", "--format", "json", path], check=True, capture_output=True, text=True).stdout)
    with open(truth_file) as lines:
        truth = {each["rank"]: each for each in map(json.loads, lines)}
    found = {each["rank"]: each for each in report["ranks"]}
    name = path.rsplit("/", 1)[-1]
    wrong = []
    by_hosts = "fsdp2" in name or "pipeline" in name
    hosts = sorted(each["host_ms"] for each in truth.values())
    hosts_differ = hosts[-1] > 1.1 * hosts[0]
    if sorted(found) != sorted(truth):
        wrong.append(f"ranks {sorted(found)}, not {sorted(truth)}")
    late = max(truth.values(), key=lambda each: each["late_ms"])
    for rank in sorted(found.keys() & truth.keys()):
        said, true = found[rank], truth[rank]
        waited = said["waiting_ns"] / 1e6
        print(f"  {name} rank {rank}: peak {said['maximum_bytes']} (torch {true['peak']}), steps {said['steps']} of {true['steps']}, computing "
              f"{said['computing_ns'] / 1e6:.1f} ms, {said['collectives']} collectives {said['collective_ns'] / 1e6:.1f} ms, of it waiting {waited:.1f} ms; "
              f"late {true['late_ms']:.1f} ms; its host took {true['host_ms']:.1f} ms for its steps")
        if said["maximum_bytes"] != true["peak"]:
            wrong.append(f"rank {rank}: peak {said['maximum_bytes']}, not {true['peak']}")
        if said["steps"] != true["steps"]:
            wrong.append(f"rank {rank}: {said['steps']} steps, not {true['steps']}")
        if late["late_ms"] > 0:
            is_late = rank == late["rank"]
            expected = 0 if is_late else late["late_ms"]
            least, most = expected - late["late_ms"] / 5, expected + late["late_ms"] / 5 + (0 if is_late else true["host_ms"] / 5)
            if by_hosts:
                most = max(each["waiting_ns"] for each in found.values()) / 2e6 if is_late else waited
            if not least <= waited <= most:
                wrong.append(f"rank {rank}: waited {waited:.1f} ms, not {least:.1f} to {most:.1f} ms")
    told = [each for each in report["findings"] if each["kind"] == "rank_imbalance" and "none of them is slower" not in each["text"]]
    for each in told:
        print(f"  {name}: {each['text']}")
    if late["late_ms"] > 0:
        if not any(re.search(rf"for rank {late['rank']}\b", each["text"]) for each in told):
            wrong.append(f"no finding says that the other ranks wait for rank {late['rank']}")
    elif "pipeline" not in name and told and not hosts_differ:
        wrong.append("a finding reports an imbalance although all ranks do the same")
    for each in wrong:
        print(f"FAIL {name}: {each}")
    if not wrong:
        print(f"ok   {name}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
