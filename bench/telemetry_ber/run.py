#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Bit error rates of the telemetry receiver, by equalizer, channel and Eb/N0, compared with a simulation.

The tests' model makes recordings, and the real `iqd run` decodes them. Exits with 3 if a rate is worse than in the
simulation, or if packets were not found.
"""

import argparse
import json
import math
import pathlib
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))
sys.path.append(str(ROOT / "bench"))
import iqd
import telemetry_model as model
from curves import svg
from packet_errors import decode, errors_of, rates

MISSED = 3
EQUALIZER = "{kinds: [zf, mmse, cma, fde1, fde2]}"
CURVES = {"awgn": (6, 8, 10), "ch1": (10, 12, 14), "ch2": (12, 14, 16), "ch3": (10, 12, 14), "ch4": (10, 12, 14)}


def make_recording(channel, ebn0_db, sent, rng):
    """As from a radio: with random gain, offset and phase."""
    x = model.recording(sent, channel, ebn0_db, w=rng.uniform(-0.05, 0.05), phase=rng.uniform(-np.pi, np.pi),
                        lead=model.GUARD, rng=rng)
    return (10 ** rng.uniform(-1, 1) * x).astype(np.complex64)


def measure(channel, ebn0_db, options, folder):
    rng = np.random.default_rng([options.seed, list(CURVES).index(channel), ebn0_db])
    sent = rng.integers(0, 2, (options.packets, model.PAYLOAD)).astype(np.uint8)
    x = make_recording(channel, ebn0_db, sent, rng)
    errors = errors_of(*decode(x, EQUALIZER, folder, options.backend, options.average), sent)
    if len(errors) < 2:
        sys.exit(f"{channel} at {ebn0_db} dB: {len(errors)} of {len(sent)} packets were found")
    point = {"channel": channel, "ebn0_db": ebn0_db, "sent": len(sent), "found": len(errors), "kinds": []}
    known = model.SIMULATED.get((channel, ebn0_db), (None,) * 5)
    for kind, (rate, half), other in zip(model.KINDS, rates(errors), known):
        # The simulation has a similar interval, so that of the difference is wider by the root of 2.
        fits = other is None or rate <= other + math.sqrt(2) * half
        point["kinds"].append({"kind": kind, "ber": rate, "interval": half, "simulated": other, "fits": fits,
                               "bits": len(errors) * model.PAYLOAD})
    return point


def print_point(point):
    lost = "" if point["found"] == point["sent"] else f"   {point['sent'] - point['found']} packets not found"
    print(f"{point['channel']:5}{point['ebn0_db']:3} dB{lost}")
    for k in point["kinds"]:
        other = "" if k["simulated"] is None else f"{k['simulated']:12.2e}{'' if k['fits'] else '   WORSE'}"
        print(f"    {k['kind']:6}{k['ber']:10.2e} ± {k['interval']:.1e}{other}", flush=True)


def good(point):
    # At the lowest Eb/N0 of a curve a few packets may be missed.
    enough = point["found"] >= (point["sent"] if point["ebn0_db"] >= 8 else 0.98 * point["sent"])
    return enough and all(k["fits"] for k in point["kinds"])


def panels(points):
    """A panel for each channel: rates with their intervals, and marks for the simulation's rates."""
    row = []
    for channel in dict.fromkeys(p["channel"] for p in points):
        curves, marks = {}, {}
        for p in points:
            for k in p["kinds"] if p["channel"] == channel else []:
                curves.setdefault(k["kind"], []).append((p["ebn0_db"], k["ber"], k["interval"]))
                if k["simulated"] is not None:
                    marks.setdefault(k["kind"], []).append((p["ebn0_db"], k["simulated"]))
        row.append((channel.upper(), curves, marks))
    return [row]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=iqd.IQD, help="the program (build/release/iqd)")
    parser.add_argument("--backend", default="cpu", help="cpu, cuda or cuda:N (cpu)")
    parser.add_argument("--average", default="block", help="over what the frequency offset is averaged (block)")
    parser.add_argument("--packets", type=int, default=112, help="for each point (112: 688,128 bits)")
    parser.add_argument("--only", nargs="*", metavar="CHANNEL:DB", help="points, e.g. ch1:14; default: all")
    parser.add_argument("--table", action="store_true", help="only the points known from simulation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="where to write the figures")
    parser.add_argument("--plot", type=pathlib.Path, help="where to write a plot (.svg)")
    options = parser.parse_args()
    iqd.IQD = options.iqd
    points = [(c, e) for c, values in CURVES.items() for e in values if not options.table or (c, e) in model.SIMULATED]
    if options.only:
        points = [(c, int(e)) for c, e in (p.split(":") for p in options.only)]

    print(f"Bit error rate on {options.backend}, 95 % interval, rate by simulation in double precision")
    measured = []
    with tempfile.TemporaryDirectory(prefix="iqd-bench-") as folder:
        for channel, ebn0_db in points:
            measured.append(measure(channel, ebn0_db, options, pathlib.Path(folder)))
            print_point(measured[-1])
    if options.json:
        options.json.write_text(json.dumps({"backend": options.backend, "points": measured}, indent=1) + "\n")
    if options.plot:
        options.plot.write_text(svg(panels(measured), "bit error rate over Eb/N0 in dB; bars: 95 % interval; ○ simulated", least=1e-5))
    return 0 if all(good(p) for p in measured) else MISSED


if __name__ == "__main__":
    sys.exit(main())
