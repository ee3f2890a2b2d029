#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""NOMA users that differ, and users that do not: bit error rates of the receivers, and lost words.

Six users send frames of docs/noma-frame.md, QPSK and 16-QAM by turns, to 16 antennas on a circle. Prints Markdown."""

import numpy as np

import drawn
import ldpc_model as code
import noma_receive_model as model
from exec_arrays import execute
from noma_scene import MIXED, RATE, Scene

CODE = "80216e_2304_1_2"
ALIKE = {"most_delay": 0, "most_offset": 0, "echo": None}
FOUR = {"snr": 25, "antennas": 4, "modulations": ("qpsk",) * 6}
FRAMES_THERE = 3  # of the simulation
# Rows, and what the simulation says: bit error rates of lls_detector and of the passes, words lost in the passes.
ROWS = [
    ("0 dB", {"snr": 0}, .42, (.143, .079, .027), (.56, .19, 0)),
    ("2.5 dB", {"snr": 2.5}, .41, (.104, .037, .006), (.47, 0, 0)),
    ("5 dB", {"snr": 5}, .40, (.069, .004, .001), (.15, 0, 0)),
    ("10 dB", {"snr": 10}, .38, (.020, 0), (0, 0, 0)),
    ("15 dB", {"snr": 15}, .36, (.0022, 0, 0), (0, 0, 0)),
    ("15 dB, alike", {"snr": 15, **ALIKE}, .0023, (.0027, 0), (0, 0, 0)),
    ("5 dB, alike", {"snr": 5, **ALIKE}, .075, (.080, .005), (.21, 0)),
    ("15 dB, echo 1 us -3 dB", {"snr": 15, "echo": (30.72, -3)}, .37, (.0012, 0), (0, 0, 0)),
    ("15 dB, 8 antennas", {"snr": 15, "antennas": 8}, None, (.015,), (0, 0, 0)),
    ("15 dB, 6 antennas", {"snr": 15, "antennas": 6}, None, (.077,), (.30, 0)),
    ("15 dB, 5 antennas", {"snr": 15, "antennas": 5}, None, (.095,), (.25, 0)),
    ("25 dB, 4 antennas, QPSK", FOUR, None, (.098,), (.35, 0, 0)),
    ("25 dB, 4 antennas, QPSK, powers 0 to -15 dB", {**FOUR, "powers": (0, -3, -6, -9, -12, -15)}, None, (), (.41, 0)),
    ("25 dB, 4 antennas, QPSK, alike", {**FOUR, **ALIKE}, None, (), ()),
    ("10 dB, powers 0 to -15 dB", {"snr": 10, "powers": (0, -3, -6, -9, -12, -15)}, None, (), (.39, .17, .16)),
    ("10 dB, 20 degrees", {"snr": 10, "spread": 20}, None, (), (0, 0, 0)),
]


def listed(scene):
    return f"modulation=[{', '.join(scene.modulations)}]"


def error_rate(bits, sent):
    """Of each frame, mean over users. bits [frame][user][t][bit]"""
    return drawn.Mean(np.array([np.mean([np.mean(own[u][:, :each.shape[1]] != each) for u, each in enumerate(frame)])
                                for own, frame in zip(bits, sent)]))


def filters(scene, y, passes, backend):
    """Of each pass: bits, and information bits [frame][word][k]."""
    inputs, results = {"carriers": y}, []
    for _ in range(passes):
        llr, bits = execute("noma_channel_estimator", inputs, ("llr", "bits"), [listed(scene)], backend, RATE)
        inputs["soft"], decoded = execute("ldpc_decoder", {"llr": llr}, ("llr_out", "bits"),
                                          ["interleave=user", listed(scene)], backend)
        results.append((bits, decoded))
    return results


def one_filter(scene, y, detector, backend):
    """Bits of a detector with one filter for all carriers: once for each modulation; each user takes its own."""
    slots = execute("noma_slots", {"carriers": y}, ("train_rx", "train_tx", "rx"), backend=backend, rate=RATE)
    inputs = dict(zip(("train_rx", "train_tx", "rx"), slots))
    of = {m: execute(detector, inputs, ("bits",), [f"modulation={m}"], backend)[0] for m in set(scene.modulations)}
    return [[of[m][g][u] for u, m in enumerate(scene.modulations)] for g in range(len(y))]


def measure(options, name, scene, detectors):
    """By column."""
    rng = np.random.default_rng([options.seed, *name.encode()])
    information, y, sent = [], [], []
    for _ in range(options.frames):
        information.append(rng.integers(0, 2, sum(scene.f.information_bits(scene.modulations, CODE)), np.uint8))
        samples, bits, _, _ = scene.frame(rng, information[-1])
        y.append(model.demodulate(samples, scene.f))
        sent.append(bits)
    y, words = np.array(y, np.complex64), np.array(information).reshape(len(y), -1, code.K)
    figures = {name: error_rate(one_filter(scene, y, name, options.backend), sent) for name in detectors}
    for n, (bits, decoded) in enumerate(filters(scene, y, options.passes, options.backend)):
        figures[f"pass {n + 1}"] = error_rate(bits, sent)
        figures[f"lost {n + 1}"] = drawn.Share((decoded != words).any(2).sum(1), words.shape[1])
    return figures


def main():
    parser = drawn.parser_of(__doc__)
    parser.add_argument("--frames", type=int, default=12, help="four times those of the simulation")
    parser.add_argument("--passes", type=int, default=3, help="of noma_channel_estimator and decoder")
    parser.add_argument("--only", default="", help="rows whose name has this")
    parser.add_argument("--apsm", action="store_true", help="also apsm_detector, which takes long")
    options = parser.parse_args()
    detectors = ["lls_detector", *(["apsm_detector"] if options.apsm else [])]
    passes = range(1, options.passes + 1)
    sheet = drawn.Sheet()
    sheet.head("", ["dB a user", *detectors, *(column for n in passes for column in (f"pass {n}", f"words lost {n}"))])
    for name, changes, linear, errors, lost in ROWS:
        if options.only not in name:
            continue
        simulated = {"lls_detector": linear, **{f"pass {n}": rate for n, rate in enumerate(errors, 1)},
                     **{f"lost {n}": rate for n, rate in enumerate(lost, 1)}}
        figures = measure(options, name, Scene(**{"modulations": MIXED, "code": CODE, **changes}), detectors)
        sheet.row(name, figures, simulated, FRAMES_THERE)
    sheet.finish(options.json)


if __name__ == "__main__":
    main()
