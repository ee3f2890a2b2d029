#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""bench/blocks/estimates.py [--check]: makes pipeline/placing/estimates.def, by which `backend: auto` places stages
that `iqd tune FILE` has not measured, from the figures of bench/blocks/README.md (a CPU and a GPU at two block sizes) and of
docs/performance.md (a block there and back). With --check it writes nothing and exits with 1 if the file is another."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "pipeline" / "placing" / "estimates.def"
SIZES = (8192, 1048576)
SAMPLE_BYTES = 8
# How far the measured stage looks back, if its time on the CPU grows with that: `iqd bench blocks` takes 65 taps.
REACH = {"fir": 64}
# Its table is read and written as cf32, and it computes next to nothing: what is left are the copies.
COPIES = "conjugate"

ROW = re.compile(r"^\| `(\w+)` \| ([\d.,]+) / ([\d.,]+) \| ([\d.]+) \| ([\d.,]+) / ([\d.,]+) \| ([\d.]+) \|",
                 re.MULTILINE)
SPIN = re.compile(r"64 samples there and back, in place, `wait: spin`, one by one \| p50 ([\d.]+) to ([\d.]+) µs")
BLOCK = re.compile(r"8,192 samples, `wait: block` \| p50 ([\d.]+) µs")


def number(text):
    return float(text.replace(",", ""))


def only(pattern, page):
    found = pattern.findall(page)
    if len(found) != 1:
        sys.exit(f"{len(found)} rows match {pattern.pattern}")
    return found[0]


def fixed(rows, page):
    """Microseconds for a byte to cross, for a block on the device, and for waking a thread."""
    _, small, adds_small, _, large, adds_large = rows[COPIES]
    byte = ((large - adds_large) - (small - adds_small)) / (2 * SAMPLE_BYTES * (SIZES[1] - SIZES[0]))
    launch = sum(map(number, only(SPIN, page))) / 2
    # With `wait: block`, a thread is woken twice.
    wake = (number(only(BLOCK, page)) - launch - 2 * SAMPLE_BYTES * SIZES[0] * byte) / 2
    return byte, launch, wake


def text(rows, page):
    byte, launch, wake = fixed(rows, page)
    lines = ["// Made by bench/blocks/estimates.py of bench/blocks/README.md and docs/performance.md: one NVIDIA H200, and one",
             "// core of an Intel Xeon. Microseconds: FIXED(for a byte to cross, for a block on the device, to wake a thread);",
             f"// STAGE(name, {SIZES[0]:,} samples on the CPU and on the device, {SIZES[1]:,} samples, reach of what was measured).",
             f"FIXED({byte:.3g}, {launch:.3g}, {wake:.3g})"]
    for name, (cpu, _, gpu, cpu_large, _, gpu_large) in sorted(rows.items()):
        lines.append(f"STAGE({name}, {cpu:g}, {gpu:g}, {cpu_large:g}, {gpu_large:g}, {REACH.get(name, 0)})")
    return "\n".join(lines) + "\n"


def main():
    page = (ROOT / "bench" / "blocks" / "README.md").read_text(encoding="utf-8")
    # The time of a `kernel` is that of the user's program.
    rows = {row[0]: [number(x) for x in row[1:]] for row in ROW.findall(page) if row[0] != "kernel"}
    made = text(rows, (ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(made, encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != made:
        sys.exit(f"{TARGET.relative_to(ROOT)} is not current: run bench/blocks/estimates.py")


if __name__ == "__main__":
    main()
