#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Bit error probabilities that packet_quality predicts, beside the errors counted. Prints Markdown.

The tests' model makes recordings on all channels at 3 to 14 dB, and `iqd exec` receives them with fde1. Exits with 3 if
the sums of a channel are further apart than in the simulation, or those of a range of predictions are."""

import argparse
import pathlib
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))
import iqd
import telemetry_model as model

MISSED = 3
EBN0_DB = range(3, 15)
EDGES = [1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1]
SIMULATED = {"awgn": .96, "ch1": .85, "ch2": .98, "ch3": 1.05, "ch4": .82}  # predicted / counted
SLIPPED = 0.2  # of a packet's bits; its loop has slipped, which no soft value shows
FEWEST = 400  # bit errors of a range, for its counted rate to be known to some 10 %, since errors come in bursts


def receive(x, backend):
    """(starts, bits [packet][bit], bep [packet], dqm [packet])"""
    with tempfile.TemporaryDirectory(prefix="iqd-bench-") as name:
        folder = pathlib.Path(name)
        np.save(folder / "samples.npy", x.astype(np.complex64))
        done = iqd.command(
            "exec", "preamble_search", "packet_estimator", "equalizer: {kinds: [fde1]}", "soqpsk_detector",
            "packet_quality: {from: {soft: soqpsk_detector.soft, channel: packet_estimator.channel, "
            "noise: packet_estimator.noise}}", folder / "samples.npy", folder / "bits.npy",
            "--port", "soqpsk_detector.bits", "--port", f"packet_quality.bep={folder / 'bep.npy'}",
            "--port", f"packet_quality.dqm={folder / 'dqm.npy'}", "--rate", model.RATE,
            "--block", 16 * model.SAMPLES, "--backend", backend, timeout=3600)
        if done.returncode:
            sys.exit(done.stderr)
        return (np.load(folder / "bits.facts.npy")["start"], np.load(folder / "bits.npy").reshape(-1, model.PAYLOAD),
                np.load(folder / "bep.npy").reshape(-1), np.load(folder / "dqm.npy").reshape(-1))


def measure(channel, ebn0_db, options):
    """(predicted, counted) of the packets that were found."""
    rng = np.random.default_rng([options.seed, list(model.RAYS).index(channel), ebn0_db])
    sent = rng.integers(0, 2, (options.packets, model.PAYLOAD)).astype(np.uint8)
    x = model.recording(sent, channel, ebn0_db, w=rng.uniform(-0.05, 0.05), phase=rng.uniform(-np.pi, np.pi),
                        lead=model.GUARD, rng=rng)
    starts, bits, bep, dqm = receive(10 ** rng.uniform(-1, 1) * x, options.backend)
    least = np.maximum(bep, 1e-30)
    expected = np.clip(np.rint(-np.log10(least / (1 - least)) * 65536 / 12), 0, 65535)
    if np.abs(dqm - expected).max() > 1:
        sys.exit(f"{channel}, {ebn0_db} dB: a DQM is not that of its bep")
    at = np.clip(np.rint((starts - model.GUARD) / model.SAMPLES).astype(int), 0, len(sent) - 1)
    right = abs(starts - model.GUARD - at * model.SAMPLES) <= 4
    return bep[right], (bits[right] != sent[at[right]]).mean(axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=iqd.IQD, help="the program (build/release/iqd)")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--packets", type=int, default=120, help="of each channel and Eb/N0")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    iqd.IQD = options.iqd
    missed = []
    of_channel, slipped = {}, 0
    for channel in model.RAYS:
        parts = [measure(channel, ebn0_db, options) for ebn0_db in EBN0_DB]
        predicted, counted = (np.concatenate(column) for column in zip(*parts))
        held = counted < SLIPPED
        slipped += np.sum(~held)
        of_channel[channel] = predicted[held], counted[held]
    predicted, counted = (np.concatenate(column) for column in zip(*of_channel.values()))

    print("| predicted | packets | mean predicted | counted | predicted / counted |\n| --- | --- | --- | --- | --- |")
    for low, high in zip(EDGES, EDGES[1:]):
        here = (predicted >= low) & (predicted < high)
        if not here.any():
            continue
        p, c = predicted[here].mean(), counted[here].mean()
        print(f"| {low:g} … {high:g} | {here.sum()} | {p:.2e} | {c:.2e} | {f'{p / c:.2f}' if c else ''} |")
        if counted[here].sum() * model.PAYLOAD >= FEWEST and not .75 <= p / c <= 1.33:
            missed.append(f"{low:g} … {high:g}: predicted {p:.2e}, counted {c:.2e}")
    print("\n| channel | predicted / counted | simulated |\n| --- | --- | --- |")
    for channel, (p, c) in of_channel.items():
        ratio = p.sum() / c.sum()
        print(f"| {channel} | {ratio:.2f} | {SIMULATED[channel]:.2f} |")
        if abs(ratio / SIMULATED[channel] - 1) > .15:
            missed.append(f"{channel}: predicted / counted is {ratio:.2f}, simulated {SIMULATED[channel]}")
    many = counted * model.PAYLOAD >= 20
    low, middle, high = np.percentile(predicted[many] / counted[many], (5, 50, 95))
    print(f"\nOf {many.sum()} packets with 20 errors and more, predicted / counted has the median {middle:.2f}, "
          f"5 % are below {low:.2f} and 5 % above {high:.2f} (simulated 0.97, 0.74, 1.51).")
    print(f"{slipped} packets are left out, since their loop slipped.")
    for line in missed:
        print(line, file=sys.stderr)
    return MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
