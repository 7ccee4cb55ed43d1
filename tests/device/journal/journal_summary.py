#!/usr/bin/env python3
"""Prints the content of a journal (the calls and records of one CUPTI session): calls by name, records by kind,
buffers, threads, notes.

    journal_summary.py FILE [--calls]      FILE may be gzipped; the format is in tests/instrumentation/capture/journal.hpp
"""
import collections
import gzip
import struct
import sys

KINDS = {1: "MEMCPY", 2: "MEMSET", 8: "DEVICE", 9: "CONTEXT", 10: "CONCURRENT_KERNEL", 17: "OVERHEAD", 22: "MEMCPY2",
         25: "UNIFIED_MEMORY_COUNTER", 28: "DEVICE_ATTRIBUTE", 37: "STREAM", 38: "SYNCHRONIZATION", 40: "NVLINK",
         46: "PCIE", 49: "MEMORY2", 50: "MEMORY_POOL", 51: "GRAPH_TRACE"}


def entries(data):
    at = 24
    while at + 5 <= len(data):
        kind, size = struct.unpack_from("<BI", data, at)
        yield kind, data[at + 5: at + 5 + size]
        at += 5 + size
    if at != len(data):
        print(f"truncated: {len(data) - at} bytes left over")


def cbid_names():
    import re
    for folder in ("/usr/local/cuda/include", "/usr/local/cuda/targets/x86_64-linux/include",
                   "/usr/local/cuda/extras/CUPTI/include"):
        try:
            text = open(f"{folder}/cupti_driver_cbid.h", encoding="utf-8").read()
        except OSError:
            continue
        return {int(n): name for name, n in re.findall(r"CBID_(cu\w+)\s*=\s*(\d+)", text)}
    return {}


def main():
    path = sys.argv[1]
    raw = open(path, "rb").read()
    data = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    if data[:8] != b"SLJRNL01":
        sys.exit(f"{path}: not a journal")
    cupti, driver, base = struct.unpack_from("<IIq", data, 8)
    names = cbid_names()
    calls, records, failed, resources = (collections.Counter() for _ in range(4))
    threads = buffers = dropped = 0
    notes, answers, devices = [], [], []
    for kind, p in entries(data):
        if kind == 1:
            cbid, site, correlation = struct.unpack_from("<IBI", p, 4)
            (result,) = struct.unpack_from("<i", p, 33)
            if site == 1:
                calls[names.get(cbid, cbid)] += 1
                if result:
                    failed[f"{names.get(cbid, cbid)} -> {result}"] += 1
            if "--calls" in sys.argv:
                print(struct.unpack_from("<I", p, 0)[0], names.get(cbid, cbid), "exit" if site else "enter", correlation, result)
        elif kind == 2:
            resources[struct.unpack_from("<I", p, 4)[0]] += 1
        elif kind == 3:
            buffers += 1
        elif kind == 4:
            n = struct.unpack_from("<I", p, 0)[0]
            records[KINDS.get(n, n)] += 1
        elif kind == 5:
            dropped = max(dropped, struct.unpack_from("<Q", p, 0)[0])
        elif kind == 7:
            threads += 1
        elif kind == 8:
            devices.append((p[36:100].split(b"\0")[0].decode(), struct.unpack_from("<Q", p, 4)[0]))
        elif kind == 9:
            notes.append(p.decode())
        elif kind == 10:
            answers.append(struct.unpack_from("<Ii", p, 0))
    print(f"{path}: {len(raw)} bytes ({len(data)} unpacked), CUPTI {cupti}, driver {driver}, "
          f"{threads} threads, {buffers} buffers, dropped {dropped}")
    print(" devices  ", devices)
    print(" answers  ", [(KINDS.get(k, k), r) for k, r in answers])
    print(" resources", dict(sorted(resources.items())))
    print(" records  ", dict(records.most_common()))
    print(" calls    ", dict(calls.most_common()))
    print(" failed   ", dict(failed))
    for note in notes:
        print(" note     ", note)


if __name__ == "__main__":
    main()
