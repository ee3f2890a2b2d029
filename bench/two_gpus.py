#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""two_gpus.py --iqd IQD [--seconds N] [--rounds N]: pipelines cut between two GPUs, beside the same on one.

Two equal filters, and a MIMO receiver with its front end on one GPU, detector and decoder on the other. Prints the
medians of the rounds: throughput flat out, and the latency of blocks that come one by one.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

FRAME = "fft: 2048, carriers: 1200, prefix: 144, frame: 30720, tx: 4"
MIMO = f"""
source:
  soapy:
    args: "driver=iqdsim,scenario=mimo,format=20mhz,rx=4,tx=4,modulation=64qam,code=80216e_2304_1_2,snr=32"
    channels: [0, 1, 2, 3]
    rate: 30.72 MS/s
block: 7680
stages:
  - ofdm_sync: {{{FRAME}}}
  - ofdm_demod: {{{FRAME}}}
  - mimo_channel_estimator: {{{FRAME}}}
  - mtt_detector: {{modulation: 64qam, llr: i8, backend: OTHER}}
  - ldpc_decoder: {{interleave: frame, backend: OTHER}}
publish:
  - {{port: ldpc_decoder.bits, topic: bits, bind: "tcp://127.0.0.1:5555"}}
"""
HALVES = """
source:
  soapy: {args: "driver=iqdsim,scenario=tone", channels: [0], rate: 10 MS/s}
block: 1048576
stages:
  - fir: {name: one, method: direct, design: {type: low_pass, cutoff: 1e5, ntaps: 8193}}
  - fir: {name: other, method: direct, design: {type: low_pass, cutoff: 1e5, ntaps: 8193}, backend: OTHER}
publish:
  - {port: other, topic: filtered, bind: "tcp://127.0.0.1:5555"}
"""


def bench(options, text, other, lanes):
    """The rows of `iqd bench`: flat out, and one by one."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(f"name: bench\nbackend: cuda:0\nlanes: {lanes}\n{text.replace('OTHER', other)}")
        file.flush()
        said = subprocess.run([options.iqd, "bench", file.name, "--json", "--wait", "spin", "--lanes", str(lanes),
                               "--seconds", str(options.seconds)], stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in said.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--iqd", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print("| pipeline | GPUs | lanes | MS/s | times one GPU | p50, us | p99, us |\n"
          "| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name, text in {"two equal filters": HALVES, "MIMO 4x4 20 MHz": MIMO}.items():
        one = None
        for lanes in (1, 4):
            for other in ("cuda:0", "cuda:1"):
                rounds = [bench(options, text, other, lanes) for _ in range(options.rounds)]
                rate = statistics.median(rows[0]["throughput"] for rows in rounds) / 1e6
                calm = [rows[-1] for rows in rounds]
                p50, p99 = (statistics.median(row[key] for row in calm) for key in ("p50_us", "p99_us"))
                if other == "cuda:0":
                    one = rate
                print(f"| {name} | {1 if other == 'cuda:0' else 2} | {lanes} | {rate:.1f} | {rate / one:.2f} | "
                      f"{p50:.1f} | {p99:.1f} |", flush=True)


if __name__ == "__main__":
    main()
