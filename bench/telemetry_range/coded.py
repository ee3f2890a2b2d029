#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Words of the codes of IRIG 106 that are lost in SOQPSK-TG packets. Prints Markdown.

`iqd exec` encodes random bits, the tests' model sends them, and `iqd exec` receives them. Exits with 3 if a share is
further from that of the simulation than both counts explain, by four standard deviations, or if a decoded word that
counts as right is wrong."""

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
import telemetry_model as model
from exec_arrays import execute

MISSED = 3
AT_ONCE = 96  # packets of a recording, a multiple of those over which the frequency offset is averaged


@dataclasses.dataclass(frozen=True)
class Case:
    code: str
    channel: str
    k: int
    n: int
    payload: int
    simulated: dict  # track → Eb/N0 of an information bit → share lost; 16 packets

    @property
    def words(self):
        return self.payload // self.n

    @property
    def title(self):
        return f"{self.code} {self.channel}"


CASES = [
    Case("irig_4096_2_3", "awgn", 4096, 6144, 6144,
         {"off": {3.5: .69, 4.0: .19, 4.5: 0}, "refine": {3.0: .50, 3.5: .06, 4.0: 0}}),
    Case("irig_1024_1_2", "awgn", 1024, 2048, 6144,
         {"off": {3.0: .35, 3.5: .15, 4.0: .02, 4.5: .02}, "refine": {2.5: .31, 3.0: .06, 3.5: .02, 4.0: 0}}),
    Case("irig_1024_2_3", "awgn", 1024, 1536, 6144,
         {"off": {3.5: .39, 4.0: .14, 4.5: .05, 5.0: 0}, "refine": {3.0: .48, 3.5: .08, 4.0: 0}}),
    Case("irig_4096_2_3", "ch3", 4096, 6144, 6144,
         {"off": {6.0: .50, 6.5: .06, 7.0: .06, 7.5: 0}, "refine": {5.5: .19, 6.0: 0}}),
    Case("irig_4096_4_5", "awgn", 4096, 5120, 5120, {"off": {4.5: .06, 5.0: 0}}),
]


def receive(x, case, options, together):
    """(starts, bits [packet][word][k], failed [packet][word])"""
    packet = 2 * (len(model.PILOT) + case.payload)
    size = f"{{payload_bits: {case.payload}}}"
    track = "" if options.track == "off" else f", track: {options.track}"
    with tempfile.TemporaryDirectory(prefix="iqd-bench-") as name:
        folder = pathlib.Path(name)
        np.save(folder / "samples.npy", x.astype(np.complex64))
        done = iqd.command(
            "exec", f"preamble_search: {size}", f"packet_estimator: {size}",
            f"equalizer: {{payload_bits: {case.payload}, kinds: [fde1]{track}}}", f"soqpsk_detector: {size}",
            f"ldpc_decoder: {{from: soqpsk_detector.llr, code: {case.code}, randomize: ccsds}}",
            folder / "samples.npy", folder / "bits.npy", "--port", "ldpc_decoder.bits",
            "--port", f"ldpc_decoder.failed={folder / 'failed.npy'}", "--rate", model.RATE,
            "--block", together * packet, "--backend", options.backend, timeout=3600)
        if done.returncode:
            sys.exit(done.stderr)
        facts = np.load(folder / "bits.facts.npy")
        return (facts["start"], np.load(folder / "bits.npy").reshape(-1, case.words, case.k),
                np.load(folder / "failed.npy").reshape(-1, case.words))


def lost(case, ebn0_db, packets, options, together, rng):
    """Of each packet the share of its words that are lost, NaN if it was not found; and words that are wrong unseen."""
    sent = rng.integers(0, 2, (packets * case.words, case.k)).astype(np.uint8)
    words, = execute("ldpc_encoder", {"bits": sent}, ["words"], (f"code={case.code}", "randomize=ccsds"))
    sent = sent.reshape(packets, case.words, case.k)
    of_sent_bit = ebn0_db + 10 * math.log10(case.k / case.n)
    x = model.recording(words.reshape(packets, case.payload), case.channel, of_sent_bit, w=rng.uniform(-0.05, 0.05),
                        phase=rng.uniform(-np.pi, np.pi), lead=model.GUARD, rng=rng)
    starts, bits, failed = receive(10 ** rng.uniform(-1, 1) * x, case, options, together)
    packet = 2 * (len(model.PILOT) + case.payload)
    at = np.clip(np.rint((starts - model.GUARD) / packet).astype(int), 0, packets - 1)
    right = abs(starts - model.GUARD - at * packet) <= 4
    wrong = np.any(bits[right] != sent[at[right]], axis=2)
    share = np.full(packets, np.nan)
    share[at[right]] = wrong.mean(1)
    return share, int(np.sum(wrong & (failed[right] == 0)))


def measure(case, ebn0_db, together, options):
    rng = np.random.default_rng([options.seed, *case.title.encode(), round(100 * ebn0_db)])
    shares, unseen, left = [], 0, options.packets
    while left > 0:
        share, wrong = lost(case, ebn0_db, min(left, AT_ONCE), options, together, rng)
        shares.append(share)
        unseen += wrong
        left -= len(share)
    shares = np.concatenate(shares)
    # Packets whose offset is averaged together are lost together.
    groups = np.array([np.nanmean(g) for g in np.array_split(shares, max(1, len(shares) // together))])
    return {"lost": float(np.nanmean(shares)), "deviation": float(groups.std()), "groups": len(groups),
            "unseen": unseen, "packets": len(shares), "found": int(np.sum(~np.isnan(shares)))}


def fits(point, rate, case):
    """The simulation's share is that of one group."""
    of_words = math.sqrt(max(point["lost"] * (1 - point["lost"]), rate * (1 - rate), 1 / 16) / (16 * case.words))
    return abs(point["lost"] - rate) <= 4 * max(point["deviation"], of_words) * math.sqrt(1 + 1 / point["groups"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iqd", default=iqd.IQD, help="the program (build/release/iqd)")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--packets", type=int, default=192, help="of a point, a multiple of 48")
    parser.add_argument("--together", type=int, nargs="+", default=[16, 48], choices=[16, 48],
                        help="packets over which the frequency offset is averaged; one column each")
    parser.add_argument("--track", default="off", help="the equalizer's key `track`")
    parser.add_argument("--only", default="", help="cases whose title contains this, as 4096_2_3 awgn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    options = parser.parse_args()
    iqd.IQD = options.iqd

    print(f"Words lost, {options.packets} packets a point; Eb/N0 of an information bit\n")
    print("| code | channel | Eb/N0, dB | " + " | ".join(f"offset of {t} packets" for t in options.together)
          + " | simulated | packets not found |")
    print("| --- | --- | --- |" + " --- |" * (len(options.together) + 2))
    results, missed = [], []
    for case in CASES:
        if options.only not in case.title:
            continue
        for ebn0_db, rate in case.simulated.get(options.track, {}).items():
            points = [measure(case, ebn0_db, together, options) for together in options.together]
            print(f"| {case.code} | {case.channel} | {ebn0_db:g} | " + " | ".join(f"{p['lost']:.3f}" for p in points)
                  + f" | {rate:g} | {points[0]['packets'] - points[0]['found']} |", flush=True)
            for together, point in zip(options.together, points):
                where = f"{case.title} at {ebn0_db:g} dB, {together} packets together"
                results.append({"code": case.code, "channel": case.channel, "ebn0_db": ebn0_db, "together": together, **point})
                if point["unseen"]:
                    missed.append(f"{where}: {point['unseen']} words are wrong and count as right")
                if together == 16 and not fits(point, rate, case):
                    missed.append(f"{where}: {point['lost']:.3f} of the words are lost, simulated {rate:g}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for line in missed:
        print(line, file=sys.stderr)
    return MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
