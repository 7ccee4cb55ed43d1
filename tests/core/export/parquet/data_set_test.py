#!/usr/bin/env python3
"""Tests that DuckDB and Spark read the data set that `sluice export --format parquet` writes.

Usage: data_set_test.py SLUICE ASSETS [PART OF A TEST'S NAME]

The test exports 64 generated ranks. Then the queries of ASSETS/sql run unchanged in DuckDB, and in Spark if it is
installed, and must give the results of `sluice query`. Exits with 77 (skipped) if pyarrow or duckdb is missing. `./dev
test` and `./dev data-set-check` install both; the latter installs Spark, too."""
import decimal
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

RANKS = 64
TABLES = ("events", "blocks", "transfers", "kernels", "host_samples", "step", "idle_use", "idle_cause", "finding")


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


def plain(value):
    """Returns a whole number as an int, whatever its type."""
    if isinstance(value, (bool, float, decimal.Decimal)):
        return int(value) if value == int(value) else float(value)
    return value


class Engine:
    """Runs SQL files over a data set. Rows are tuples of plain Python values."""

    def ask(self, sql):
        return [tuple(map(plain, row)) for row in self.rows(sql)]


class DuckDB(Engine):
    name = "duckdb"

    def __init__(self, folder):
        import duckdb
        self.connection = duckdb.connect()
        for table in TABLES:
            self.connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{folder}/{table}/*/*/*.parquet', hive_partitioning = true)")

    def rows(self, sql):
        return self.connection.execute(sql).fetchall()

    def columns(self, table):
        return [row[0] for row in self.rows(f"DESCRIBE {table}")]


class Spark(Engine):
    name = "spark"

    def __init__(self, folder):
        from pyspark.sql import SparkSession
        self.session = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
                        .config("spark.sql.shuffle.partitions", "4").config("spark.driver.bindAddress", "127.0.0.1")
                        .config("spark.driver.host", "127.0.0.1").config("spark.log.level", "ERROR").getOrCreate())
        for table in TABLES:
            self.session.sql(f"CREATE OR REPLACE TEMPORARY VIEW {table} USING parquet OPTIONS (path '{folder}/{table}')")

    def rows(self, sql):
        return [tuple(row) for row in self.session.sql(sql).collect()]

    def columns(self, table):
        return self.session.table(table).columns


class Recordings:
    """The exported recordings by run, and the results of `sluice query` for them."""

    def __init__(self, sluice, assets, folder):
        self.sluice, self.folder, self.data_set = sluice, folder, os.path.join(folder, "data set")
        self.runs = {}
        self.add("first", self.generated("first", "1"))
        self.add("second", self.generated("second", "2"))
        for name in ("pytorch-training", "pinned-vs-pageable", "overlap"):
            self.add(name, os.path.join(assets, "recordings", name + ".sluice"))

    def generated(self, name, seed):
        path = os.path.join(self.folder, name + ".sluice")
        run(self.sluice, "generate", "--processes", str(RANKS), "--events", str(RANKS * 2500), "--seed", seed, "-o", path)
        return path

    def add(self, name, path):
        run(self.sluice, "export", path, "--format", "parquet", "--run", name, "-o", self.data_set)
        self.runs[name] = path

    def query(self, name, sql):
        """Returns the rows of a result, as tuples."""
        lines = json.loads(run(self.sluice, "query", "--format", "json", self.runs[name], sql))
        return [tuple(map(plain, row.values())) for row in lines]


def shipped(assets, name):
    with open(os.path.join(assets, "sql", name + ".sql"), encoding="utf-8") as file:
        return file.read()


def expect_equal(what, got, wanted):
    if got == wanted:
        return
    for mine, theirs in zip(sorted(got, key=str), sorted(wanted, key=str)):
        if mine != theirs:
            raise AssertionError(f"{what}: {mine} instead of {theirs}")
    raise AssertionError(f"{what}: {len(got)} rows instead of {len(wanted)}, such as {(got or wanted)[0]}")


# Helpers that make the same queries with `sluice query`.

RANK_OF = "(SELECT coalesce(rank, 0) FROM process WHERE id = {}.process)"
PEAK_ROWS = """
  SELECT {rank} AS rank, u.device, u.layer, u.kind, u.maximum, u.maximum_time FROM memory_use AS u
  JOIN (SELECT DISTINCT process, device FROM stream) AS s ON s.device = u.device"""


def peaks_of_modules(recordings, name):
    """Returns (rank, device, layer, kind, peak, time, module, bytes, blocks), like peak_by_rank_and_module.sql."""
    peaks = recordings.query(name, PEAK_ROWS.format(rank=RANK_OF.format("s")))
    blocks = {}
    for row in recordings.query(name, f"""
        SELECT {RANK_OF.format('b')}, b.device, b.layer, b.kind, b.born, coalesce(b.died, 9223372036854775807), b.bytes, s.module
        FROM block AS b LEFT JOIN call_stack AS s ON s.id = b.stack WHERE NOT b.imported AND b.device IS NOT NULL"""):
        blocks.setdefault(row[:4], []).append(row[4:])
    rows = []
    for *key, peak, when in peaks:
        modules = {}
        for born, died, size, module in blocks.get(tuple(key), []):
            if born <= when < died:
                held = modules.setdefault(module or "(no module)", [0, 0])
                held[0] += size
                held[1] += 1
        rows += [(*key, peak, when, module, size, count) for module, (size, count) in modules.items()]
    return rows


def highest_of_run(recordings, name):
    """Returns, by (layer, kind), the bytes of each module at the highest peak of all ranks."""
    highest = {}
    for row in peaks_of_modules(recordings, name):
        rank, device, layer, kind, peak = row[:5]
        place = (-peak, rank, device)
        if place < highest.get((layer, kind), ((1,), None))[0]:
            highest[layer, kind] = (place, {})
        if place == highest[layer, kind][0]:
            highest[layer, kind][1][row[6]] = row[7]
    return {key: modules for key, (_, modules) in highest.items()}


# The tests. Each takes the engine, the recordings and the folder of the shipped queries.

def test_each_table_has_the_columns_and_rows_of_sluice_query(engine, recordings, assets):
    for table in TABLES:
        columns = [name for name in engine.columns(table) if name not in ("run", "rank")]
        named = recordings.query("first", f"SELECT name FROM pragma_table_info('{table}') WHERE name <> 'stack_text'")
        assert columns == [name for name, in named], (table, columns)
        rows = f"SELECT {', '.join('t.' + name for name in columns)} FROM {table} AS t"
        for name in recordings.runs:
            expect_equal(f"{table} of {name}", sorted(engine.ask(f"{rows} WHERE t.run = '{name}'"), key=str),
                         sorted(recordings.query(name, rows), key=str))


def test_rows_lie_in_the_folder_of_their_rank(engine, recordings, assets):
    expect_equal("ranks of kernels",
                 engine.ask("SELECT rank, COUNT(*) FROM kernels WHERE run = 'first' GROUP BY rank ORDER BY rank"),
                 recordings.query("first", f"SELECT {RANK_OF.format('k')} AS rank, count(*) AS n FROM kernel AS k GROUP BY 1 ORDER BY 1"))


def test_peak_by_rank_and_module(engine, recordings, assets):
    got = [row for row in engine.ask(shipped(assets, "peak_by_rank_and_module")) if row[2] is not None]
    wanted = [(name, *row) for name in recordings.runs for row in peaks_of_modules(recordings, name)]
    assert len(wanted) > RANKS, wanted
    expect_equal("peaks", sorted(got), sorted(wanted))
    # The report's metric for ranks agrees for the layer that it shows.
    for name in ("first", "second"):
        for rank, layer, kind, peak in recordings.query(name, "SELECT rank, layer, kind, peak FROM rank_use"):
            found = {row[5] for row in got if row[0] == name and row[1] == rank and row[3] == layer and row[4] == kind}
            assert found == {peak}, (name, rank, found, peak)


def test_files_with_very_many_row_groups_are_divided(engine, recordings, assets):
    import pyarrow
    import pyarrow.parquet
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../core/export/parquet/write_parquet.py")
    with open(place, encoding="utf-8") as file:
        script = file.read()
    assert "MOST_GROUPS = 4096" in script
    folder = os.path.join(recordings.folder, "divided")
    messages = [json.dumps({"columns": [["id", "integer"]]}).encode() + b"\n"]
    for i in range(40):
        values = (2 * i).to_bytes(8, "little") + (2 * i + 1).to_bytes(8, "little")
        messages.append(json.dumps({"path": f"t/rank={i % 2}/part-0.parquet", "rows": 2, "sizes": [0, len(values)]}).encode() + b"\n" + values)
    messages += [b'{"close": true}\n', b'{"end": true}\n']
    said = subprocess.run([sys.executable, "-c", script.replace("MOST_GROUPS = 4096", "MOST_GROUPS = 10"), folder],
                          input=b"".join(messages), capture_output=True, check=True).stdout.decode()
    names = {rank: os.listdir(os.path.join(folder, f"t/rank={rank}")) for rank in (0, 1)}
    sizes = sum(os.path.getsize(os.path.join(folder, f"t/rank={rank}", name)) for rank in names for name in names[rank])
    assert said.splitlines()[1] == f"done {sizes}", (said, sizes)
    for rank, files in names.items():
        assert set(files) == {f"part-{i}.parquet" for i in range(len(files))} and len(files) > 2, files
        ids = sorted(pyarrow.parquet.read_table(os.path.join(folder, f"t/rank={rank}")).column("id").to_pylist())
        assert ids == [value for i in range(rank, 40, 2) for value in (2 * i, 2 * i + 1)], ids


def test_outliers(engine, recordings, assets):
    figures = {}
    for name in recordings.runs:
        for rank, device, layer, kind, peak, *_ in peaks_of_modules(recordings, name):
            of_ranks = figures.setdefault((name, f"peak_bytes {layer} {kind}"), {})
            of_ranks[rank] = max(of_ranks.get(rank, 0), float(peak))
        steps = {}
        for rank, length in recordings.query(name, f"SELECT {RANK_OF.format('s')}, s.end - s.begin FROM step AS s"):
            steps.setdefault(rank, []).append(length)
        for rank, lengths in steps.items():
            figures.setdefault((name, "median_step_ns"), {})[rank] = float(statistics.median(lengths))
    wanted = []
    for (name, figure), of_ranks in figures.items():
        usual = float(statistics.median(of_ranks.values()))
        wanted += [(name, rank, figure, value, usual, value / usual - 1) for rank, value in of_ranks.items()
                   if usual > 0 and abs(value / usual - 1) > 0.05]
    assert wanted, "there is no outlier, so this proves nothing"
    expect_equal("outliers", sorted(engine.ask(shipped(assets, "outliers"))), sorted(wanted))


def test_pageable_by_line(engine, recordings, assets):
    wanted = []
    for name in recordings.runs:
        wanted += [(name, *row) for row in recordings.query(name, f"""
            SELECT direction, coalesce(line, '(no stack)') AS line, count(*) AS copies, sum(bytes) AS bytes,
                   sum(duration) AS duration, count(DISTINCT {RANK_OF.format('t')}) AS ranks
            FROM transfers AS t WHERE source_kind = 'host' OR destination_kind = 'host' GROUP BY 1, 2""")]
    assert wanted, "there is no pageable copy, so this proves nothing"
    expect_equal("pageable copies", sorted(engine.ask(shipped(assets, "pageable_by_line"))), sorted(wanted))


def test_growth_between_runs(engine, recordings, assets):
    names = sorted(recordings.runs)
    of_runs = {name: highest_of_run(recordings, name) for name in names}
    wanted = []
    for before, after in zip(names, names[1:]):
        for key in set(of_runs[before]) | set(of_runs[after]):
            old, new = of_runs[before].get(key, {}), of_runs[after].get(key, {})
            wanted += [(after, before, *key, module, old.get(module, 0), new.get(module, 0), new.get(module, 0) - old.get(module, 0))
                       for module in set(old) | set(new)]
    expect_equal("growth", sorted(engine.ask(shipped(assets, "growth_between_runs"))), sorted(wanted))


def test_idle_by_cause(engine, recordings, assets):
    wanted = []
    for name in recordings.runs:
        wanted += [(name, *row) for row in recordings.query(name, """
            SELECT cause, count(DISTINCT device) AS devices, sum("count") AS times, sum(total) AS total, max(longest) AS longest
            FROM idle_use GROUP BY cause""")]
    assert wanted, "there is no idle device, so this proves nothing"
    expect_equal("idle times", sorted(engine.ask(shipped(assets, "idle_by_cause"))), sorted(wanted))


def main(sluice, assets, part=""):
    try:
        import duckdb
        import pyarrow
    except ImportError as missing:
        print(f"skipped: {missing}; ./dev test installs it")
        return 77
    engines = [DuckDB]
    try:
        import pyspark
        assert shutil.which("java"), "there is no java"
        engines.append(Spark)
    except (ImportError, AssertionError) as missing:
        print(f"skipped in Spark: {missing}; ./dev data-set-check installs it")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        recordings = Recordings(sluice, assets, folder)
        for make in engines:
            engine = make(recordings.data_set)
            for name, test in list(globals().items()):
                if not name.startswith("test_") or part not in name:
                    continue
                try:
                    test(engine, recordings, assets)
                    print(f"ok {engine.name} {name}", flush=True)
                except Exception as problem:
                    failures += 1
                    print(f"FAILED {engine.name} {name}: {type(problem).__name__}: {str(problem)[:600]}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
