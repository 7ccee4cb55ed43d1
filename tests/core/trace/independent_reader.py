#!/usr/bin/env python3
"""Reads a .sluice file as core/trace/file/format.md describes it, without any of the project's code.

    independent_reader.py FORMAT.MD FILE      prints, as JSON, for each kind of row: rows, and for each column the sum of its values
                                              modulo 2^64, for texts the sum of their lengths

The columns, and the default values of missing columns, are read from the document itself. The reader needs libzstd and
does not check checksums. Exits with 77 if libzstd is missing.
"""
import ctypes
import ctypes.util
import json
import struct
import sys

MASK = (1 << 64) - 1
INDEX = 1024

try:
    zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
except OSError:
    print("independent_reader: libzstd is not installed", file=sys.stderr)
    sys.exit(77)
zstd.ZSTD_decompress.restype = ctypes.c_size_t
zstd.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


def decompress(frame, size):
    out = ctypes.create_string_buffer(max(size, 1))
    got = zstd.ZSTD_decompress(out, size, frame, len(frame))
    if got != size:
        raise ValueError("a zstd frame does not decompress")
    return out.raw[:size]


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def u8(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value & MASK

    def take(self, count):
        self.at += count
        if self.at > len(self.data):
            raise ValueError("a chunk is cut off")
        return self.data[self.at - count:self.at]


def unzigzag(value):
    return (value >> 1) ^ (-(value & 1) & MASK)


def read_line(cursor, form=None):
    line = {"form": cursor.u8() if form is None else form}
    if line["form"] == 4:
        line["lengths"] = read_line(cursor)
        line["bytes"], line["stored"] = cursor.varint(), cursor.varint()
        return line
    base = cursor.varint()
    line["base"] = unzigzag(base) if line["form"] in (0, 2, 5) else base
    line["planes"] = []
    if line["form"] != 0:
        for _ in range(cursor.u8()):
            stored = cursor.varint()
            line["planes"].append((stored, cursor.u8() if stored == 0 else None))
    return line


def take_planes(cursor, line, rows):
    small = [0] * rows
    for k, (stored, same) in enumerate(line["planes"]):
        if stored == 0:
            plane = bytes([same]) * rows
        else:
            plane = cursor.take(stored)
            if stored != rows:
                plane = decompress(plane, rows)
        for i in range(rows):
            small[i] |= plane[i] << (8 * k)
    return small


def values_of(line, small, rows, columns):
    if line["form"] == 0:
        return [line["base"]] * rows
    if line["form"] == 1:
        return [(line["base"] + n) & MASK for n in small]
    steps = small if line["form"] in (5, 6) else [unzigzag(n) for n in small]
    if line["form"] in (2, 5):
        value, values = line["base"], []
        for step in steps:
            value = (value + step) & MASK
            values.append(value)
        return values
    other = columns.get(line["base"], [0] * rows)
    return [(other[i] + step) & MASK for i, step in enumerate(steps)]


def read_columns(payload, rows):
    """Returns {number: values}. The values of a column of texts are their lengths."""
    cursor = Cursor(payload)
    lines = []
    for _ in range(cursor.varint()):
        number = cursor.varint()
        lines.append((number, read_line(cursor)))
    columns, later = {}, []
    for number, line in lines:
        integers = line["lengths"] if line["form"] == 4 else line
        small = take_planes(cursor, integers, rows)
        if line["form"] in (3, 6):
            later.append((number, line, small))
        else:
            columns[number] = values_of(integers, small, rows, columns)
        if line["form"] == 4:
            text = cursor.take(line["stored"])
            if line["stored"] != line["bytes"]:
                text = decompress(text, line["bytes"])
            if sum(columns[number]) != len(text):
                raise ValueError("lengths and texts do not agree")
    for number, line, small in later:
        columns[number] = values_of(line, small, rows, columns)
    if cursor.at != len(payload):
        raise ValueError("bytes follow the last column")
    return columns


def read_columns_v1(payload, rows):
    columns, at = {}, 0
    while at < len(payload):
        number, encoding, _, size = struct.unpack_from("<HBBI", payload, at)
        at += 8
        data = Cursor(payload[at:at + size])
        at += size
        if encoding == 0:
            columns[number] = [unzigzag(data.varint())] * rows
        elif encoding == 1:
            columns[number] = [unzigzag(data.varint()) for _ in range(rows)]
        elif encoding == 2:
            value, values = 0, []
            for _ in range(rows):
                value = (value + unzigzag(data.varint())) & MASK
                values.append(value)
            columns[number] = values
        elif encoding == 3:
            columns[number] = [struct.unpack("<Q", data.take(8))[0] for _ in range(rows)]
        elif encoding == 4:
            columns[number] = [data.varint() for _ in range(rows)]
    return columns


def chunks_of(data):
    """Yields (kind, rows, flags, decoded bytes, payload) of each chunk, by walking from chunk to chunk."""
    magic, major = struct.unpack_from("<8sH", data, 0)
    if magic != b"\x89SLUICE\n" or major not in (1, 2, 3, 4):
        raise ValueError("not a trace of a known version")
    at = 64
    while at + 56 <= len(data) and data[at:at + 4] == b"SCLK":
        kind, _, rows, decoded, stored, flags = struct.unpack_from("<HHIIII", data, at + 4)
        if at + 56 + stored > len(data):
            return
        yield kind, rows, flags, decoded, data[at + 56:at + 56 + stored]
        at += 56 + stored


def read_tables(text):
    """Returns {kind: {number: default}} from the headings and tables of the document."""
    kinds, kind = {}, None
    for line in text.splitlines():
        if line.startswith("### "):
            kind = kinds.setdefault(int(line.rsplit(",", 1)[1]), {})
        elif kind is not None and line.startswith("| ") and line[2].isdigit():
            number, _, _, default = (cell.strip() for cell in line.strip("| ").split("|")[:4])
            kind[int(number)] = int(default) & MASK if default else 0
    return kinds


def main():
    with open(sys.argv[1], encoding="utf-8") as text:
        tables = read_tables(text.read())
    with open(sys.argv[2], "rb") as file:
        data = file.read()
    kinds = {}
    for kind, rows, flags, decoded, payload in chunks_of(data):
        if flags & 2:
            columns = read_columns(payload, rows)
        else:
            columns = read_columns_v1(decompress(payload, decoded), rows)
        if kind == INDEX:
            continue
        total = kinds.setdefault(kind, {"rows": 0, "sums": {}})
        total["rows"] += rows
        unknown = set(columns) - set(tables[kind])
        if unknown:
            raise ValueError(f"kind {kind} has columns that the document does not know: {unknown}")
        for number, default in tables[kind].items():
            values = columns.get(number, [default] * rows)
            total["sums"][number] = (total["sums"].get(number, 0) + sum(values)) & MASK
    json.dump(kinds, sys.stdout)


main()
