#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Error rates of the MIMO detectors, without code and with the rate 1/2 LDPC code of 802.16e (2,304 bits, 15 iterations
of min-sum), with an independent Rayleigh channel for every vector; compared with a simulation in double precision.

Words are encoded, detected and decoded by `iqd exec`. Prints Markdown. Exits with 3 if a detector is worse than the
simulation, or if the ranking of the detectors is not the published one: MTT near K-best, both better than one pass; for
two antennas as good as exhaustive search."""

import argparse
import json
import math
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "bench")]
import iqd
import mimo_model as model
from curves import svg
from exec_arrays import execute
from rayleigh import transmit

MISSED = 3
N, K = 2304, 1152
DETECTORS = {"exhaustive": ("exhaustive_detector", []), "MTT pooled": ("mtt_detector", ["lists=pooled"]),
             "MTT": ("mtt_detector", []), "K-best": ("kbest_detector", []), "one pass": ("one_pass_detector", []),
             "LMMSE": ("lmmse_detector", [])}
MOST_HYPOTHESES = 1 << 12  # exhaustive search over more takes too long
SNRS = {(2, "qpsk"): (3, 4, 5, 6, 7, 8), (2, "16qam"): (9, 10, 10.5, 11, 12, 13), (2, "64qam"): (14, 15, 16, 17, 18, 19),
        (4, "qpsk"): (4, 5, 6, 7, 8, 9), (4, "16qam"): (11, 12, 12.5, 13, 14, 15), (4, "64qam"): (16, 17, 18, 18.5, 19, 20)}
# Frame error rates from the simulation, 20 to 100 words each: (antennas, modulation, SNR) → detector → rate.
SIMULATED = {
    (4, "16qam", 12): {"MTT": .63, "K-best": .30, "one pass": .97, "LMMSE": .58, "MTT pooled": .23},
    (4, "16qam", 12.5): {"MTT": .33, "K-best": .02, "one pass": .55, "LMMSE": .23, "MTT pooled": .05},
    (4, "16qam", 13): {"MTT": .10, "K-best": .00, "one pass": .13, "LMMSE": .07},
    (4, "qpsk", 5): {"exhaustive": 0, "MTT": .32, "K-best": .38, "one pass": 1.0, "MTT pooled": .03},
    (4, "qpsk", 6): {"exhaustive": 0, "MTT": .01, "K-best": 0, "one pass": .18},
    (4, "64qam", 18.5): {"MTT": .25, "K-best": .10, "one pass": .60, "LMMSE": .45},
    (2, "16qam", 10.5): {"exhaustive": .28, "MTT": .28, "K-best": .37, "one pass": .78, "LMMSE": .63},
}
WORDS_THERE = 40  # words per point of the simulation, about


def information_rate(llr, sent):
    """The information of an LLR in bits: the generalised mutual information with the best scaling."""
    signed = np.where(sent == 1, -1, 1) * llr
    return max(1 - np.mean(np.logaddexp(0, -scale * signed)) / math.log(2) for scale in np.geomspace(0.2, 2, 25))


def measure(options, antennas, modulation, snr_db):
    seed = [options.seed, antennas, model.BITS[modulation], int(10 * snr_db)]
    rng = np.random.default_rng(seed)
    information = rng.integers(0, 2, (options.words, K)).astype(np.uint8)
    words, = execute("ldpc_encoder", {"bits": information}, ["words"], backend=options.backend)
    y, h, noise = transmit(antennas, modulation, snr_db, words, rng)
    point = {"antennas": antennas, "modulation": modulation, "snr_db": snr_db, "words": options.words, "detectors": {}}
    for name, (stage, keys) in DETECTORS.items():
        if name == "exhaustive" and 2 ** (antennas * model.BITS[modulation]) > MOST_HYPOTHESES:
            continue
        llr, hard = execute(stage, {"y": y, "h": h, "noise": noise}, ["llr", "bits"],
                            [f"modulation={modulation}", *keys], options.backend)
        llr = llr.reshape(words.shape)
        decoded, = execute("ldpc_decoder", {"llr": llr}, ["bits"], backend=options.backend)
        wrong = decoded != information
        point["detectors"][name] = {
            "uncoded": float(np.mean(hard.reshape(words.shape) != words)), "coded": float(wrong.mean()),
            "fer": float(wrong.any(axis=1).mean()), "gmi": float(information_rate(llr.ravel(), words.ravel()))}
    return point


def spread(rate, n, other=0.0, m=0):
    """Two standard deviations of the difference between a rate of n words and another one of m words."""
    def variance(p, count):
        p = min(max(p, 1 / count), 1 - 1 / count)
        return p * (1 - p) / count
    return 2 * math.sqrt(variance(rate, n) + (variance(other, m) if m else 0))


def complaints(point):
    found = point["detectors"]
    known = SIMULATED.get((point["antennas"], point["modulation"], point["snr_db"]), {})
    for name, rate in known.items():
        if name in found and found[name]["fer"] > rate + spread(found[name]["fer"], point["words"], rate, WORDS_THERE):
            yield f"{name}: frame error rate {found[name]['fer']:.3f}, by simulation {rate}"
    fer = {name: d["fer"] for name, d in found.items()}
    if fer["MTT"] > fer["one pass"] + spread(fer["MTT"], point["words"]):
        yield f"MTT ({fer['MTT']:.3f}) is worse than one pass ({fer['one pass']:.3f})"
    if point["antennas"] == 2 and "exhaustive" in fer and abs(found["MTT"]["gmi"] - found["exhaustive"]["gmi"]) > 1e-4:
        yield "for two antennas MTT differs from exhaustive search"


def print_point(point):
    print(f"\n### {point['antennas']}x{point['antennas']} {point['modulation']}, {point['snr_db']} dB\n\n"
          "| detector | BER without code | GMI per bit | BER | FER | FER by simulation |\n|" + " --- |" * 6)
    known = SIMULATED.get((point["antennas"], point["modulation"], point["snr_db"]), {})
    for name, d in point["detectors"].items():
        print(f"| {name} | {d['uncoded']:.2e} | {d['gmi']:.4f} | {d['coded']:.2e} | {d['fer']:.3f} | "
              f"{known.get(name, '')} |")
    for complaint in complaints(point):
        print(f"\n**{complaint}**")
    sys.stdout.flush()


def panels(points):
    rows = []
    for key, what in (("coded", "BER"), ("fer", "FER"), ("uncoded", "BER without code")):
        row = []
        for case in dict.fromkeys((p["antennas"], p["modulation"]) for p in points):
            curves = {}
            for p in points:
                for name, d in p["detectors"].items() if (p["antennas"], p["modulation"]) == case else []:
                    curves.setdefault(name, []).append((p["snr_db"], d[key]))
            row.append((f"{case[0]}x{case[0]} {case[1]}: {what}", curves, {}))
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=iqd.IQD, help="the program (build/release/iqd)")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--words", type=int, default=200, help="for each point")
    parser.add_argument("--only", nargs="*", metavar="ANTENNAS:MODULATION[:DB]", help="e.g. 4:16qam:12.5; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="where to write the figures")
    parser.add_argument("--plot", type=pathlib.Path, help="where to write a plot (.svg)")
    options = parser.parse_args()
    iqd.IQD = options.iqd
    cases = [(a, m, snr) for (a, m), snrs in SNRS.items() for snr in snrs]
    if options.only:
        cases = [c for c in cases if any(f"{c[0]}:{c[1]}:{c[2]}".startswith(o) for o in options.only)]
    points = []
    for case in cases:
        points.append(measure(options, *case))
        print_point(points[-1])
    if options.json:
        options.json.write_text(json.dumps({"backend": options.backend, "points": points}, indent=1) + "\n")
    if options.plot:
        options.plot.write_text(svg(panels(points), "over the SNR of a receive antenna in dB", least=1e-5))
    return MISSED if any(list(complaints(p)) for p in points) else 0


if __name__ == "__main__":
    sys.exit(main())
