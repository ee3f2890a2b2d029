#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Times of training and detection of several users on a GPU, by apsm_bench: for one user and for all, also with the
four published schemes; and how they grow with users, antennas, data, windows and pilots.

Prints Markdown. With --goals, exits with 3 if a goal is missed."""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
VARIANTS = "own", "one", "several", "slices", "balanced"
GROWTH = [{"users": 12}, {"users": 24}, {"antennas": 64, "users": 16}, {"antennas": 64, "users": 32}, {"data": 7680},
          {"data": 15360}, {"pilots": 1370}, {"window": 40}, {"window": 100}, {"passes": 3}]
GOALS = {"train": 2000, "detect": 20, "detect, host to host": 60}  # microseconds, of all six users, median


def measure(options, **numbers):
    """Rows of apsm_bench, by what they measure."""
    command = [options.apsm_bench]
    for key, value in numbers.items():
        command += [f"--{key}", str(value)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    options.rows += rows
    return {row["what"]: row for row in rows}


def cells(rows):
    return " | ".join(f"{rows[what]['p50_us']:.1f} / {rows[what]['p99_us']:.1f}" for what in GOALS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--apsm-bench", default=ROOT / "build" / "release" / "bench" / "apsm_bench",
                        type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--goals", action="store_true")
    options = parser.parse_args()
    options.rows = []

    head = "| | trained, us: p50 / p99 | detected | detected, host to host |\n| --- | --- | --- | --- |"
    print(f"## 16 antennas, 685 pilots, 3,840 vectors\n\n{head}")
    for users in (1, 6):
        for variant in VARIANTS:
            rows = measure(options, users=users, variant=variant)
            if (users, variant) == (6, "own"):
                ours = rows
            print(f"| {variant}, {users} user{'s' if users > 1 else ''} | {cells(rows)} |", flush=True)
    print(f"\n## Growth\n\n{head}\n| 16 antennas, 6 users | {cells(ours)} |")
    for numbers in GROWTH:
        name = ", ".join(f"{value} {key}" for key, value in numbers.items())
        print(f"| {name} | {cells(measure(options, **numbers))} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(options.rows, indent=1), encoding="utf-8")
    missed = [what for what, goal in GOALS.items() if ours[what]["p50_us"] > goal]
    if missed:
        print(f"\nmissed: {', '.join(missed)}", file=sys.stderr)
    return 3 if options.goals and missed else 0


if __name__ == "__main__":
    sys.exit(main())
