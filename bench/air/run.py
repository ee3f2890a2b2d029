#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Words that MIMO receivers lose in air that moves and beside interferers.

Frames are made and disturbed as samples, in double precision. iqd estimates, detects and decodes: `hold` is
mimo_channel_estimator with its defaults, `frame` with `track: frame`, `groups` with `whiten: groups` as well. `second`
and `third` go through the chain again: the estimator gets the decoder's `posterior` as `soft`, the detector its
`extrinsic` as `prior`. Table `known` compares `track: frame` alone, with `tail: true` and with midambles, with a first
and a second pass each, without a `prior`, so that the channel alone gets better. With --model, estimators in double
precision take the place of the stage, and there is one pass.
Prints Markdown."""

import argparse
import dataclasses
import json
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "bench")]
import air_model as air
import ldpc_model as code
import ofdm_model as sender
import ofdm_receive_model as standing
import ofdm_track_model as track
from exec_arrays import execute

CODE = "80216e_2304_1_2"
BAND = {sender.FIVE.fft: 7.68e6, sender.TWENTY.fft: 30.72e6}  # samples a second


@dataclasses.dataclass(frozen=True)
class Scene:
    """What one row of a table is measured in."""
    tx: int
    rx: int
    snr: float                       # dB, of a receive antenna
    doppler: float                   # Hz
    interferer: float | None = None  # dB above the signal
    tone: float | None = None        # dB above a carrier
    modulation: str = "16qam"
    midambles: int = 0
    tail: bool = False

    def __str__(self):
        more = [f"interferer {self.interferer:g} dB"] if self.interferer is not None else []
        more += [f"tone {self.tone:g} dB"] if self.tone is not None else []
        more += [f"{self.midambles} midamble"] if self.midambles else []
        more += ["tail"] if self.tail else []
        return ", ".join([f"{self.tx}x{self.rx}", self.modulation, f"{self.snr:g} dB", f"{self.doppler:g} Hz", *more])


TABLES = {
    "moving": [Scene(2, 2, 16, 0), Scene(2, 2, 16, 30), Scene(2, 2, 16, 100), Scene(2, 2, 16, 300), Scene(2, 2, 12, 0),
               Scene(2, 2, 12, 300), Scene(2, 2, 13, 300), Scene(2, 2, 14, 300), Scene(4, 4, 16, 0), Scene(4, 4, 16, 30),
               Scene(4, 4, 16, 100), Scene(4, 4, 16, 300), Scene(4, 4, 13, 0), Scene(4, 4, 13, 300),
               Scene(4, 4, 14, 300)],
    "interferers": [Scene(2, 4, 20, 30, interferer=level) for level in (-10, -5, 0, 5, 10)],
    "known": [Scene(tx, tx, snr, doppler) for tx, levels in ((2, (12, 13, 14)), (4, (13, 14, 16))) for snr in levels
              for doppler in (0, 300)],
    "tones": [Scene(2, 2, 16, 30, tone=20), Scene(2, 2, 20, 30, tone=20), Scene(2, 2, 20, 30, tone=30)],
}


class Models:
    """Estimators in double precision: carriers [symbol][c][r] to y [i][d][r], h [i][d][r][a], noise [i][d]."""

    def __init__(self, f, scene):
        self.f = f
        self.smoother = standing.smoother(f)
        self.tracker = track.Tracker(f, BAND[f.fft], tail=scene.tail)

    def hold(self, carriers):
        y, h, noise, _ = standing.estimate_frame(carriers, self.f, self.smoother)
        return y, np.repeat(h[:, None], y.shape[1], 1), np.full(y.shape[:2], noise)

    def frame(self, carriers):
        return self._tracked(carriers, "off")

    def groups(self, carriers):
        return self._tracked(carriers, "groups")

    def _tracked(self, carriers, whiten):
        found = track.estimate_frame(carriers, self.f, self.tracker, whiten)
        return found.y, found.h, found.noise


WAYS = {"hold": [], "frame": ["track=frame"], "groups": ["track=frame", "whiten=groups"]}
PASSES = ("second", "third")
KNOWN = {"pilots": {}, "+ tail": {"tail": True}, "midamble 1": {"midambles": 1}, "midambles 2": {"midambles": 2}}


def estimated(options, scene, f, way, carriers, soft=None):
    """y, h and noise of frames."""
    if options.model:
        models = Models(f, scene)
        return [np.array(parts) for parts in zip(*[getattr(models, way)(y) for y in carriers])]
    inputs = {"carriers": np.array(carriers, np.complex64)}
    if soft is not None:
        inputs["soft"] = soft
    keys = [f"tx={scene.tx}", f"midambles={scene.midambles}", *(["tail=true"] if scene.tail else []), *WAYS[way]]
    return execute("mimo_channel_estimator", inputs, ["y", "h", "noise"], keys, options.backend, BAND[f.fft])


def decoded(options, scene, y, h, noise, prior=None):
    """bits, posterior and extrinsic of frames."""
    inputs = {"y": y.reshape(-1, scene.rx).astype(np.complex64),
              "h": h.reshape(-1, scene.rx, scene.tx).astype(np.complex64),
              "noise": noise.reshape(-1).astype(np.float32)}
    if prior is not None:
        inputs["prior"] = prior.reshape(-1, *prior.shape[-2:])
    keys = [f"modulation={scene.modulation}"] + ([f"lists={options.lists}"] if options.detector == "mtt" else [])
    llr, = execute(f"{options.detector}_detector", inputs, ["llr"], keys, options.backend)
    return execute("ldpc_decoder", {"llr": llr.reshape(*y.shape[:3], *llr.shape[-2:])},
                   ["bits", "posterior", "extrinsic"], ["interleave=frame"], options.backend)


def words_lost(bits, information):
    """The share of the words of all frames that are not what was sent."""
    return float((bits.reshape(-1, code.K) != information.reshape(-1, code.K)).any(1).mean())


def received(options, scene, f, air_of=None):
    """Information bits of frames, and their carriers [symbol][c][r]. `air_of`: the scene that the air is of."""
    rng = np.random.default_rng([options.seed, *str(scene).encode()])
    size = f.information_bits(scene.modulation, CODE)
    information = rng.integers(0, 2, (-(-options.words * code.K // size), size)).astype(np.uint8)
    carriers = []
    for i, bits in enumerate(information):
        if air_of is not None:
            rng = np.random.default_rng([options.seed, i, *str(air_of).encode()])
        sent = f.frame_of(bits, scene.modulation, CODE)
        if scene.tail:  # the next frame's beginning is the same
            sent = np.concatenate([sent, sent[:, :standing.tail_samples(f)]], axis=1)
        heard = air.ofdm_frame(sent, f, BAND[f.fft], scene.rx, rng, scene.doppler, scene.snr, scene.interferer,
                               scene.tone)
        carriers.append(standing.demodulate(heard[None], f, scene.tail)[0])
    return information, carriers


def format_of(scene):
    return dataclasses.replace(sender.FIVE, tx=scene.tx, midambles=scene.midambles)


def measure(options, scene):
    f = format_of(scene)
    information, carriers = received(options, scene, f)
    rates = {}
    for way in WAYS:
        bits, posterior, extrinsic = decoded(options, scene, *estimated(options, scene, f, way, carriers))
        rates[way] = words_lost(bits, information)
    for again in () if options.model else PASSES:
        parts = estimated(options, scene, f, "groups", carriers, posterior)
        bits, posterior, extrinsic = decoded(options, scene, *parts, extrinsic)
        rates[again] = words_lost(bits, information)
    return rates


def measure_known(options, scene):
    """With different known symbols, in the same air."""
    rates = {}
    for name, keys in KNOWN.items():
        own = dataclasses.replace(scene, **keys)
        f = format_of(own)
        information, carriers = received(options, own, f, scene)
        bits, posterior, _ = decoded(options, own, *estimated(options, own, f, "frame", carriers))
        rates[name] = words_lost(bits, information)
        if options.model:
            continue
        bits, _, _ = decoded(options, own, *estimated(options, own, f, "frame", carriers, posterior))
        rates[f"{name}, second"] = words_lost(bits, information)
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=200, help="of a row, rounded up to whole frames")
    parser.add_argument("--only", choices=TABLES, help="one table")
    parser.add_argument("--lists", choices=("own", "pooled"), default="pooled", help="of mtt_detector")
    parser.add_argument("--detector", choices=("mtt", "kbest", "lmmse"), default="mtt")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--model", action="store_true", help="estimate in double precision")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    options = parser.parse_args()
    rows = {}
    for table in [options.only] if options.only else TABLES:
        ways = [*WAYS, *(() if options.model else PASSES)]
        if table == "known":
            again = ("",) if options.model else ("", ", second")
            ways = [name + more for name in KNOWN for more in again]
        print(f"\n### {table}\n\n| scene | {' | '.join(ways)} |\n|{' --- |' * (len(ways) + 1)}")
        for scene in TABLES[table]:
            of_known = table == "known"
            rates = (measure_known if of_known else measure)(options, scene)
            rows[f"known: {scene}" if of_known else str(scene)] = rates
            print(f"| {scene} | " + " | ".join(f"{rate:.3f}" for rate in rates.values()) + " |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
