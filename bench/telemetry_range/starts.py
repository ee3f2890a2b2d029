#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Packets found, and false ones, with payloads that look like packets; and packets that the flywheel adds.

The tests' model makes streams of 16 packets, and `iqd exec` searches them, as one block and in blocks of four packets
with `chain: carry`.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))
import iqd
import telemetry_model as model

PACKETS, LEAD = 16, 700
CHANNELS = (("awgn", 4), ("awgn", 14), ("ch3", 8))
ROWS = (("random", False), ("random", True), ("nothing but CD98", False), ("nothing but CD98", True),
        ("the whole pilot inside every third", False), ("the whole pilot at a random place in each", False),
        ("the whole pilot at the same place in each", False), ("the whole pilot inside every third", True))


def payloads(kind, rng):
    bits = rng.integers(0, 2, (PACKETS, model.PAYLOAD)).astype(np.uint8)
    if kind == "nothing but CD98":
        bits[:] = np.tile(model.bits_of("CD98"), model.PAYLOAD // model.PERIOD)
    for p in range(PACKETS):
        place = {"the whole pilot inside every third": 3000 if p % 3 == 0 else None,
                 "the whole pilot at a random place in each": rng.integers(0, model.PAYLOAD - model.PILOTS),
                 "the whole pilot at the same place in each": 1234}.get(kind)
        if place is not None:
            bits[p, place:place + model.PILOTS] = model.PILOT
    return bits


def stream(kind, gaps, channel, ebn0_db, rng):
    """Samples, and where packets start."""
    bits = payloads(kind, rng)
    pause = rng.integers(500, 20_000, PACKETS) if gaps else np.zeros(PACKETS, int)
    parts = [np.concatenate([model.modulate(f), np.zeros(g)]) for f, g in zip(model.frame(bits), pause)] \
        if gaps else [model.transmit(bits)]
    x = model.through(np.concatenate([np.zeros(LEAD), *parts, np.zeros(600)]), channel)
    x = x * np.exp(0.02j * np.arange(len(x))) + model.noise(len(x), ebn0_db, rng)
    return x.astype(np.complex64), LEAD + np.concatenate([[0], np.cumsum(model.SAMPLES + pause)[:-1]])


def starts_of(x, folder, *arguments):
    np.save(folder / "in.npy", x)
    done = iqd.command("exec", "preamble_search", "--in", f"in={folder}/in.npy", "--out", f"start={folder}/out.npy",
                       *arguments)
    if done.returncode != 0:
        sys.exit(f"iqd exec failed:\n{done.stderr}")
    return np.load(folder / "out.npy")


def score(found, sent):
    """(share of the packets, false ones)"""
    apart = abs(found[:, None] - sent)
    return np.mean((apart <= 2).any(0)), int(np.sum((apart > 2).all(1)))


def row(kind, gaps, options, folder):
    """Over channels and seeds: the least and the largest share, and of false ones."""
    results = {"block": [], "carry": []}
    for seed in range(options.seeds):
        for channel, ebn0_db in CHANNELS:
            x, sent = stream(kind, gaps, channel, ebn0_db, np.random.default_rng([seed, ebn0_db]))
            results["block"].append(score(starts_of(x, folder, "--whole"), sent))
            results["carry"].append(score(starts_of(x, folder, "--config", "chain=carry", "--block",
                                                    4 * model.SAMPLES), sent))
    texts = []
    for scores in results.values():
        shares, wrong = zip(*scores)
        texts.append(f"{min(shares):.2f} … {max(shares):.2f}, {min(wrong)} … {max(wrong)}")
    return texts


def flywheel(folder):
    """Three of 16 preambles in noise 12.5 dB above the signal."""
    rng = np.random.default_rng(5)
    x, sent = stream("random", False, "awgn", 10, rng)
    for p in (5, 9, 13):
        x[sent[p]:sent[p] + 2 * model.PILOTS] += model.noise(2 * model.PILOTS, -12.5, rng)
    for keys in ((), ("--config", "flywheel=on")):
        share, wrong = score(starts_of(x, folder, *keys), sent)
        print(f"three preambles lost, flywheel {'on' if keys else 'off'}: {share * PACKETS:.0f} of {PACKETS}, "
              f"{wrong} false")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=iqd.IQD, help="the program (build/release/iqd)")
    parser.add_argument("--seeds", type=int, default=3, help="streams for each channel and Eb/N0 (3)")
    options = parser.parse_args()
    iqd.IQD = options.iqd
    print("| payload | | found, false: block | carry, blocks of 4 packets |")
    print("| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="iqd-bench-") as name:
        folder = pathlib.Path(name)
        for kind, gaps in ROWS:
            texts = row(kind, gaps, options, folder)
            print(f"| {kind} | {'gaps' if gaps else 'back to back'} | {' | '.join(texts)} |", flush=True)
        flywheel(folder)


if __name__ == "__main__":
    main()
