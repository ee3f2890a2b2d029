#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Whether `backend: auto` chooses well: each shipped pipeline and block size with `auto` against `cpu` and `cuda` by
hand. First without measurements, by the built-in estimates; then after `iqd tune FILE`, whose results go to a folder of
this bench. Prints a Markdown table, and exits with 3 if a tuned row exceeds --most-ratio. Without a GPU, `auto` and
`cpu` are the same, and the ratio shows the noise of the measurement."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Without stages, with several pipelines that feed each other, or with a process of Python.
LEFT_OUT = {"record", "replay", "service", "python_detector", "loopback_tx", "noma_tx"}
SIZES = [1 << n for n in range(10, 21, 2)]
MISSED = 3
TRIED_SECONDS = 300


def run(options, folder, *arguments):
    """The output of a command, or None, with the reason on standard error."""
    environment = dict(os.environ, STATE_DIRECTORY=str(folder))
    try:
        done = subprocess.run([options.iqd, *map(str, arguments)], capture_output=True, text=True, env=environment,
                              timeout=TRIED_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        print(f"{' '.join(map(str, arguments))}: not done within {TRIED_SECONDS} s", file=sys.stderr)
        return None
    if done.returncode == 0:
        return done.stdout
    lines = done.stderr.splitlines()
    reason = next((line for line in lines if line.startswith("iqd: ") or ".yaml:" in line), done.returncode)
    print(f"{' '.join(map(str, arguments))}: {reason}", file=sys.stderr)
    return None


def times(options, folder, path, block, backend, noise):
    """Microseconds of a block flat out and one by one, or None if the pipeline does not run so."""
    out = run(options, folder, "bench", path, "--json", "--block", block, "--backend", backend, "--wait", options.wait,
              "--seconds", options.seconds, *(["--noise"] if noise else []))
    if out is None:
        return None
    flat_out, one_by_one = (json.loads(line) for line in out.splitlines())
    return {"flat_out_us": block / flat_out["throughput"] * 1e6, "one_by_one_us": one_by_one["typical_us"],
            "backend": one_by_one["backend"]}


def has_device(options):
    out = run(options, "/nonexistent", "probe", "--json")
    return out is not None and '"cuda:0"' in out


def prepared(path, folder, wait):
    """A copy whose `wait` is the bench's, since times hold for one way of waiting."""
    copy = folder / path.name
    text = path.read_text(encoding="utf-8")
    if "pipelines:" not in text:
        text = re.sub("^wait:.*\n", "", text, flags=re.MULTILINE) + f"\nwait: {wait}\n"
    copy.write_text(text, encoding="utf-8")
    for own in (ROOT / "pipelines").glob("*.cu"):
        (folder / own.name).write_bytes(own.read_bytes())
    return copy


def measure(options, path, block, folder, backends):
    """One row: times by backend, and of `auto` without measurements. None if the pipeline cannot have such blocks."""
    row = {"pipeline": path.stem, "block": block, "noise": options.noise}
    first = times(options, folder, path, block, "cpu", options.noise)
    if first is None and not options.noise:
        row["noise"] = True
        first = times(options, folder, path, block, "cpu", True)
    if first is None:
        return None
    row["cpu"] = first
    for name in [*backends[1:], "auto"]:
        row[name] = times(options, folder, path, block, name, row["noise"])
    return row if all(row[name] for name in [*backends, "auto"]) else None


def measure_tuned(options, path, rows, folder):
    """Adds the times of `auto` after `iqd tune` to the rows of a pipeline, tuned with the samples that each was measured
    with. None of those whose tuning failed."""
    tuned = []
    for noise in (False, True):
        alike = [row for row in rows if row["noise"] == noise]
        blocks = [word for row in alike for word in ("--block", row["block"])]
        if not alike or run(options, folder, "tune", path, *blocks, *(["--noise"] if noise else [])) is None:
            continue
        for row in alike:
            row["tuned"] = times(options, folder, path, row["block"], "auto", noise)
        tuned += [row for row in alike if row["tuned"]]
    return sorted(tuned, key=lambda row: row["block"])


def ratio(row, name, key):
    """How much longer than the better of both by hand."""
    return row[name][key] / min(row[b][key] for b in ("cpu", "cuda") if b in row)


def print_head():
    head = ["pipeline", "block", "cpu us", "cuda us", "auto us", "tuned us", "on", "auto / better", "tuned / better",
            "flat out: tuned / better", "samples"]
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head), flush=True)


def print_row(row):
    last = "tuned" if "tuned" in row else "auto"

    def us(name):
        return f"{row[name]['one_by_one_us']:.1f}" if name in row else ""
    cells = [row["pipeline"], f"{row['block']:,}", us("cpu"), us("cuda"), us("auto"), us("tuned"), row[last]["backend"],
             f"{ratio(row, 'auto', 'one_by_one_us'):.2f}",
             f"{ratio(row, 'tuned', 'one_by_one_us'):.2f}" if "tuned" in row else "",
             f"{ratio(row, last, 'flat_out_us'):.2f}", "noise" if row["noise"] else "its source's"]
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="default: the shipped pipelines")
    parser.add_argument("--iqd", default=str(ROOT / "build" / "release" / "iqd"))
    parser.add_argument("--block", type=int, action="append", help="samples; may be repeated; default: 1 k to 1 M")
    parser.add_argument("--wait", choices=["spin", "block", "resident"], default="block")
    parser.add_argument("--seconds", type=float, default=0.3, help="per row of `iqd bench`")
    parser.add_argument("--noise", action="store_true", help="noise in place of what the sources deliver")
    parser.add_argument("--most-ratio", type=float, default=0, help="exit with 3 if a tuned row is above this")
    parser.add_argument("--save", type=pathlib.Path, help="all figures as JSON")
    options = parser.parse_args()
    paths = options.files or sorted(p for p in (ROOT / "pipelines").glob("*.yaml") if p.stem not in LEFT_OUT)
    backends = ["cpu", "cuda"] if has_device(options) else ["cpu"]
    rows = []
    print_head()
    with tempfile.TemporaryDirectory(prefix="iqd-bench-") as name:
        folder = pathlib.Path(name)
        (folder / "empty").mkdir()
        for path in paths:
            copy = prepared(path, folder, options.wait)
            found = [measure(options, copy, block, folder / "empty", backends) for block in options.block or SIZES]
            found = [row for row in found if row]
            if found and "cuda" in backends:
                found = measure_tuned(options, copy, found, folder / "tuned")
            rows += found
            for row in found:
                print_row(row)
    if options.save:
        options.save.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    last = "tuned" if "cuda" in backends else "auto"
    worst = max((ratio(row, last, "one_by_one_us") for row in rows), default=0)
    print(f"\nworst: {worst:.2f} of the better by hand, {len(rows)} rows")
    return MISSED if not rows or (options.most_ratio and worst > options.most_ratio) else 0


if __name__ == "__main__":
    sys.exit(main())
