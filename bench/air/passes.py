#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Words lost in one, two and three passes of a detector and a decoder that tell each other what they know.

Every vector has an independent Rayleigh channel, which the receiver knows. The detector gets the decoder's `extrinsic`
as `prior`. Prints Markdown. In brackets: as simulated in double precision, 60 words a figure, 12 in 64-QAM."""

import numpy as np

import drawn
import ldpc_model as code
from exec_arrays import execute
from rayleigh import transmit

DETECTORS = {"MTT": ("mtt_detector", ["lists=pooled"]), "MTT, own lists": ("mtt_detector", []),
             "K-best": ("kbest_detector", []), "LMMSE": ("lmmse_detector", [])}
PASSES = 3
# (antennas, modulation, dB) → words there, detector → words lost in the passes.
POINTS = {
    (4, "16qam", 10.5): (60, {"MTT": (1, .62, .27), "LMMSE": (1, .92, .82)}),
    (4, "16qam", 11): (60, {"MTT": (.92, .25, .03), "LMMSE": (1, .73, .38)}),
    (4, "16qam", 11.5): (60, {"MTT": (.65, .05, 0), "LMMSE": (.90, .28, .10)}),
    (4, "16qam", 12): (60, {"MTT": (.23, 0, 0), "LMMSE": (.60, .07, 0)}),
    (4, "64qam", 17): (12, {"MTT": (.92, .08, 0), "LMMSE": (.92, .42, .08)}),
    (2, "16qam", 10): (60, {"MTT": (.78, .15, .03), "LMMSE": (.97, .57, .42)}),
}


def measure(options, detector, antennas, modulation, snr):
    rng = np.random.default_rng([options.seed, antennas, int(10 * snr), *modulation.encode()])
    information = rng.integers(0, 2, (options.words, code.K)).astype(np.uint8)
    words, = execute("ldpc_encoder", {"bits": information}, ["words"], backend=options.backend)
    y, h, noise = transmit(antennas, modulation, snr, words, rng)
    stage, keys = DETECTORS[detector]
    inputs, figures = {"y": y, "h": h, "noise": noise}, []
    for _ in range(PASSES):
        llr, = execute(stage, inputs, ["llr"], [f"modulation={modulation}", *keys], options.backend)
        bits, extrinsic = execute("ldpc_decoder", {"llr": llr.reshape(words.shape)}, ["bits", "extrinsic"],
                                  backend=options.backend)
        inputs["prior"] = extrinsic.reshape(llr.shape)
        figures.append(drawn.Share((bits != information).any(1), 1))
    return figures


def main():
    parser = drawn.parser_of(__doc__)
    parser.add_argument("--words", type=int, default=1000, help="of a figure")
    parser.add_argument("--detectors", nargs="*", choices=DETECTORS, default=list(DETECTORS))
    options = parser.parse_args()
    sheet = drawn.Sheet()
    sheet.head("", ["antennas, SNR, detector", *(f"pass {n + 1}" for n in range(PASSES))])
    for (antennas, modulation, snr), (there, simulated) in POINTS.items():
        for detector in options.detectors:
            figures = dict(enumerate(measure(options, detector, antennas, modulation, snr)))
            sheet.row(f"{antennas}x{antennas} {modulation}, {snr:g} dB, {detector}", figures,
                      dict(enumerate(simulated.get(detector, ()))), there)
    sheet.finish(options.json)


if __name__ == "__main__":
    main()
