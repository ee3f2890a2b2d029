#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Bit error rates with a transmitter whose clock is off, with and without `packet_estimator: {clock: packet}`; and the
rms error of the estimated clock.

The tests' model makes streams of packets, and `iqd exec` decodes them. All rows of a channel and Eb/N0 have the same
noise.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))
import iqd
import range_clock_model as clock
import telemetry_model as model

POINTS = (("awgn", 8), ("awgn", 10), ("ch3", 12), ("ch3", 14))
PPM = (0, 20, 50, 100)
MORE = (("awgn", 6), ("ch1", 14), ("ch2", 16), ("ch4", 14))  # for the estimate alone
KINDS = ("fde1", "mmse")


def stream(sent, channel, ebn0_db, ppm, seed):
    x = clock.skewed(model.recording(sent, channel, lead=model.GUARD, w=0.01), ppm * 1e-6)
    return (x + model.noise(len(x), ebn0_db, np.random.default_rng(seed))).astype(np.complex64)


def execute(stages, inputs, outputs, folder):
    """Arrays in and out by port."""
    arguments = []
    for port, x in inputs.items():
        np.save(folder / f"{port}.npy", x)
        arguments += ["--in", f"{port}={folder}/{port}.npy"]
    for port in outputs:
        arguments += ["--out", f"{port}={folder}/{port}_out.npy"]
    done = iqd.command("exec", *stages, *arguments)
    if done.returncode != 0:
        sys.exit(f"iqd exec {' '.join(stages)} failed:\n{done.stderr}")
    return [np.load(folder / f"{port}_out.npy") for port in outputs]


def windows_of(x, folder):
    return execute(["preamble_search"], {"in": x}, ["windows"], folder)[0]


def estimated(windows, ppm, folder):
    """rms and mean of the estimate's error, in ppm."""
    e, = execute(["packet_estimator", "--config", "clock=packet"], {"windows": windows}, ["clock"], folder)
    return float(np.sqrt(np.mean((e - ppm) ** 2))), float(np.mean(e - ppm))


def rates(windows, sent, keys, folder):
    """Bit error rate of each of KINDS."""
    parts = execute(["packet_estimator", *keys], {"windows": windows}, ["windows", "channel", "noise"], folder)
    inputs = dict(zip(("windows", "channel", "noise"), parts))
    symbols, = execute(["equalizer", "--config", f"kinds=[{', '.join(KINDS)}]"], inputs, ["symbols"], folder)
    bits, = execute(["soqpsk_detector"], {"symbols": symbols}, ["bits"], folder)
    return [float(r) for r in np.mean(bits != sent[:, None], axis=(0, 2))]


def measure(channel, ebn0_db, ppm, options, folder):
    rng = np.random.default_rng([options.seed, ebn0_db])
    sent = rng.integers(0, 2, (options.packets, model.PAYLOAD)).astype(np.uint8)
    windows = windows_of(stream(sent, channel, ebn0_db, ppm, options.seed), folder)
    if len(windows) != len(sent):
        sys.exit(f"{channel} at {ebn0_db} dB, {ppm} ppm: {len(windows)} of {len(sent)} packets were found")
    row = {"channel": channel, "ebn0_db": ebn0_db, "ppm": ppm}
    row["rms_ppm"], row["bias_ppm"] = estimated(windows, ppm, folder)
    if (channel, ebn0_db) in POINTS:
        row["off"] = rates(windows, sent, [], folder)
        row["on"] = rates(windows, sent, ["--config", "clock=packet"], folder)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=iqd.IQD, help="the program (build/release/iqd)")
    parser.add_argument("--packets", type=int, default=96, help="for each row (96)")
    parser.add_argument("--ppm", type=float, nargs="*", default=PPM, help="clock errors (0 20 50 100)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="where to write the figures")
    options = parser.parse_args()
    iqd.IQD = options.iqd
    print("| | ppm | fde1 off | fde1 on | mmse off | mmse on | rms of e | mean of e - ppm |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    rows = []
    with tempfile.TemporaryDirectory(prefix="iqd-bench-") as name:
        for channel, ebn0_db in POINTS + MORE:
            for ppm in options.ppm if (channel, ebn0_db) in POINTS else (0,):
                row = measure(channel, ebn0_db, ppm, options, pathlib.Path(name))
                rows.append(row)
                if "off" in row:
                    cells = [f"{row[way][k]:.2e}" for k in range(len(KINDS)) for way in ("off", "on")]
                else:
                    cells = [""] * 4
                print(f"| {channel} {ebn0_db} dB | {ppm:g} | {' | '.join(cells)} | {row['rms_ppm']:.1f} | "
                      f"{row['bias_ppm']:+.1f} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
