#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""How much one training of a predistorter reduces a transmitter's adjacent channels, intermodulation, images and LO
leakage: a carrier of 10 MHz and two of 3 MHz, through an amplifier alone and through a transmitter with all its faults.

Waveforms, training, predistortion and measurement are `iqd exec`; the transmitter between them is a model in double
precision. Prints Markdown. Exits with 1 if a component falls by less than 10 dB, or 20 for the amplifier alone."""

import argparse
import collections
import json
import pathlib
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "bench")]
import aph_model as model
import iqd
import transmitters
from curves import Even, svg
from exec_arrays import execute

MISSED = 1
PERIOD = 245760  # samples of a waveform's period; all are measured
TRAINED = 65536  # the first of them, for training
NOISE_DB, DELAY = 60, 3.37  # of the feedback
PEAKS_DB = 8.2  # of the 10 MHz carrier above its mean power
LEVELS = ("carrier", "adjacent_low", "adjacent_high", "alternate_low", "alternate_high", "im3_low", "im3_high",
          "im5_low", "im5_high", "image_low", "image_high", "lo")
COMPONENTS = {"ACLR": ("adjacent_low", "adjacent_high"), "IM3": ("im3_low", "im3_high"), "IM5": ("im5_low", "im5_high"),
              "images": ("image_low", "image_high"), "LO": ("lo",)}
# dB that each must fall by; others are only shown, if the transmitter has them. A model of the fifth order suppresses
# the fifth order less: 17.6 dB for the amplifier in double precision too.
NEEDED = {"amplifier": {"ACLR": 20, "IM3": 20, "IM5": 10}, "impaired": {"ACLR": 10, "IM3": 10, "images": 10, "LO": 10}}
LINEAR_FAULTS = "images", "LO"  # an amplifier alone has none

Signal = collections.namedtuple("Signal", "keys carriers bandwidth spacing components")
ONE, TWO = ("ACLR",), ("IM3", "IM5", "images", "LO")
SIGNALS = {
    "10 MHz": Signal(["kind=lte10"], "[0]", 9e6, 10e6, ONE),
    "2 x 3 MHz, -5/+5": Signal(["kind=carriers", "frequencies=[-5e6, 5e6]"], "[-5e6, 5e6]", 2.7e6, 3e6, TWO),
    "2 x 3 MHz, -3/+7": Signal(["kind=carriers", "frequencies=[-3e6, 7e6]"], "[-3e6, 7e6]", 2.7e6, 3e6, TWO)}
TRANSMITTERS = {"amplifier": lambda x: model.transmitter(x, False), "impaired": model.transmitter}
# From a simulation in double precision with another waveform: before and after one training, the worse of both sides.
SIMULATED = {
    ("amplifier", "10 MHz", "ACLR"): (-44.2, -71.4), ("amplifier", "2 x 3 MHz, -5/+5", "IM3"): (-40.1, -70.8),
    ("amplifier", "2 x 3 MHz, -5/+5", "IM5"): (-55.4, -73.0), ("impaired", "10 MHz", "ACLR"): (-43.3, -57.4),
    ("impaired", "2 x 3 MHz, -5/+5", "IM3"): (-39.7, -60.8), ("impaired", "2 x 3 MHz, -3/+7", "IM3"): (-39.6, -55.4),
    ("impaired", "2 x 3 MHz, -3/+7", "images"): (-22.9, -61.4), ("impaired", "2 x 3 MHz, -3/+7", "LO"): (-27.2, -77.1)}
# ACLR of the 10 MHz carrier after training, by its rms.
SIMULATED_LEVELS = {"amplifier": {.24: -75.0, .27: -71.3, .30: -58.1, .33: -44.5},
                    "impaired": {.24: -68.8, .27: -57.4, .30: -42.6, .33: -28.5}}


class Bench:
    """Runs stages on arrays, through files in a folder."""

    def __init__(self, backend, folder):
        self.backend, self.folder = backend, folder

    def execute(self, stage, keys, inputs, outputs):
        return execute(stage, inputs, outputs, keys, self.backend, model.RATE)

    def waveform(self, signal, rms=None, seed=None):
        keys = signal.keys + [f"{name}={value}" for name, value in (("rms", rms), ("seed", seed)) if value is not None]
        return self.execute("test_waveform", keys, {"in": np.zeros(PERIOD, np.complex64)}, ["out"])[0]

    def train(self, sent, came, rng):
        """Coefficients, from the feedback receiver's signal."""
        heard = model.noisy(model.delayed(came, DELAY, 1.0), NOISE_DB, rng).astype(np.complex64)
        coefficients, report = self.execute("aph_estimator", [f"samples={TRAINED}"], {"sent": sent, "received": heard},
                                            ["coefficients", "report"])
        if report.ravel()[0] != 0:
            sys.exit(f"the training was refused: outcome {report.ravel()[0]:.0f}")
        return coefficients

    def predistort(self, x, coefficients):
        np.save(self.folder / "coefficients.npy", coefficients)
        return self.execute("aph_predistorter", [f"coefficients=@{self.folder}/coefficients.npy"], {"in": x},
                            ["out", "peak"])

    def measure(self, signal, y):
        """Levels by name, and the spectrum."""
        levels, spectrum = self.execute(
            "acpr_meter", [f"carriers={signal.carriers}", f"bandwidth={signal.bandwidth}", f"spacing={signal.spacing}"],
            {"in": y.astype(np.complex64)}, ["levels", "spectrum"])
        return dict(zip(LEVELS, levels.ravel().tolist())), spectrum.ravel()

    def close(self, signal, transmit, rms=None, seed=None):
        """Runs the loop once: without coefficients, training, with coefficients."""
        x = self.waveform(signal, rms, seed)
        came = transmit(x.astype(complex))
        coefficients = self.train(x, came, np.random.default_rng(seed or 0))
        sent, peak = self.predistort(x, coefficients)
        went = transmit(sent.astype(complex))
        (before, without), (after, with_), (_, own) = (self.measure(signal, y) for y in (came, went, x))
        return {"before": before, "after": after, "peak": float(peak.ravel()[0]),
                "evm": (evm(x, came), evm(x, went)),
                "spectra": {"not predistorted": without, "after one training": with_, "ideal": own}}


def evm(x, y):
    """EVM after the best gain and the best fractional delay, since the predistorter does not remove a part of the
    transmitter's delay."""
    cross = np.conj(np.fft.fft(x)) * np.fft.fft(y)
    cross *= np.exp(-1j * np.angle(cross.sum()))
    f = np.fft.fftfreq(len(x))
    used = abs(cross) > 1e-3 * abs(cross).max()
    slope, _ = np.polyfit(f[used], np.angle(cross[used]), 1, w=abs(cross[used]))
    return float(model.evm(x, model.delayed(y, slope / (2 * np.pi))))


def rows_of(loop, names):
    """Component, before and after by sides, and the improvement of the worse side."""
    for name in names:
        sides = [s for s in COMPONENTS[name] if loop["before"][s] is not None and np.isfinite(loop["before"][s])]
        if sides:
            pairs = [(loop["before"][s], loop["after"][s]) for s in sides]
            yield name, [p[0] for p in pairs], [p[1] for p in pairs], min(p[0] - p[1] for p in pairs)


def decibels(values):
    return "/".join(f"{v:.1f}" for v in values)


def print_head(title, *columns):
    print(f"\n## {title}\n\n| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))


def suppression(bench, signals, chosen):
    """Prints a row for each component of each signal and transmitter; returns the loops, and what was missed."""
    print_head("Before and after one training, dBc", "transmitter", "signal", "", "before", "after", "falls by",
               "needed", "", "by simulation")
    loops, missed = {}, []
    for kind in chosen:
        for title in signals:
            loop = loops[kind, title] = bench.close(SIGNALS[title], TRANSMITTERS[kind])
            names = [n for n in SIGNALS[title].components if kind != "amplifier" or n not in LINEAR_FAULTS]
            for name, before, after, fall in rows_of(loop, names):
                needed = NEEDED[kind].get(name)
                verdict = "" if needed is None else "kept" if fall >= needed else "MISSED"
                if verdict == "MISSED":
                    missed.append(f"{kind}, {title}, {name}: {fall:.1f} dB, needed {needed}")
                known = SIMULATED.get((kind, title, name))
                print(f"| {kind} | {title} | {name} | {decibels(before)} | {decibels(after)} | {fall:.1f} | "
                      f"{needed or ''} | {verdict} | {f'{known[0]} -> {known[1]}' if known else ''} |", flush=True)
    print_head("EVM and peaks", "transmitter", "signal", "EVM", "largest \\|z\\|")
    for (kind, title), loop in loops.items():
        print(f"| {kind} | {title} | {100 * loop['evm'][0]:.2f} % -> {100 * loop['evm'][1]:.2f} % | "
              f"{loop['peak']:.3f} |")
    return loops, missed


def levels(bench):
    """How hard the amplifier may be driven: it folds back beyond 0.775."""
    print_head("ACLR of 10 MHz by the signal's rms, dBc", "transmitter", "rms", "before", "after", "by simulation",
               "largest \\|z\\|")
    loops = []
    for kind, transmit in TRANSMITTERS.items():
        for rms, known in SIMULATED_LEVELS[kind].items():
            loop = bench.close(SIGNALS["10 MHz"], transmit, rms=rms)
            (_, before, after, _), = rows_of(loop, ONE)
            loops.append({"transmitter": kind, "rms": rms, **loop})
            print(f"| {kind} | {rms:.2f} | {decibels(before)} | {decibels(after)} | {known} | {loop['peak']:.3f} |",
                  flush=True)
    return loops


def seeds(bench, count):
    """Other data, noise and transmitters."""
    print_head("Other transmitters and data, ACLR of 10 MHz, dBc", "seed", "amplifier", "rms", "before", "after",
               "falls by", "largest \\|z\\|")
    loops, missed = [], []
    for seed in range(1, count + 1):
        name, transmit, peak = transmitters.drawn(np.random.default_rng(seed))
        rms = peak / 10 ** (PEAKS_DB / 20)
        loop = bench.close(SIGNALS["10 MHz"], transmit, rms=rms, seed=seed)
        (_, before, after, fall), = rows_of(loop, ONE)
        loops.append({"transmitter": name, "seed": seed, "rms": rms, "falls": fall, **loop})
        print(f"| {seed} | {name} | {rms:.3f} | {decibels(before)} | {decibels(after)} | {fall:.1f} | "
              f"{loop['peak']:.3f} |", flush=True)
        if not fall >= NEEDED["impaired"]["ACLR"]:
            missed.append(f"seed {seed}, {name}: {fall:.1f} dB")
    print(f"\nThe smallest reduction is {min(l['falls'] for l in loops):.1f} dB.")
    return loops, missed


def curve(spectrum, top, bins=8):
    """dB below `top` over MHz, averaged over some bins."""
    power = np.mean((10 ** (spectrum.astype(float) / 10)).reshape(-1, bins), axis=1)
    mhz = (np.arange(len(power)) + 0.5 - len(power) / 2) * model.RATE / len(power) / 1e6
    return [(round(f, 3), round(10 * np.log10(p) - top, 1)) for f, p in zip(mhz, power)]


def panels(loops):
    rows = {}
    for (kind, title), loop in loops.items():
        top = max(max(s) for s in loop["spectra"].values())
        curves = {name: curve(spectrum, top) for name, spectrum in loop["spectra"].items()}
        rows.setdefault(kind, []).append((f"{title}, {kind}", curves, {}))
    return list(rows.values())


def plain(loops):
    """The loops without spectra, for JSON."""
    return [{key: value for key, value in loop.items() if key != "spectra"} for loop in loops]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=iqd.IQD, help="the program (build/release/iqd)")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--quick", action="store_true", help="only two signals through the impaired transmitter")
    parser.add_argument("--levels", action="store_true", help="also the 10 MHz carrier at several levels")
    parser.add_argument("--seeds", type=int, default=0, help="also this many other transmitters, with other data")
    parser.add_argument("--json", type=pathlib.Path, help="where to write the figures")
    parser.add_argument("--plot", type=pathlib.Path, help="where to draw the spectra (.svg)")
    options = parser.parse_args()
    iqd.IQD = options.iqd
    signals = ["10 MHz", "2 x 3 MHz, -3/+7"] if options.quick else list(SIGNALS)
    with tempfile.TemporaryDirectory(prefix="iqd-bench-") as folder:
        bench = Bench(options.backend, pathlib.Path(folder))
        loops, missed = suppression(bench, signals, ["impaired"] if options.quick else list(TRANSMITTERS))
        further = levels(bench) if options.levels else []
        if options.seeds > 0:
            drawn, worse = seeds(bench, options.seeds)
            further, missed = further + drawn, missed + worse
    if options.plot:
        picture = svg(panels(loops), "dB below the highest, over MHz", across=Even, down=Even, least=-110)
        options.plot.write_text(picture, encoding="utf-8")
    if options.json:
        figures = [{"transmitter": kind, "signal": title, **loop} for (kind, title), loop in loops.items()]
        options.json.write_text(json.dumps({"backend": options.backend, "loops": plain(figures + further),
                                            "missed": missed}, indent=1) + "\n", encoding="utf-8")
    for miss in missed:
        print(f"missed: {miss}", file=sys.stderr)
    return MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
