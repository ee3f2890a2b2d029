#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Symbol error rates of the detection of several users, 685 pilots and 3,840 data vectors, each transmission over a new
channel: points with rates known from simulations in double precision, and curves over the SNR, the number of antennas
and the users' spread, for a circular and a planar array.

Detection runs in `iqd exec`. Prints Markdown, mean ± one standard deviation over the transmissions. Exits with 3 if a
detector is worse than 1.2 times the known rate by more than the statistics of both means explain."""

import argparse
import dataclasses
import json
import math
import pathlib
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "bench")]
import iqd
import noma_channel as channel
from curves import svg

MISSED = 3
PILOTS, DATA = 685, 3840
DETECTORS = {"genie LMMSE": ("genie_detector", {}), "LLS": ("lls_detector", {}),
             "APSM from 0": ("apsm_detector", {"start": "zero"}),
             "from 0, 3 passes": ("apsm_detector", {"start": "zero", "passes": 3}),
             "APSM from LLS": ("apsm_detector", {"start": "lls"}),
             "from LLS, 3 passes": ("apsm_detector", {"start": "lls", "passes": 3})}


@dataclasses.dataclass(frozen=True)
class Case:
    modulation: str
    snr_db: float
    spread: float = 60
    array: str = "circle"
    antennas: int = 16  # used of the 16: evenly around the circle, or row by row of the panel
    users: int = 6

    def places(self):
        if self.array == "panel":
            return channel.panel(4, 4)[:self.antennas]
        return channel.circle(16)[np.arange(self.antennas) * 16 // self.antennas]

    def __str__(self):
        return (f"{self.modulation} {self.snr_db:g} dB, {self.array}, {self.antennas} antennas, {self.users} users "
                f"over {self.spread:g} degrees")


def known(genie, lls, zero, zero3=None):
    return dict(zip(DETECTORS, (genie, lls, zero, zero3)))


# From a simulation in double precision, means of 8 transmissions.
KNOWN = {
    Case("qpsk", 5): known(.0287, .0305, .0386),
    Case("qpsk", 15): known(0, 0, 0),
    Case("16qam", 15): known(.0076, .0085, .0215, .0120),
    Case("16qam", 25): known(0, 0, .0028, 0),
    Case("qpsk", 5, 30): known(.0404, .0435, .0548),
    Case("16qam", 15, 30): known(.0120, .0137, .0279),
    Case("qpsk", 30, antennas=5, users=5): {"genie LMMSE": .0032, "LLS": .0035, "APSM from LLS": .0034,
                                            "from LLS, 3 passes": .0028},
}
THERE = 8
ARRAYS = "circle", "panel"


def figures():
    """name → (the field on the x axis, rows of cases for panels)"""
    return {
        "snr": ("snr_db", [[[Case(m, snr, array=a) for snr in snrs] for a in ARRAYS]
                           for m, snrs in (("qpsk", (-5, 0, 5, 10, 15)), ("16qam", (5, 10, 15, 20, 25)))]),
        "antennas": ("antennas", [[[Case("qpsk", 20, array=a, antennas=n, users=u) for n in counts] for a in ARRAYS]
                                  for u, counts in ((4, (2, 3, 4, 5, 6, 8)), (6, (3, 4, 5, 6, 8, 12, 16)))]),
        "spread": ("spread", [[[Case(m, snr, s, array=a) for s in (10, 20, 30, 45, 60, 90)] for a in ARRAYS]
                              for m, snr in (("qpsk", 5), ("16qam", 15))]),
    }


def transmissions(case, count, seed):
    """Inputs of all detectors, and bits [transmission][user][t][bit]."""
    rng = np.random.default_rng([seed, *map(ord, str(case))])
    noise = 10 ** (-case.snr_db / 10)
    h = np.concatenate([channel.channels(case.places(), case.spread, case.users, rng) for _ in range(count)])
    train, data = ([channel.transmit(one, case.modulation, noise, n, rng) for one in h] for n in (PILOTS, DATA))
    arrays = {"train_rx": [t[0] for t in train], "train_tx": [t[1] for t in train], "rx": [d[0] for d in data], "h": h}
    inputs = {name: np.array(x, np.complex64) for name, x in arrays.items()}
    return {**inputs, "noise": np.full(count, noise, np.float32)}, np.array(
        [channel.bits_of(d[2], case.modulation) for d in data])


def detect(options, stage, keys, case, inputs, folder):
    """Bits from `iqd exec`."""
    arguments = ["exec", stage, "--backend", options.backend, "--config", f"modulation={case.modulation}",
                 "--out", f"bits={folder}/bits.npy"]
    for name, x in inputs.items():
        if stage != "genie_detector" and name in ("h", "noise"):
            continue
        np.save(folder / f"{name}.npy", x)
        arguments += ["--in", f"{name}={folder}/{name}.npy"]
    for key, value in keys.items():
        arguments += ["--config", f"{key}={value}"]
    done = iqd.command(*arguments, timeout=3600)
    if done.returncode:
        sys.exit(f"{stage}: {done.stderr}")
    return np.load(folder / "bits.npy")


def measure(options, case, folder):
    inputs, sent = transmissions(case, options.transmissions, options.seed)
    found = {}
    for name, (stage, keys) in DETECTORS.items():
        wrong = detect(options, stage, keys, case, inputs, folder) != sent
        symbols = wrong.any(axis=3)
        rates = symbols.mean(axis=(1, 2))
        found[name] = {"ser": float(rates.mean()), "sd": float(rates.std()), "ber": float(wrong.mean()),
                       "ser_by_user": symbols.mean(axis=(0, 2)).tolist(), "known": KNOWN.get(case, {}).get(name)}
    return {**dataclasses.asdict(case), "transmissions": options.transmissions, "detectors": found}


def fits(rate, count):
    """Within 1.2 times the known rate, plus two standard deviations of both means and a few symbols."""
    spread = 2 * rate["sd"] * math.sqrt(1 / count + 1 / THERE)
    return rate["known"] is None or rate["ser"] <= 1.2 * rate["known"] + spread + 1e-4


def print_point(case, point):
    print(f"\n### {case}\n\n| detector | SER | BER | SER by simulation |\n|" + " --- |" * 4)
    for name, r in point["detectors"].items():
        there = "" if r["known"] is None else f"{r['known']:.4f}"
        worse = "" if fits(r, point["transmissions"]) else " **worse**"
        print(f"| {name} | {r['ser']:.2e} ± {r['sd']:.1e} | {r['ber']:.2e} | {there}{worse} |")
    sys.stdout.flush()


def panels(axis, rows, points):
    drawn = []
    for cases in rows:
        row = []
        for panel in cases:
            curves = {name: [(getattr(c, axis), points[c]["detectors"][name]["ser"], points[c]["detectors"][name]["sd"])
                             for c in panel if c in points] for name in DETECTORS}
            one = panel[0]
            fixed = {"snr_db": f"{one.spread:g} degrees", "antennas": f"{one.users} users",
                     "spread": f"{one.snr_db:g} dB"}
            row.append((f"{one.modulation}, {one.array}, {fixed[axis]}", curves, {}))
        drawn.append([p for p in row if any(p[1].values())])
    return [row for row in drawn if row]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=iqd.IQD, help="the program (build/release/iqd)")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--transmissions", type=int, default=50, help="for each point")
    parser.add_argument("--only", nargs="*", choices=["known", *figures()], help="only these; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="where to write the figures")
    parser.add_argument("--plots", type=pathlib.Path, help="folder for plots: snr.svg, antennas.svg, spread.svg")
    options = parser.parse_args()
    iqd.IQD = options.iqd
    wanted = {name: figure for name, figure in figures().items() if not options.only or name in options.only}
    cases = list(KNOWN) if not options.only or "known" in options.only else []
    cases += [c for _, rows in wanted.values() for row in rows for panel in row for c in panel]
    points = {}
    with tempfile.TemporaryDirectory(prefix="iqd-bench-") as folder:
        for case in dict.fromkeys(cases):
            points[case] = measure(options, case, pathlib.Path(folder))
            print_point(case, points[case])
    if options.json:
        text = json.dumps({"backend": options.backend, "points": list(points.values())}, indent=1)
        options.json.write_text(text + "\n")
    if options.plots:
        options.plots.mkdir(parents=True, exist_ok=True)
        for name, (axis, rows) in wanted.items():
            note = f"symbol error rate over {axis.replace('_', ' ')}; bars: one standard deviation"
            (options.plots / f"{name}.svg").write_text(svg(panels(axis, rows, points), note, least=1e-5))
    good = all(fits(r, p["transmissions"]) for p in points.values() for r in p["detectors"].values())
    return 0 if good else MISSED


if __name__ == "__main__":
    sys.exit(main())
