#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""NOMA users that differ, and users that do not: bit error rates of the receivers, and lost words.

Six users send frames of docs/noma-frame.md, QPSK and 16-QAM by turns, to 16 antennas on a circle. Prints Markdown."""

import argparse
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "support")]
import noma_receive_model as model
from exec_arrays import execute
from noma_scene import MIXED, RATE, Scene

CODE = "80216e_2304_1_2"
ALIKE = {"most_delay": 0, "most_offset": 0, "echo": None}
ROWS = [*((f"{snr:g} dB", {"snr": snr}) for snr in (0, 2.5, 5, 10, 15)),
        ("15 dB, alike", {"snr": 15, **ALIKE}), ("5 dB, alike", {"snr": 5, **ALIKE}),
        ("15 dB, echo 1 us -3 dB", {"snr": 15, "echo": (30.72, -3)}),
        *((f"15 dB, {m} antennas", {"snr": 15, "antennas": m}) for m in (8, 6, 5)),
        ("25 dB, 4 antennas, QPSK", {"snr": 25, "antennas": 4, "modulations": ("qpsk",) * 6}),
        ("25 dB, 4 antennas, QPSK, alike", {"snr": 25, "antennas": 4, "modulations": ("qpsk",) * 6, **ALIKE}),
        ("10 dB, powers 0 to -15 dB", {"snr": 10, "powers": (0, -3, -6, -9, -12, -15)}),
        ("10 dB, 20 degrees", {"snr": 10, "spread": 20})]


def listed(scene):
    return f"modulation=[{', '.join(scene.modulations)}]"


def error_rate(bits, sent):
    """Mean over users. bits [frame][user][t][bit]"""
    return np.mean([np.mean(own[u][:, :each.shape[1]] != each) for own, frame in zip(bits, sent)
                    for u, each in enumerate(frame)])


def filters(scene, y, passes, backend):
    """Of each pass (bits, lost words, all words)."""
    inputs, results = {"carriers": y}, []
    for _ in range(passes):
        llr, bits = execute("noma_channel_estimator", inputs, ("llr", "bits"), [listed(scene)], backend, RATE)
        inputs["soft"], events = execute("ldpc_decoder", {"llr": llr}, ("llr_out", "events"),
                                         ["interleave=user", listed(scene)], backend)
        words, failed = events.reshape(-1, 2).sum(0)
        results.append((bits, failed, words))
    return results


def one_filter(scene, y, detector, backend):
    """Bits of a detector with one filter for all carriers: once for each modulation; each user takes its own."""
    slots = execute("noma_slots", {"carriers": y}, ("train_rx", "train_tx", "rx"), backend=backend, rate=RATE)
    inputs = dict(zip(("train_rx", "train_tx", "rx"), slots))
    of = {m: execute(detector, inputs, ("bits",), [f"modulation={m}"], backend)[0] for m in set(scene.modulations)}
    return [[of[m][g][u] for u, m in enumerate(scene.modulations)] for g in range(len(y))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=8)
    parser.add_argument("--passes", type=int, default=2, help="of noma_channel_estimator and decoder")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="rows whose name has this")
    parser.add_argument("--apsm", action="store_true", help="also apsm_detector, which takes long")
    options = parser.parse_args()
    detectors = ["lls_detector", *(["apsm_detector"] if options.apsm else [])]
    columns = [*detectors, *(f"pass {n + 1} | words lost" for n in range(options.passes))]
    print(f"| dB a user | {' | '.join(columns)} |")
    print("| --- |" + " --- |" * (len(detectors) + 2 * options.passes))
    for name, changes in ROWS:
        if options.only not in name:
            continue
        rng = np.random.default_rng(options.seed)
        scene = Scene(**{"modulations": MIXED, "code": CODE, **changes})
        made = [scene.frame(rng) for _ in range(options.frames)]
        y = np.array([model.demodulate(samples, scene.f) for samples, *_ in made]).astype(np.complex64)
        sent = [bits for _, bits, _, _ in made]
        row = [f"{error_rate(one_filter(scene, y, detector, options.backend), sent):.2g}" for detector in detectors]
        for bits, failed, words in filters(scene, y, options.passes, options.backend):
            row += [f"{error_rate(bits, sent):.2g}", f"{failed} of {words}"]
        print(f"| {name} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
