"""Writes Parquet files from the columns that `sluice export --format parquet` sends. The argument names the folder for
the files.

The messages arrive on standard input, and the answers go to standard output. First, this program writes "ready" and
pyarrow's version. Each message is a line of JSON. This program answers only at the end ("done" and the total bytes of
all files) or when an error occurs ("error" and a sentence, in one line).

  {"columns": [[name, type], ...]}         begins a table: the following batches have these columns
  {"path": file, "rows": n, "sizes": [..]} n rows, which become a row group of the file; buffers of `sizes` bytes follow
  {"close": true}                          completes the files of the current table
  {"end": true}                            ends the conversation

The buffers of a column are Arrow's. The first buffer has the validity bits, or 0 bytes if no value is null. The second
buffer has 64-bit values for the types `integer` and `real`, and bits for `flag`. For `text`, three buffers follow the
first: 32-bit codes, the 32-bit offsets of the dictionary's texts, and the bytes of these texts.
"""
import sys

# Modules must not be imported from the current folder, as "python -c" would do.
sys.path = [folder for folder in sys.path if folder]

import json
import os
import signal


LEAST_VERSION = 11  # The oldest supported version of pyarrow.
# The maximum number of row groups in all open files together. An open file keeps the metadata of its row groups, 7 kB
# for each row group of the widest table.
MOST_GROUPS = 4096


def say(words):
    sys.stdout.write(words.replace("\n", " ") + "\n")
    sys.stdout.flush()


def buffers_of(source, sizes):
    for size in sizes:
        content = source.read(size)
        if len(content) != size:
            sys.exit(1)  # Sluice has ended, so nobody waits for an answer.
        yield content


def column_of(pa, kind, rows, buffers):
    def buffer():
        content = next(buffers)
        return pa.py_buffer(content) if content else None

    valid = buffer()
    if kind != "text":
        types = {"integer": pa.int64(), "real": pa.float64(), "flag": pa.bool_()}
        return pa.Array.from_buffers(types[kind], rows, [valid, buffer() or pa.py_buffer(b"")])
    codes = pa.Array.from_buffers(pa.int32(), rows, [valid, buffer() or pa.py_buffer(b"")])
    offsets = buffer()
    texts = pa.Array.from_buffers(pa.string(), offsets.size // 4 - 1, [None, offsets, buffer() or pa.py_buffer(b"")])
    return pa.DictionaryArray.from_arrays(codes, texts)


class Files:
    """The files of one table that are being written."""

    def __init__(self, pa, parquet, columns):
        self.pa, self.parquet, self.columns, self.writers = pa, parquet, columns, {}
        self.groups, self.parts, self.written = {}, {}, 0
        text = pa.dictionary(pa.int32(), pa.string())
        types = {"integer": pa.int64(), "rising": pa.int64(), "real": pa.float64(), "flag": pa.bool_(), "text": text}
        self.schema = pa.schema([(name, types[kind]) for name, kind in columns])

    def writer(self, path):
        if path not in self.writers:
            place = self.place_of(path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            rising = {name: "DELTA_BINARY_PACKED" for name, kind in self.columns if kind == "rising"}
            self.writers[path] = self.parquet.ParquetWriter(
                place, self.schema, version="2.6", compression="zstd", store_schema=False, column_encoding=rising or None,
                use_dictionary=[name for name, kind in self.columns if kind != "rising"])
        return self.writers[path]

    def place_of(self, path):
        """Returns the file to which the rows for `path` are written now. It is "part-0.parquet" or, if that file was
        completed early, "part-1.parquet"."""
        folder, name = os.path.split(path)
        return os.path.join(sys.argv[1], folder, name.replace("part-0", f"part-{self.parts.get(path, 0)}"))

    def complete(self, path):
        self.writers.pop(path).close()
        self.written += os.path.getsize(self.place_of(path))
        self.groups.pop(path, None)

    def add(self, path, rows, buffers):
        arrays = [column_of(self.pa, "integer" if kind == "rising" else kind, rows, buffers) for _, kind in self.columns]
        table = self.pa.Table.from_arrays(arrays, schema=self.schema)
        writer = self.writer(path)
        if rows:
            writer.write_table(table, row_group_size=rows)
            self.groups[path] = self.groups.get(path, 0) + 1
        if sum(self.groups.values()) > MOST_GROUPS:
            longest = max(self.groups, key=self.groups.get)
            self.complete(longest)
            self.parts[longest] = self.parts.get(longest, 0) + 1

    def close(self):
        """Completes the files and returns their total bytes."""
        for path in list(self.writers):
            self.complete(path)
        return self.written


def serve(pa, parquet):
    source, files, written = sys.stdin.buffer, None, 0
    while True:
        line = source.readline()
        if not line.endswith(b"\n"):
            sys.exit(1)
        message = json.loads(line)
        if "columns" in message:
            files = Files(pa, parquet, message["columns"])
        elif "path" in message:
            files.add(message["path"], message["rows"], buffers_of(source, message["sizes"]))
        elif "close" in message:
            written += files.close()
        else:
            return written


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Sluice decides when to stop.
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as missing:
        say(f"missing {missing}")
        return
    if int(pyarrow.__version__.split(".")[0]) < LEAST_VERSION:
        say(f"missing pyarrow {LEAST_VERSION}: there is only {pyarrow.__version__}")
        return
    try:
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        pyarrow.set_cpu_count(1)
        say(f"ready {pyarrow.__version__}")
        say(f"done {serve(pyarrow, pyarrow.parquet)}")
    except OSError as problem:
        say(f"error {problem.errno or 0} {problem.strerror or problem}")
    except Exception as problem:
        say(f"error 0 {type(problem).__name__}: {problem}")


main()
