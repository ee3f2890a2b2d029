#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Words that a code loses: BPSK in white noise, encoded and decoded by `iqd exec`. Prints Markdown.

Exits with 3 if a share is further from that of the simulation in double precision than both counts explain, by four
standard deviations."""

import argparse
import dataclasses
import json
import math
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "bench")]
from curves import svg
from exec_arrays import execute

MISSED = 3
AT_ONCE = 1 << 22  # LLRs


@dataclasses.dataclass(frozen=True)
class Code:
    name: str
    keys: tuple[str, ...]  # of encoder and decoder
    k: int
    n: int
    iterations: int
    ebn0_db: tuple[float, ...]

    @property
    def title(self):
        return f"{self.name} ({self.k}, {self.n}), {self.iterations} iterations"


def nr(k, e, iterations, ebn0_db, graph="auto", crc="none"):
    keys = f"nr={{k: {k}, e: {e}, graph: {graph}}}", f"crc={crc}"
    name = "NR" + (f" graph {graph}" if graph != "auto" else "") + (f" CRC {crc}" if crc != "none" else "")
    return Code(name, keys, k, e, iterations, ebn0_db)


def irig(k, rate, iterations, ebn0_db):
    top, bottom = rate
    return Code(f"IRIG {top}/{bottom}", (f"code=irig_{k}_{top}_{bottom}",), k, k * bottom // top, iterations, ebn0_db)


CODES = [
    Code("802.16e", ("code=80216e_2304_1_2",), 1152, 2304, 15, (1.0, 1.2, 1.4, 1.6, 1.8)),
    nr(1144, 2288, 15, (1.0, 1.2, 1.4, 1.6, 1.8), graph=1),
    nr(1200, 2400, 15, (1.0, 1.2, 1.4, 1.6, 1.8)),
    nr(1200, 2400, 15, (1.0, 1.2, 1.4, 1.6, 1.8), crc="24a"),
    nr(8448, 16896, 15, (1.0, 1.1, 1.2, 1.3, 1.4)),
    nr(8448, 13000, 20, (1.8, 2.0, 2.2, 2.4)),
    nr(8448, 25344, 20, (0.4, 0.6, 0.7, 0.9)),
    nr(100, 300, 20, (1.0, 2.0, 3.0, 4.0)),
]
# From the simulation, 600 words of 1024 bits and 240 of 4096 a point: iterations → Eb/N0 → share lost.
IRIG = {
    (1024, (1, 2)): {50: {1.0: .52, 1.25: .19, 1.5: .028, 1.75: .0017, 2.0: 0}, 15: {1.5: .23, 1.75: .040}},
    (1024, (2, 3)): {50: {1.75: .50, 2.0: .18, 2.25: .043, 2.5: .008, 2.75: 0}, 15: {2.25: .14, 2.5: .027}},
    (1024, (4, 5)): {50: {2.75: .36, 3.0: .11, 3.25: .012, 3.5: 0}, 15: {3.25: .033}},
    (4096, (1, 2)): {50: {0.9: .71, 1.0: .47, 1.1: .18}, 15: {1.1: .98}},
    (4096, (2, 3)): {50: {1.7: .57, 1.8: .28, 1.9: .10}, 15: {1.9: .73}},
    (4096, (4, 5)): {50: {2.6: .43, 2.7: .22, 2.8: .067, 2.9: .013}, 15: {2.9: .14}},
}
IRIG_RATES = {irig(*code, iterations, tuple(rates)): rates
              for code, by_iterations in IRIG.items() for iterations, rates in by_iterations.items()}
CODES += IRIG_RATES
# From the simulation: (code, Eb/N0) → share lost, words.
SIMULATED = {
    (CODES[0].title, 1.4): (.17, 60), (CODES[1].title, 1.4): (.20, 60), (CODES[2].title, 1.4): (.18, 60),
    (CODES[0].title, 1.8): (0, 60), (CODES[1].title, 1.8): (0, 60), (CODES[2].title, 1.8): (0, 60),
    (CODES[4].title, 1.2): (.50, 60), (CODES[5].title, 2.4): (0, 10), (CODES[6].title, 0.9): (0, 10),
    **{(code.title, ebn0_db): (rate, 600 if code.k == 1024 else 240)
       for code, rates in IRIG_RATES.items() for ebn0_db, rate in rates.items()},
}


def lost(options, code, ebn0_db, words, rng):
    """How many of the words differ from what was sent, and how many of these the decoder counts as right."""
    information = code.k - {"24a": 24}.get(code.keys[-1].removeprefix("crc="), 0)
    variance = code.n / code.k / 2 * 10 ** (-ebn0_db / 10)
    sent = rng.integers(0, 2, (words, information)).astype(np.uint8)
    coded, = execute("ldpc_encoder", {"bits": sent}, ["words"], code.keys, options.backend)
    y = 1.0 - 2.0 * coded + math.sqrt(variance) * rng.standard_normal(coded.shape)
    bits, iterations, events = execute("ldpc_decoder", {"llr": (2 * y / variance).astype(np.float32)},
                                       ["bits", "iterations", "events"],
                                       [*code.keys, f"iterations={code.iterations}"], options.backend)
    wrong = int((bits.reshape(sent.shape) != sent).any(1).sum())
    return wrong, int(events.reshape(-1, 2).sum(0)[1]), int(iterations.sum())


def measure(options, code, ebn0_db):
    rng = np.random.default_rng([options.seed, *code.title.encode(), round(100 * ebn0_db)])
    total, done = np.zeros(3, int), 0
    while done < options.words:
        words = min(options.words - done, max(1, AT_ONCE // code.n))
        total += lost(options, code, ebn0_db, words, rng)
        done += words
    return {"lost": total[0] / done, "failed": total[1] / done, "iterations": total[2] / done, "words": done}


def misses(results):
    """The points that differ from the simulation by more than both counts explain."""
    for (title, ebn0_db), (rate, words) in SIMULATED.items():
        is_ = results.get(title, {}).get(ebn0_db)
        if is_ is None:
            continue
        both = (rate * words + is_["lost"] * is_["words"]) / (words + is_["words"])
        spread = math.sqrt(max(both * (1 - both), 1 / is_["words"]) * (1 / words + 1 / is_["words"]))
        if abs(rate - is_["lost"]) > 4 * spread:
            yield f"{title} at {ebn0_db:g} dB: {is_['lost']:.3f} of the words lost, simulated {rate:.2f} of {words}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=1000, help="of a point")
    parser.add_argument("--only", help="codes whose title contains this")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    parser.add_argument("--plot", type=pathlib.Path, help="also draw the curves to this SVG")
    options = parser.parse_args()
    results = {}
    print("| code | Eb/N0, dB | words lost | counted as failed | iterations |\n| --- | --- | --- | --- | --- |")
    for code in CODES:
        if options.only and options.only not in code.title:
            continue
        for ebn0_db in code.ebn0_db:
            point = results.setdefault(code.title, {})[ebn0_db] = measure(options, code, ebn0_db)
            print(f"| {code.title} | {ebn0_db:g} | {point['lost']:.4f} | {point['failed']:.4f} | "
                  f"{point['iterations']:.1f} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        curves = {title: [(x, p["lost"]) for x, p in points.items()] for title, points in results.items()}
        marks = {title: [(x, rate) for (t, x), (rate, _) in SIMULATED.items() if t == title] for title in results}
        options.plot.write_text(svg([[("words lost", curves, marks)]], f"{options.words} words of a point; hollow: "
                                    "simulation", least=0.1 / options.words), encoding="utf-8")
    missed = list(misses(results))
    for line in missed:
        print(line, file=sys.stderr)
    return MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
