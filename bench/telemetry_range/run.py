#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Bit error rates of the telemetry receiver whose equalizer follows the channel, by channel, Eb/N0 and motion.

The tests' model makes recordings, and the real `iqd run` decodes each with every kind of `track`. Exits with 3 if a
rate is worse than in a simulation, or if packets were not found.
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
import range_track_model as track
import telemetry_model as model
from packet_errors import decode, errors_of, rates

MISSED = 3


def make_recording(point, sent, rng):
    """As from a radio: with random gain, offset and phase."""
    x = np.concatenate([np.zeros(model.GUARD), model.transmit(sent), np.zeros(600)])
    if point["hz"] is None:
        x = model.through(x, point["channel"])
    else:
        x = track.through_moving(x, point["channel"], point["hz"])
    x = x * np.exp(1j * (rng.uniform(-0.05, 0.05) * np.arange(len(x)) + rng.uniform(-np.pi, np.pi)))
    x = x + model.noise(len(x), point["ebn0_db"], rng)
    return (10 ** rng.uniform(-1, 1) * x).astype(np.complex64)


def known_rates(point):
    """By simulation, of fde1: {track: rate}."""
    place = point["channel"], point["ebn0_db"]
    if point["hz"] is None:
        return dict(zip(("off", "refine"), track.REFINED.get(place, ())))
    return dict(zip(("off", "on"), track.MOVING.get(place, {}).get(point["hz"], ())))


def measure(point, options, folder):
    """Adds the rates of each kind of `track` to the point: {track: [of each kind]}."""
    place = [options.seed, list(model.RAYS).index(point["channel"]), point["ebn0_db"]]
    rng = np.random.default_rng(place if point["hz"] is None else [*place, point["hz"]])
    sent = rng.integers(0, 2, (point["packets"], model.PAYLOAD)).astype(np.uint8)
    x = make_recording(point, sent, rng)
    known = known_rates(point)
    kinds = model.KINDS if point["hz"] is None else ("fde1",)
    point |= {"found": len(sent), "tracks": {}}
    for way in point.pop("ways"):
        keys = f"{{kinds: [{', '.join(kinds)}], track: {way}}}"
        errors = errors_of(*decode(x, keys, folder, options.backend), sent)
        if len(errors) < 2:
            sys.exit(f"{title(point)}: {len(errors)} of {len(sent)} packets were found")
        point["found"] = min(point["found"], len(errors))
        point["tracks"][way] = [
            {"kind": kind, "ber": rate, "interval": half, **compared(rate, half, known.get(way), kind)}
            for kind, (rate, half) in zip(kinds, rates(errors))]
    return point


def compared(rate, half, other, kind):
    # The simulation has fewer packets: its interval is at least twice as wide.
    if kind != "fde1" or other is None:
        return {"simulated": None, "fits": True}
    return {"simulated": other, "fits": rate <= other + math.sqrt(5) * half}


def title(point):
    moving = "" if point["hz"] is None else f", second ray {point['hz']} Hz"
    return f"{point['channel']}, {point['ebn0_db']} dB{moving}"


def print_point(point):
    lost = point["packets"] - point["found"]
    print(title(point) + (f"   {lost} packets not found" if lost else ""))
    for way, kinds in point["tracks"].items():
        for k in kinds:
            other = "" if k["simulated"] is None else f"{k['simulated']:12.2e}{'' if k['fits'] else '   WORSE'}"
            print(f"    {way:8}{k['kind']:6}{k['ber']:10.2e} ± {k['interval']:.1e}{other}", flush=True)


def good(point):
    # A null of the whole band hides packets; noise of a few dB does, too.
    enough = point["found"] >= (0.98 if point["hz"] is None else 0.75) * point["packets"]
    return enough and all(k["fits"] for kinds in point["tracks"].values() for k in kinds)


def points_of(options):
    still = [{"channel": c, "ebn0_db": e, "hz": None, "packets": options.packets, "ways": ("off", "refine")}
             for c, e in track.REFINED]
    moving = [{"channel": c, "ebn0_db": e, "hz": hz, "packets": options.packets // 4, "ways": ("off", "refine", "on")}
              for (c, e), rays in track.MOVING.items() for hz in rays]
    return {"still": still, "moving": moving}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=iqd.IQD, help="the program (build/release/iqd)")
    parser.add_argument("--backend", default="cpu", help="cpu, cuda or cuda:N (cpu)")
    parser.add_argument("--packets", type=int, default=128,
                        help="for each point; a quarter of them where a ray moves (128: 786,432 bits)")
    parser.add_argument("--table", choices=("still", "moving"), nargs="*", default=["still", "moving"],
                        help="channels that stand still, and those that move (both)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="where to write the figures")
    options = parser.parse_args()
    iqd.IQD = options.iqd
    print(f"Bit error rate on {options.backend}, 95 % interval, rate by simulation in double precision")
    measured = []
    with tempfile.TemporaryDirectory(prefix="iqd-bench-") as folder:
        for point in [p for table in options.table for p in points_of(options)[table]]:
            measured.append(measure(point, options, pathlib.Path(folder)))
            print_point(measured[-1])
    if options.json:
        options.json.write_text(json.dumps({"backend": options.backend, "points": measured}, indent=1) + "\n")
    return 0 if all(good(p) for p in measured) else MISSED


if __name__ == "__main__":
    sys.exit(main())
