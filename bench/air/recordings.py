#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Words of recordings that the whole receiver loses, from samples to bits; and what iq_correct leaves of an image.

A recording has four frames behind each other in one channel. `by default` is ofdm_sync, ofdm_demod,
mimo_channel_estimator, mtt_detector and ldpc_decoder; `all` has iq_correct, ofdm_clock and the keys `reject_tones`,
`track: frame` and `whiten: groups` as well. Words of a frame that is not found are lost. Prints Markdown. In brackets:
as simulated in double precision, one recording."""

import dataclasses

import numpy as np

import drawn
import air_model as air
import ldpc_model as code
import ofdm_model as sender
import ofdm_receive_model as standing
from exec_arrays import execute
from run import BAND, CODE, Scene, keys_of

FRAMES, EDGE = 4, 2000
FLAWS = {"gain": 1.0, "phase": 5.0, "constant": -15.0, "line": 5.0}
# A scene, offset in Hz, flaws of the radio, the simulation's words lost by default and with everything.
ROWS = [
    (Scene(2, 2, 20, 0), 0, None, 0, None),
    (Scene(2, 2, 20, 100), 0, None, .25, None),
    (Scene(2, 2, 20, 300), 0, None, 1, None),
    (Scene(2, 4, 20, 30, interferer=0), 0, None, 1, None),
    (Scene(2, 2, 16, 30, tone=20), 0, None, 1, None),
    (Scene(2, 2, 20, 30, tone=30), 0, None, 1, None),
    (Scene(4, 4, 26, 0, modulation="64qam", band=sender.TWENTY, ppm=20), 0, None, 337 / 432, None),
    (Scene(2, 2, 25, 30, ppm=20), 4000, FLAWS, 0, 0),
]
# Frames of samples → image in dB, of the best and the worst draw of the simulation.
IMAGES = {1: "-34 to -50", 4: "-43 to -49", 24: "-48 or better"}
OFFSETS = (0, 4000)  # Hz


def flawed(x, rate, rng, gain, phase, constant=None, line=0.0):
    """[r][n]: I and Q that differ by `gain` dB and `phase` degrees, a constant in dB of the signal's power, and an
    oscillator whose line is `line` Hz wide."""
    turn = np.cumsum(rng.standard_normal(x.shape[1])) * np.sqrt(2 * np.pi * line / rate)
    x = x * np.exp(1j * turn)
    angle = np.deg2rad(phase)
    y = x.real + 1j * 10 ** (-gain / 20) * (np.cos(angle) * x.imag + np.sin(angle) * x.real)
    if constant is not None:
        y += np.sqrt(np.mean(abs(x) ** 2) * 10 ** (constant / 10)) * np.exp(2j * np.pi * rng.random((len(x), 1)))
    return y


def recording(scene, offset, flaws, rng):
    """[r][n]"""
    f, rate = scene.format, BAND[scene.band.fft]
    sent = np.pad(f.frames(FRAMES, scene.modulation, CODE), ((0, 0), (EDGE, EDGE)))
    y = air.ofdm_frame(sent, f, rate, scene.rx, rng, scene.doppler, scene.snr, scene.interferer, scene.tone,
                       scene.moves, ppm=scene.ppm)
    y *= np.exp(2j * np.pi * offset / rate * np.arange(y.shape[1]))
    return flawed(y, rate, rng, **flaws) if flaws else y


def received(scene, y, everything, backend):
    """Words lost of each frame that was sent, and how many were found."""
    f, rate = scene.format, BAND[scene.band.fft]
    keys = keys_of(f, False)
    y = y.astype(np.complex64)
    if everything:
        y, = execute("iq_correct", {"in": y}, ["out"], [], backend, rate)
    frames, start = execute("ofdm_sync", {"in": y}, ["frames", "start"],
                            [*keys, f"reject_tones={str(everything).lower()}"], backend, rate)
    words = f.information_bits(scene.modulation, CODE) // code.K
    lost = np.full(FRAMES, words)
    number = np.round((start - EDGE) / f.frame).astype(int)
    if not (there := (abs(start - EDGE - number * f.frame) <= f.prefix) & (number >= 0) & (number < FRAMES)).any():
        return lost, 0
    carriers, = execute("ofdm_demod", {"frames": frames}, ["carriers"], keys, backend, rate)
    if everything:
        carriers, = execute("ofdm_clock", {"carriers": carriers}, ["carriers"], [*keys, "memory=20"], backend, rate)
    y, h, noise = execute("mimo_channel_estimator", {"carriers": carriers}, ["y", "h", "noise"],
                          [*keys, *(["track=frame", "whiten=groups"] if everything else [])], backend, rate)
    inputs = {"y": y.reshape(-1, scene.rx), "h": h.reshape(-1, scene.rx, scene.tx), "noise": noise.reshape(-1)}
    llr, = execute("mtt_detector", inputs, ["llr"], [f"modulation={scene.modulation}", "lists=pooled"], backend)
    bits, = execute("ldpc_decoder", {"llr": llr.reshape(*y.shape[:3], *llr.shape[-2:])}, ["bits"],
                    ["interleave=frame"], backend)
    sent = sender.pn(23, np.arange(FRAMES * words * code.K)).reshape(FRAMES, words, code.K)
    for at, own in zip(number[there], bits.reshape(len(start), words, code.K)[there]):
        lost[at] = (own != sent[at]).any(1).sum()
    return lost, there.sum()


def image(frames, offset, rng, backend):
    """dB that are left of 1 dB and 5 degrees, of one block."""
    scene = Scene(2, 2, 25, 30)
    f, rate = scene.format, BAND[scene.band.fft]
    x = air.ofdm_frame(np.concatenate([f.frame_of(rng.integers(0, 2, f.information_bits("16qam", CODE)), "16qam", CODE)
                                       for _ in range(frames)], axis=1), f, rate, 2, rng, 30, 25)
    x *= np.exp(2j * np.pi * offset / rate * np.arange(x.shape[1]))
    y, = execute("iq_correct", {"in": flawed(x, rate, rng, 1, 5).astype(np.complex64)}, ["out"], ["period=0"], backend,
                 rate)
    both = [np.linalg.lstsq(np.stack([own, own.conj()], 1), out, rcond=None)[0] for own, out in zip(x, y)]
    return [20 * np.log10(abs(b / a)) for a, b in both]


def draw_recordings(options):
    sheet = drawn.Sheet()
    sheet.head("recordings", ["scene", "frames", "found by default", "by all", "words", "lost by default", "by all"])
    for scene, offset, flaws, default, everything in ROWS:
        lost, found = {False: [], True: []}, {False: 0, True: 0}
        count = options.recordings // (4 if scene.band == sender.TWENTY else 1)
        for i in range(count):
            y = recording(scene, offset, flaws, np.random.default_rng([options.seed, i, *str(scene).encode()]))
            for keys, of_recordings in lost.items():
                words, frames = received(scene, y, keys, options.backend)
                of_recordings.append(words.sum())
                found[keys] += frames
        words = FRAMES * scene.format.information_bits(scene.modulation, CODE) // code.K
        figures = {column: drawn.Share(np.array(lost[keys]), words)
                   for column, keys in (("by default", False), ("all", True))}
        name = f"{scene}{f', {offset} Hz off, cheap radio' if flaws else ''}"
        sheet.row(name, figures, {"by default": default, "all": everything}, 1,
                  [count * FRAMES, found[False], found[True], count * words])
    sheet.finish(options.json)


def draw_images(options):
    print("\n### image\n\n| frames | offset | image left, dB: median, worst | simulated |\n| --- | --- | --- | --- |")
    rng = np.random.default_rng(options.seed)
    for offset in OFFSETS:
        for frames, simulated in IMAGES.items():
            left = np.concatenate([image(frames, offset, rng, options.backend) for _ in range(options.draws // 2)])
            print(f"| {frames} | {offset} Hz | {np.median(left):.1f}, {left.max():.1f} | {simulated} |", flush=True)


TABLES = {"recordings": draw_recordings, "image": draw_images}


def main():
    parser = drawn.parser_of(__doc__)
    parser.add_argument("--recordings", type=int, default=16, help="of a row; a quarter of them in 20 MHz")
    parser.add_argument("--draws", type=int, default=40, help="of an image")
    parser.add_argument("--only", choices=TABLES, help="one table")
    options = parser.parse_args()
    for name, draw in TABLES.items():
        if options.only in (None, name):
            draw(options)


if __name__ == "__main__":
    main()
