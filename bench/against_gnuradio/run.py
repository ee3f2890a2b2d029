#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The same work by iqd and by GNU Radio, in turns on one core; exits with 3 if iqd is slower.

Only GNU Radio's block itself counts: the CPU time in its work function, by its own performance counters, without its
scheduler. The throughput of the whole flow graph (null source, head, block, null sink) is printed too. iqd's blocks are
as large as GNU Radio's buffers.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

# Read when GNU Radio is imported. The thread's clock does not count other threads' time.
os.environ["GR_CONF_PERFCOUNTERS_ON"] = "True"
os.environ["GR_CONF_PERFCOUNTERS_CLOCK"] = "thread"

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
MISSED = 3
BLOCK = 8192
TAPS = [round(0.01 * (k + 1), 2) for k in range(64)]
LONG = [round(0.001 * (k % 100), 3) for k in range(1205)]
FFT = 1024
CHANNELS = 64


def cases():
    """Stage, iqd's keys, maker of GNU Radio's block, an item's bytes in and out and its samples, samples to send."""
    from gnuradio import blocks, fft, filter as gr_filter

    # As many taps as the resampler's default: 60 per phase.
    phases = [0.01] * 180
    bank = [0.01] * (CHANNELS * 12)
    interpolating = [f"taps={TAPS}", "interpolation=3", "decimation=2"]
    return [
        ("fir", [f"taps={LONG}", "method=fft"], lambda: gr_filter.fft_filter_ccf(1, LONG), (8, 8, 1), 20_000_000),
        ("fir", interpolating, lambda: gr_filter.rational_resampler_ccf(3, 2, TAPS), (8, 8, 1), 10_000_000),
        ("resampler", ["ratio=3/2"], lambda: gr_filter.rational_resampler_ccf(3, 2, phases), (8, 8, 1), 5_000_000),
        ("resampler", ["ratio=0.9876543"], lambda: gr_filter.pfb_arb_resampler_ccf(0.9876543, [0.01] * (32 * 60), 32),
         (8, 8, 1), 5_000_000),
        ("channelizer", [f"channels={CHANNELS}"], lambda: gr_filter.pfb_channelizer_ccf(CHANNELS, bank, 1.0),
         (8, 8, 1), 20_000_000),
        ("fir", [f"taps={TAPS}"], lambda: gr_filter.fir_filter_ccf(1, TAPS), (8, 8, 1), 20_000_000),
        ("fir", [f"taps={TAPS}", "decimation=4"], lambda: gr_filter.fir_filter_ccf(4, TAPS), (8, 8, 1), 40_000_000),
        ("fft", [f"size={FFT}"], lambda: fft.fft_vcc(FFT, True, [], False, 1), (8, 8, FFT), 60_000_000),
        ("complex_to_mag", [], lambda: blocks.complex_to_mag(1), (8, 4, 1), 100_000_000),
        ("rotate", ["frequency=100e3"], lambda: blocks.rotator_cc(0.6283185307), (8, 8, 1), 100_000_000),
    ]


def gnuradio_samples_per_second(make, sizes, samples):
    """For the block alone, and for the flow graph."""
    from gnuradio import blocks, filter as gr_filter, gr

    in_bytes, out_bytes, vector = sizes
    graph = gr.top_block()
    block = make()
    head = blocks.head(in_bytes * vector, samples // vector)
    graph.connect(blocks.null_source(in_bytes * vector), head)
    if isinstance(block, gr_filter.pfb_channelizer_ccf):
        deal = blocks.stream_to_streams(in_bytes, CHANNELS)
        graph.connect(head, deal)
        for k in range(CHANNELS):
            graph.connect((deal, k), (block, k))
            graph.connect((block, k), blocks.null_sink(out_bytes))
    else:
        graph.connect(head, block, blocks.null_sink(out_bytes * vector))
    begin = time.perf_counter()
    graph.run()
    wall = time.perf_counter() - begin
    return samples / (block.pc_work_time_total() / 1e9), samples / wall


def iqd_samples_per_second(iqd, stage, keys, seconds):
    command = [iqd, "bench", stage, "--json", "--backend", "cpu", "--block", str(BLOCK), "--seconds", str(seconds)]
    for key in keys:
        command += ["--config", key]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} failed: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[0])["throughput"]


def measure(options):
    rows = []
    for stage, keys, make, sizes, samples in cases():
        ours, theirs, graphs = [], [], []
        for _ in range(options.repetitions):
            alone, graph = gnuradio_samples_per_second(make, sizes, samples)
            theirs.append(alone)
            graphs.append(graph)
            ours.append(iqd_samples_per_second(options.iqd, stage, keys, options.seconds))
        taps = [f"{key.count(',') + 1} taps" for key in keys if key.startswith("taps")]
        variant = ", ".join(taps + [key for key in keys if not key.startswith("taps")])
        row = {"name": stage, "variant": variant, "iqd": statistics.median(ours)}
        row |= {"gnuradio": statistics.median(theirs), "gnuradio_flowgraph": statistics.median(graphs)}
        rows.append(row | {"ratio": row["iqd"] / row["gnuradio"], "unit": "samples/s"})
    return rows


def print_table(rows, version):
    print(f"{'MS/s on one core':24}{'iqd':>10}{'GNU Radio ' + version:>22}{'ratio':>8}{'its flow graph':>17}")
    for row in rows:
        label = f"{row['name']} {row['variant']}"
        print(
            f"{label:24}{row['iqd'] / 1e6:10.0f}{row['gnuradio'] / 1e6:22.0f}{row['ratio']:8.2f}"
            f"{row['gnuradio_flowgraph'] / 1e6:17.0f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=str(ROOT / "build/release/iqd"), help="the program (build/release/iqd)")
    parser.add_argument("--json", action="store_true", help="print one object per row")
    parser.add_argument("--strict", action="store_true", help="exit with 77 instead of 0 without GNU Radio")
    parser.add_argument("--repetitions", type=int, default=5, help="runs to take the median of (5)")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of each of iqd's measurements (0.5)")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="where both run (the last)")
    options = parser.parse_args()
    try:
        from gnuradio import gr
    except ImportError as missing:
        print(f"SKIPPED: GNU Radio is not installed ({missing}); on Debian: apt-get install gnuradio")
        return SKIPPED if options.strict else 0
    if not os.access(options.iqd, os.X_OK):
        sys.exit(f"{options.iqd} does not exist: build the preset `release`, or use --iqd PATH")
    os.sched_setaffinity(0, {options.core})
    rows = measure(options)
    if options.json:
        for row in rows:
            print(json.dumps(row))
    else:
        print_table(rows, gr.version())
    return MISSED if any(row["ratio"] < 1 for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
