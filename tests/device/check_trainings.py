#!/usr/bin/env python3
"""Scores the analysis of a recording of trainings.py: categories at the peak, and steps.

    check_trainings.py SLUICE RECORDING... [--details]

Prints, for each process, the bytes of PyTorch's memory at the peak whose category is right, unknown, and wrong, and
compares the inferred steps with the loop's. A block without a true category is an activation, a temporary gradient, or
scratch. Each of these categories counts as right. The exit status is 1 if less than 95 % is right or unknown, or if the
steps differ.
"""
import collections
import json
import subprocess
import sys

PASSING = {"activation", "gradient", "workspace"}


def ask(sluice, path, sql):
    return json.loads(subprocess.run([sluice, "query", "--format", "json", path, sql], check=True, capture_output=True, text=True).stdout)


def truth_of(rows):
    """Returns the true category of each allocation. A weight remains a weight when a gradient is written in its
    place."""
    order = ["weight", "optimizer state", "gradient", "input"]
    all_of = collections.defaultdict(set)
    for row in rows:
        all_of[row["target"]].add(row["text"].removeprefix("truth "))
    return {target: next(name for name in order if name in names) for target, names in all_of.items()}


def judge(sluice, path, process, details):
    own = f"process = {process['id']}"
    blocks = ask(sluice, path, f"SELECT id, alloc, bytes, category, category_why AS why, born, died, stack FROM block WHERE layer = 'framework' "
                               f"AND kind = 'device' AND {own}")
    marks = [row["time"] for row in ask(sluice, path, f"SELECT time FROM marker WHERE name = 'truth step' AND {own} ORDER BY time")]
    if not blocks and not marks:
        return None
    truth = truth_of(ask(sluice, path, f"SELECT target, text FROM attribute WHERE text LIKE 'truth %' AND {own}"))
    changes = sorted([(b["born"], 1, b["bytes"]) for b in blocks] + [(b["died"], 0, -b["bytes"]) for b in blocks if b["died"] is not None])
    live = peak = at = 0
    for time, _, bytes_ in changes:
        live += bytes_
        if live > peak:
            peak, at = live, time
    score = collections.Counter()
    table = collections.Counter()
    wrong = collections.Counter()
    example = {}
    for block in blocks:
        if block["born"] > at or (block["died"] is not None and block["died"] <= at):
            continue
        true, found = truth.get(block["alloc"]), block["category"]
        verdict = "unknown" if found is None else "right" if found == true or (true is None and found in PASSING) else "wrong"
        score[verdict] += block["bytes"]
        table[true or "passing", found or "unknown"] += block["bytes"]
        if verdict == "wrong":
            wrong[true or "passing", found, block["why"], block["stack"]] += block["bytes"]
            example[block["stack"]] = block["id"]
    steps = ask(sluice, path, f'SELECT begin, "end", inferred FROM step WHERE {own} ORDER BY begin')
    # Steps match one to one, by their starts or by their middles, because an inferred step may start elsewhere in
    # the loop's body.
    alone = 0
    for moment in (lambda step: step["begin"], lambda step: (step["begin"] + step["end"]) // 2):
        hits = collections.Counter(sum(mark <= moment(step) for mark in marks) for step in steps)
        alone = max(alone, sum(count == 1 for turn, count in hits.items() if turn > 0))
    done = {"peak": peak, **{name: score[name] for name in ("right", "unknown", "wrong")}, "steps": len(steps), "true_steps": len(marks), "matched": alone,
            "source": ("inferred" if steps[0]["inferred"] else "said") if steps else "none", "table": {f"{a} as {b}": n for (a, b), n in table.most_common()}}
    if details:
        for (true, found, why, stack), bytes_ in wrong.most_common(6):
            print(f"    {bytes_ / 2**20:8.2f} MiB {true} taken for {found}: {why}; stack {stack}")
            if stack is not None:
                text = ask(sluice, path, f"SELECT stack_text AS text FROM blocks WHERE id = {example[stack]}")
                print("             " + str(text[0]["text"]).replace("\n", "\n             "))
    return done


def main():
    details = "--details" in sys.argv
    sluice, *paths = [word for word in sys.argv[1:] if word != "--details"]
    failed = False
    for path in paths:
        for process in ask(sluice, path, "SELECT id, pid, rank FROM process ORDER BY pid"):
            done = judge(sluice, path, process, details)
            if done is None:
                continue
            share = 1 - done["wrong"] / max(done["peak"], 1)
            steps = done["steps"] == done["true_steps"] == done["matched"]
            ok = share >= 0.95 and steps
            failed |= not ok
            print(f"{'ok  ' if ok else 'FAIL'} {path.rsplit('/', 1)[-1]:34} peak {done['peak'] / 2**20:8.1f} MiB: right {done['right'] / max(done['peak'], 1):6.1%} "
                  f"unknown {done['unknown'] / max(done['peak'], 1):6.1%} wrong {done['wrong'] / max(done['peak'], 1):6.1%}; steps {done['steps']} of {done['true_steps']} "
                  f"({done['matched']} match; {done['source']})")
            if details:
                for line, bytes_ in done["table"].items():
                    print(f"    {bytes_ / 2**20:8.2f} MiB {line}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
