#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Measures what calls from Python cost: importing the package, a call of an empty stage, stages compared with
`iqd bench`, and memory over many calls. python/tests/speed_test.py measures messages, `iqd bench python` the stage.

Needs the package on PYTHONPATH (build/release/python). Prints one line a figure, with its goal; exits with 3 if one is
missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

import iqd

STAGES = {  # keys for Python, and for `iqd bench`
    "conjugate": {},
    "fir": {"taps": [1, 2, 3, 4, 5, 6, 7, 8]},
    "fft": {"size": 1024},
    "spectrum": {"size": 1024},
    "resampler": {"ratio": "2/3"},
    "complex_to_mag": {},
}


class Report:
    def __init__(self):
        self.missed = False

    def line(self, what, value, unit, goal=None, at_most=True):
        """A figure; a missed goal is said."""
        met = goal is None or (value <= goal if at_most else value >= goal)
        self.missed |= not met
        wanted = "" if goal is None else f"goal {'<=' if at_most else '>='} {goal:g}{'' if met else ', MISSED'}"
        print(f"{what:<50} {value:>12.4g} {unit:<14} {wanted}", flush=True)


def median_us(call, seconds):
    """The median of a call's duration, after a warm-up."""
    for _ in range(20):
        call()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 30:
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6


def aligned(x):
    """At the start of a page, as the daemon's samples are. NumPy's own arrays begin 16 bytes behind a cache line."""
    memory = np.empty(x.nbytes + 4096, np.uint8)
    begin = -memory.ctypes.data % 4096
    made = memory[begin:begin + x.nbytes].view(x.dtype).reshape(x.shape)
    made[:] = x
    return made


def resident_kb():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024


def imports(report):
    for what, code in (("import iqd", "import iqd"), ("import iqd, and its stages", "import iqd; iqd.stage")):
        times = []
        for _ in range(15):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            with_it = time.perf_counter() - began
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", "pass"], check=True)
            times.append(with_it - (time.perf_counter() - began))
        report.line(what, statistics.median(times) * 1e3, "ms", 150)


def calls(report, options):
    x = np.zeros(64, np.complex64)
    empty = iqd.stage("conjugate", backend="cpu")
    report.line("a call of an empty stage, 64 samples", median_us(lambda: empty(x), options.seconds), "us", 15)
    for name, keys in STAGES.items():
        stage = iqd.stage(name, backend="cpu", **keys)
        for size in options.sizes:
            samples = aligned(np.random.default_rng(1).normal(size=2 * size).astype(np.float32).view(np.complex64))
            ratios = []
            for _ in range(options.rounds):  # in turn, since other programs disturb both
                bench = bench_us(options.iqd, name, keys, size, options.seconds)
                ratios.append(median_us(lambda: stage(samples), options.seconds) / bench)  # pylint: disable=cell-var-from-loop
            report.line(f"{name}, {size} samples, against iqd bench", statistics.median(ratios), "times", 1.03)


def bench_us(program, name, keys, size, seconds):
    words = [program, "bench", name, "--block", str(size), "--backend", "cpu", "--seconds", str(seconds), "--json"]
    for key, value in keys.items():
        words += ["--config", f"{key}={json.dumps(value)}"]
    rows = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    return json.loads(rows[0])["p50_us"]


def memory(report, options):
    x = np.zeros(64, np.complex64)
    stage = iqd.stage("fir", taps=[1, 2, 1])
    for _ in range(10_000):
        stage(x)
    before = resident_kb()
    for _ in range(options.calls):
        stage(x)
    report.line(f"memory over {options.calls} calls", resident_kb() - before, "kB more", 512)
    before = resident_kb()
    for n in range(3000):
        stage(x[:1 + n % 64])
    report.line("memory over 3000 calls of 64 shapes", resident_kb() - before, "kB more", 4096)


def main():
    parser = argparse.ArgumentParser(description="measures what calls from Python cost")
    parser.add_argument("--iqd", default=os.environ.get("IQD", "build/release/iqd"), help="the program to compare with")
    parser.add_argument("--sizes", type=int, nargs="+", default=[65536, 1 << 20])
    parser.add_argument("--seconds", type=float, default=0.3, help="for each figure")
    parser.add_argument("--rounds", type=int, default=5, help="of each comparison")
    parser.add_argument("--calls", type=int, default=1_000_000, help="for the figure of memory")
    parser.add_argument("--only", nargs="+", default=["imports", "calls", "memory"])
    options = parser.parse_args()
    report = Report()
    if "imports" in options.only:
        imports(report)
    if "calls" in options.only:
        calls(report, options)
    if "memory" in options.only:
        memory(report, options)
    return 3 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
