#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The thesis's comparison of convolutions, by `iqd bench convolution`: its tables, and sweeps of signal length, filter
length and threads per block; as Markdown, as JSON rows, and as curves of operations and times."""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))
from curves import Decades, svg

BATCHES = (1, 100, 1000, 3104)
FILTERS = ("21", "186", "206", "186+21")
SIGNALS = (500, 1000, 2000, 4000, 8000, 12672, 16000, 20000, 32000)
TAPS = (1, 5, 11, 21, 31, 41, 61, 81, 101, 151, 186, 251, 301, 401, 601, 1001)
# Name: title, shapes, and whether every size of a method is tried.
PARTS = {
    "tables": ("The thesis's tables", [f"12672x{h}x{b}" for h in FILTERS for b in BATCHES], False),
    "signal": ("Signal length, 186 taps", [f"{n}x186x{b}" for b in (1, 1000) for n in SIGNALS], False),
    "taps": ("Filter length, 12,672 samples", [f"12672x{m}x{b}" for b in (1, 1000) for m in TAPS], False),
    "threads": ("Threads per block, points of a transform", [f"12672x{h}x{b}" for h in (21, 186) for b in (1, 3104)],
                True),
}


def measure(iqd, backend, part, seconds, batches):
    """Rows of `iqd bench` for the shapes of a part."""
    _, shapes, every_size = PARTS[part]
    rows = []
    for shape in shapes:
        if int(shape.rsplit("x", 1)[1]) > batches:
            continue
        command = [iqd, "bench", "convolution", "--json", "--backend", backend, "--seconds", str(seconds),
                   "--config", f"shape={shape}"] + (["--config", "size=all"] if every_size else [])
        print(" ".join(command), file=sys.stderr)
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        rows += [{"part": part, **json.loads(line)} for line in done.stdout.splitlines()]
    return rows


def name_of(row, every_size):
    """The column's name: includes the size if sizes are compared."""
    return row["variant"] if every_size else row["variant"].split()[0]


def table(rows, every_size, cell):
    """A Markdown table: a row per shape, a column per method."""
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    methods = list(dict.fromkeys(name_of(row, every_size) for row in rows))
    cells = {(row["shape"], name_of(row, every_size)): cell(row) for row in rows}
    if every_size:  # many methods, few shapes
        lines = [["method", *shapes]] + [[m, *(cells.get((s, m), "") for s in shapes)] for m in methods]
    else:
        lines = [["signal x taps x packets", *methods]] + [[s, *(cells.get((s, m), "") for m in methods)]
                                                           for s in shapes]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def times(row):
    """First as the thesis counts: a single packet with its transfers, a batch without; the other time in brackets.
    iqd's choice is bold."""
    single = row["thesis_us"] == row["with_transfers_us"]
    text = f"{row['thesis_us']:.1f} ({row['p50_us'] if single else row['with_transfers_us']:.1f})"
    return f"**{text}**" if row["chosen"] else text


def report(rows):
    for part, (title, _, every_size) in PARTS.items():
        mine = [row for row in rows if row["part"] == part]
        if not mine:
            continue
        print(f"\n## {title}\n\n{mine[0]['device']}. µs: single packets with transfers (without), "
              f"batches without (with); bold: iqd's choice.\n\n{table(mine, every_size, times)}")
        if not every_size:
            print(f"\nMillions of real additions and multiplications:\n\n"
                  f"{table(mine, every_size, lambda row: format(row['flop'] / 1e6, '.4g'))}")


def panels(rows):
    """For both sweeps of lengths: a row of times as the thesis counts them, and a row of operations."""
    found = [], []
    for part, at, what in (("signal", 0, "samples, 186 taps"), ("taps", 1, "taps, 12,672 samples")):
        for batch in (1, 1000):
            times_of, operations_of = {}, {}
            for row in rows:
                lengths = row["shape"].split("x")
                if row["part"] == part and int(lengths[2]) == batch:
                    for curves, figure in ((times_of, "thesis_us"), (operations_of, "flop")):
                        curves.setdefault(name_of(row, False), []).append((int(lengths[at]), row[figure]))
            if times_of:
                found[0].append((f"{what}, batch {batch}: µs", times_of, {}))
                found[1].append((f"{what}, batch {batch}: operations", operations_of, {}))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iqd", default=str(ROOT / "build/release/iqd"))
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; repeatable")
    parser.add_argument("--seconds", type=float, default=0.1, help="per row")
    parser.add_argument("--batches", type=int, default=max(BATCHES), help="the most packets")
    parser.add_argument("--save", help="file for the rows, one JSON object per line")
    parser.add_argument("--load", help="read the rows from such a file instead of measuring")
    parser.add_argument("--plot", type=pathlib.Path, help="curves of both sweeps of lengths (.svg)")
    a = parser.parse_args()
    if a.plot and a.only and not {"signal", "taps"} & set(a.only):
        parser.error("--plot draws the parts signal and taps")
    if a.load:
        rows = [json.loads(line) for line in pathlib.Path(a.load).read_text(encoding="utf-8").splitlines()]
    else:
        rows = [row for part in a.only or PARTS for row in measure(a.iqd, a.backend, part, a.seconds, a.batches)]
    if a.save:
        pathlib.Path(a.save).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    report(rows)
    if a.plot:
        a.plot.write_text(svg(panels(rows), across=Decades), encoding="utf-8")


if __name__ == "__main__":
    main()
