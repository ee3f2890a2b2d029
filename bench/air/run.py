#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Words that MIMO receivers lose in air that moves and beside interferers.

Frames are made and disturbed as samples, in double precision. Channel estimators in double precision follow: `hold` is
mimo_channel_estimator's, `frame` estimates the channel at all times of a frame, `groups` also whitens the noise. iqd
detects and decodes. Prints Markdown."""

import argparse
import dataclasses
import json
import pathlib
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / "bench")]
import air_model as air
import ldpc_model as code
import ofdm_model as sender
import ofdm_receive_model as standing
import ofdm_track_model as track
from arrays import execute

CODE = "80216e_2304_1_2"
BAND = {sender.FIVE.fft: 7.68e6, sender.TWENTY.fft: 30.72e6}  # samples a second
INTERFERER = ((0, 100, 180, 260), (0, -3, -6, -9))            # delays in ns, dB


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

    def __str__(self):
        more = [f"interferer {self.interferer:g} dB"] if self.interferer is not None else []
        more += [f"tone {self.tone:g} dB"] if self.tone is not None else []
        return ", ".join([f"{self.tx}x{self.rx}", self.modulation, f"{self.snr:g} dB", f"{self.doppler:g} Hz", *more])


TABLES = {
    "moving": [Scene(2, 2, 16, 0), Scene(2, 2, 16, 30), Scene(2, 2, 16, 100), Scene(2, 2, 16, 300), Scene(2, 2, 12, 0),
               Scene(2, 2, 12, 300), Scene(2, 2, 13, 300), Scene(2, 2, 14, 300), Scene(4, 4, 16, 0), Scene(4, 4, 16, 30),
               Scene(4, 4, 16, 100), Scene(4, 4, 16, 300), Scene(4, 4, 13, 0), Scene(4, 4, 13, 300),
               Scene(4, 4, 14, 300)],
    "interferers": [Scene(2, 4, 20, 30, interferer=level) for level in (-10, -5, 0, 5, 10)],
    "tones": [Scene(2, 2, 16, 30, tone=20), Scene(2, 2, 20, 30, tone=20), Scene(2, 2, 20, 30, tone=30)],
}


def in_band(x, f):
    """Noise as wide as the carriers in use, of the same power."""
    y = np.fft.fft(x)
    y[:, abs(np.fft.fftfreq(x.shape[1])) * f.fft > f.carriers / 2] = 0
    return np.fft.ifft(y) * np.sqrt(f.fft / f.carriers)


def received(scene, f, samples, rng):
    """The samples of one frame, [rx][n]. A carrier's power is `tx` at a receive antenna."""
    rate, edge = BAND[f.fft], f.prefix * 4
    moving = air.Air(rate, scene.doppler)
    y = moving.carry(np.pad(samples, ((0, 0), (edge, edge))), scene.rx, rng)
    if scene.interferer is not None:
        power = scene.tx * 10 ** (scene.interferer / 10)
        other = in_band(standing.noise((1, y.shape[1]), power, rng), f)
        y += dataclasses.replace(moving, profile=INTERFERER).carry(other, scene.rx, rng)
    y = y[:, edge:edge + f.frame]
    if scene.tone is not None:  # between two carriers
        at = rng.integers(-f.carriers // 3, f.carriers // 3) + 0.5
        gains = np.sqrt(scene.tx / f.carriers) * 10 ** (scene.tone / 20) * np.exp(2j * np.pi * rng.random(scene.rx))
        y = y + gains[:, None] * np.exp(2j * np.pi * at * np.arange(f.frame) / f.fft)
    return y + standing.noise(y.shape, scene.tx * 10 ** (-scene.snr / 10) * f.fft / f.carriers, rng)


class Receivers:
    """The estimators of one format: carriers [symbol][c][r] to y [i][d][r], h [i][d][r][a], noise [i][d]."""

    def __init__(self, f):
        self.f = f
        self.smoother = standing.smoother(f)
        self.tracker = track.Tracker(f, BAND[f.fft])

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


def words_lost(options, scene, frames, information, folder):
    """The share of the words of all frames that are not what was sent."""
    y, h, noise = (np.array(parts) for parts in zip(*frames))
    llr, = execute(options, "mtt_detector", [f"modulation={scene.modulation}", f"lists={options.lists}"],
                  {"y": y.reshape(-1, scene.rx).astype(np.complex64),
                   "h": h.reshape(-1, scene.rx, scene.tx).astype(np.complex64),
                   "noise": noise.reshape(-1).astype(np.float32)}, ["llr"], folder)
    llr = llr.reshape(len(y), -1)
    count = llr.shape[1] // code.N
    words = llr[:, :count * code.N].reshape(len(y), code.N, count).transpose(0, 2, 1).reshape(-1, code.N)
    bits, = execute(options, "ldpc_decoder", [], {"llr": words}, ["bits"], folder)
    return float((bits.reshape(-1, code.K) != information.reshape(-1, code.K)).any(1).mean())


def measure(options, scene, folder):
    f = dataclasses.replace(sender.FIVE, tx=scene.tx)
    rng = np.random.default_rng([options.seed, *str(scene).encode()])
    size = f.information_bits(scene.modulation, CODE)
    information = rng.integers(0, 2, (-(-options.words * code.K // size), size)).astype(np.uint8)
    carriers = [standing.demodulate(received(scene, f, f.frame_of(bits, scene.modulation, CODE), rng)[None], f)[0]
                for bits in information]
    receivers = Receivers(f)
    return {name: words_lost(options, scene, [getattr(receivers, name)(y) for y in carriers], information, folder)
            for name in ("hold", "frame", "groups")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=200, help="of a row, rounded up to whole frames")
    parser.add_argument("--only", choices=TABLES, help="one table")
    parser.add_argument("--lists", choices=("own", "pooled"), default="pooled", help="of mtt_detector")
    parser.add_argument("--backend", default="cpu", help="of the detector and the decoder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    options = parser.parse_args()
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for table in [options.only] if options.only else TABLES:
            print(f"\n### {table}\n\n| scene | hold | frame | groups |\n| --- | --- | --- | --- |")
            for scene in TABLES[table]:
                rows[str(scene)] = rates = measure(options, scene, pathlib.Path(folder))
                print(f"| {scene} | " + " | ".join(f"{rate:.3f}" for rate in rates.values()) + " |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
