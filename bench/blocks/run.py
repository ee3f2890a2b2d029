#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The block library by size: iqd on the CPU and on a GPU, compared with GNU Radio's blocks, as tables.

Runs `iqd bench blocks` and, if GNU Radio is installed, its block for each stage with the same sizes, after checking
that both give the same results for the same samples. See README.md for what is measured.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
MISSED = 3
MOST = 1 << 16  # samples per call: the limit of GNU Radio's buffers
COMPARED = 8192  # block size that `--min-ratio` checks
AGREE = 1e-3  # of the rms: GNU Radio takes complex arguments from a table


@contextlib.contextmanager
def load_on(iqd, device):
    """Another process that keeps a device busy."""
    if not device:
        yield
        return
    command = [iqd, "bench", "fir", "--backend", device, "--block", str(1 << 20), "--seconds", "100000"]
    command += ["--config", "design.type=low_pass", "--config", "design.cutoff=1e5", "--config", "design.ntaps=65"]
    other = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        time.sleep(5)  # until it is busy
        if other.poll() is not None:
            sys.exit(f"the load on {device} exited unexpectedly")
        yield
    finally:
        other.terminate()
        other.wait()


def iqd_rows(options):
    """Rows of `iqd bench blocks`, and from which size the GPU is faster."""
    command = [options.iqd, "bench", "blocks", "--json", "--backend", options.backend]
    command += ["--quick"] * options.quick
    command += ["--seconds", str(options.seconds)] if options.seconds else []
    for name in options.only:
        command += ["--only", name]
    for size in options.block:
        command += ["--block", str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} failed")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [line for line in lines if "quicker" not in line], [line for line in lines if "quicker" in line]


def agree(iqd, stage, keys, gnuradio):
    """Whether GNU Radio's block gives the stage's results, except for one value in a thousand (angles at ±pi)."""
    partner = gnuradio.BLOCKS[stage]
    inputs, expected = gnuradio.outputs(stage, keys)
    names = partner.outputs
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / f"{name}.npy" for name in ["in0", "in1", *names]]
        config = pathlib.Path(folder) / "keys.yaml"
        config.write_text(keys, encoding="utf-8")
        command = [iqd, "exec", stage, "--backend", "cpu", "--config", str(config), "--rate", str(gnuradio.RATE)]
        for port, x in enumerate(inputs):
            np.save(files[port], x)
            command += ["--in", f"{'in' if len(inputs) == 1 else f'in{port}'}={files[port]}"]
        for name, file in zip(names, files[2:]):
            command += ["--out", f"{name}={file}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"iqd exec {stage} failed: {done.stderr}")
        rows = [row for file in files[2:] for row in np.atleast_2d(np.load(file).squeeze())]
        for ours, theirs in zip(rows if len(rows) == len(expected) else [np.concatenate(rows)], expected):
            if partner.late or partner.leading:
                ours = ours[300 - min(partner.late, 0):]
                theirs = theirs[300 + max(partner.late, 0):]
            n = min(len(ours), len(theirs))
            apart = np.abs(ours[:n] - theirs[:n]) > AGREE * np.sqrt(np.mean(np.abs(theirs[:n]) ** 2))
            if n == 0 or np.mean(apart) > 1e-3:
                return False
    return True


def gnuradio_rows(options, rows):
    """GNU Radio's blocks on the sizes that the stages were measured at."""
    try:
        import gnuradio_blocks as gnuradio
    except ImportError as missing:
        if options.strict:
            sys.exit(SKIPPED)
        print(f"GNU Radio is not installed, so it is not compared ({missing}); on Debian: apt-get install gnuradio",
              file=sys.stderr)
        return []
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one core, so that data stays in its caches between blocks
    theirs, agreed = [], {}
    for row in rows:
        name, size = row["name"], int(row["shape"])
        if row["backend"] != "cpu" or size > MOST:
            continue
        found = {"name": name, "variant": row["variant"], "backend": "gnuradio", "shape": row["shape"]}
        if name == "chain" and "," not in row["variant"]:
            found["p50_us"] = gnuradio.chain_microseconds(int(row["variant"].split()[0]), size)
        elif name in gnuradio.BLOCKS and row["variant"] == "alone":
            if name not in agreed:
                agreed[name] = not gnuradio.BLOCKS[name].same or agree(options.iqd, name, row["keys"], gnuradio)
                if not agreed[name]:
                    print(f"GNU Radio's {name} gives other results; it is not compared", file=sys.stderr)
            if not agreed[name]:
                continue
            found["p50_us"] = gnuradio.microseconds(name, row["keys"], size)
        else:
            continue
        theirs.append(found)
    return theirs


def by_size(rows):
    """{(name, variant): {size: {backend: row}}}"""
    tables = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in rows:
        kind = "cuda" if row["backend"].startswith("cuda") else row["backend"]
        tables[row["name"], row["variant"]][int(row["shape"])][kind] = row
    return tables


def cell(rows, kind, key="p50_us"):
    return f"{rows[kind][key]:.2f}" if kind in rows else ""


def print_table(head, lines):
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for line in lines:
        print("| " + " | ".join(line) + " |")


def print_blocks(tables):
    head = ["samples", "CPU", "in a chain", "CUDA", "in a chain", "GNU Radio", "fastest"]
    for (name, variant), sizes in tables.items():
        if variant != "alone":
            continue
        chained = tables.get((name, "in a chain"), {})
        print(f"\n## {name}\n\nMicroseconds, medians.\n")
        lines = []
        for size, rows in sorted(sizes.items()):
            chain = chained.get(size, {})
            times = {kind: rows[kind]["p50_us"] for kind in rows}
            lines.append([f"{size:,}", cell(rows, "cpu"), cell(chain, "cpu", "marginal_us"), cell(rows, "cuda"),
                          cell(chain, "cuda", "marginal_us"), cell(rows, "gnuradio"), min(times, key=times.get)])
        print_table(head, lines)


def print_others(tables, name, title):
    found = {variant: sizes for (n, variant), sizes in tables.items() if n == name and variant not in
             ("alone", "in a chain")}
    if not found:
        return
    print(f"\n## {title}\n")
    lines = []
    for variant, sizes in found.items():
        for size, rows in sorted(sizes.items()):
            for kind, row in rows.items():
                rate = row.get("throughput", size / row["p50_us"] * 1e6) / 1e6
                carried = f"{row['carries_msps']:.0f}" if "carries_msps" in row else ""
                bound = f"{100 * row['fraction']:.0f} %" if "fraction" in row else ""
                lines.append([variant, f"{size:,}", kind, f"{row['p50_us']:.2f}",
                              f"{row['p99_us']:.2f}" if "p99_us" in row else "", f"{rate:.0f}", bound, carried])
    print_table(["variant", "samples", "where", "p50 µs", "p99 µs", "MS/s", "of a copy", "carries MS/s"], lines)


def print_winners(tables, winners):
    print("# Which is faster\n")
    lines = []
    for w in winners:
        lines.append([w["name"], w["variant"], f"{w['quicker']} from {w['from']:,} samples" if w["from"] else "CPU"])
    if lines:
        print_table(["block", "variant", "faster"], lines)
    lines = []
    for (name, variant), sizes in tables.items():
        ratios = {size: rows["gnuradio"]["p50_us"] / rows["cpu"]["p50_us"] for size, rows in sorted(sizes.items())
                  if {"gnuradio", "cpu"} <= set(rows)}
        if ratios:
            worst = min(ratios, key=ratios.get)
            compared = f"{ratios[COMPARED]:.2f}" if COMPARED in ratios else ""
            lines.append([name, variant, compared, f"{ratios[worst]:.2f} at {worst:,}"])
    if lines:
        print("\nOn one core, iqd's throughput relative to GNU Radio's:\n")
        print_table(["block", "variant", f"at {COMPARED:,}", "worst"], lines)


def missed(tables, ratio):
    """Whether iqd on the CPU is slower than `ratio` times GNU Radio."""
    return any(rows["gnuradio"]["p50_us"] / rows["cpu"]["p50_us"] < ratio
               for sizes in tables.values() for size, rows in sizes.items()
               if size == COMPARED and {"gnuradio", "cpu"} <= set(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=str(ROOT / "build/release/iqd"), help="the program (build/release/iqd)")
    parser.add_argument("--backend", default="auto", help="cpu, cuda:N, or auto: both (auto)")
    parser.add_argument("--only", action="append", default=[], help="a stage, `chains` or `filters`; repeatable")
    parser.add_argument("--block", type=int, action="append", default=[], help="samples per block; repeatable")
    parser.add_argument("--quick", action="store_true", help="few sizes; takes seconds")
    parser.add_argument("--seconds", type=float, help="time of each of iqd's rows")
    parser.add_argument("--load", choices=["same", "other"], help="a second process that keeps this GPU busy (the "
                        "first, or --backend's), or the other one (the second, or the first)")
    parser.add_argument("--no-gnuradio", action="store_true", help="only iqd")
    parser.add_argument("--strict", action="store_true", help="exit with 77 without GNU Radio")
    parser.add_argument("--min-ratio", type=float, default=0, help=f"exit with 3 if a block of {COMPARED} on the "
                        "CPU is slower than this many times GNU Radio's")
    parser.add_argument("--json", action="store_true", help="one object per row instead of tables")
    options = parser.parse_args()
    if not os.access(options.iqd, os.X_OK):
        sys.exit(f"{options.iqd} does not exist: build the preset `release`, or use --iqd PATH")
    here = options.backend if options.backend.startswith("cuda:") else "cuda:0"
    there = "cuda:0" if here != "cuda:0" else "cuda:1"
    device = {None: "", "same": here, "other": there}[options.load]
    with load_on(options.iqd, device):
        rows, winners = iqd_rows(options)
    if not options.no_gnuradio:
        rows += gnuradio_rows(options, rows)
    tables = by_size(rows)
    if options.json:
        for row in rows + winners:
            print(json.dumps(row))
    else:
        print_winners(tables, winners)
        print_blocks(tables)
        print_others(tables, "chain", "Chains of element-wise blocks")
        print_others(tables, "fir", "Low passes at 10 MS/s")
    return MISSED if missed(tables, options.min_ratio) else 0


if __name__ == "__main__":
    sys.exit(main())
