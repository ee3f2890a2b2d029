#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What ofdm_clock measures and leaves.

Carriers of frames with three paths are disturbed as a faster clock does, in double precision: they turn, and leak into
each other. The first table has what is left of that without noise, the second the error of the clock in noise. Prints
Markdown."""

import numpy as np

import drawn
import ofdm_model as sender
import ofdm_receive_model as standing
from exec_arrays import execute
from run import keys_of

FORMATS = (("5 MHz 2x2", sender.FIVE, 2), ("20 MHz 4x4", sender.TWENTY, 4))
MEMORY = 20


def times(f):
    """Of symbols behind the middle of the training, in symbols without prefix."""
    return (np.arange(f.symbols) - (f.tx + 1) / 2) * (f.fft + f.prefix) / f.fft


def turns(f, ppm):
    """[frame][symbol][carrier][rx], `ppm` of each frame."""
    angle = 2e-6 * np.pi * np.multiply.outer(ppm, np.multiply.outer(times(f), f.frequencies))
    return np.exp(1j * angle)[..., None]


def frames(f, rx, count, rng):
    y = []
    for _ in range(count):
        x = f.carriers_of(rng.integers(0, 2, f.bits("16qam")), "16qam")
        y.append(np.einsum("cra,sac->scr", standing.channel(f, rx, (0, f.prefix / 5, f.prefix / 3), rng), x))
    return np.array(y)


def with_clock(f, y, ppm):
    """What transforms of such frames show, if their clock is fast by `ppm`."""
    off = f.frequencies * ppm * 1e-6
    apart = f.frequencies[None, :] - f.frequencies[:, None] + off
    size = np.sinc(apart) / np.sinc(apart / f.fft)
    leak = size * np.exp(1j * np.pi * (f.fft - 1) / f.fft * (apart - off))
    return np.einsum("ck,gskr->gscr", leak, y * turns(f, np.full(len(y), ppm)))


def measure(f, y, backend, memory=1):
    return execute("ofdm_clock", {"carriers": y.astype(np.complex64)}, ["carriers", "clock"],
                   [*keys_of(f, False), f"memory={memory}"], backend)


def decibels(a, b):
    return 10 * np.log10(np.mean(abs(a - b) ** 2) / np.mean(abs(b) ** 2))


def main():
    parser = drawn.parser_of(__doc__, figures=False)
    parser.add_argument("--frames", type=int, default=200, help="in 5 MHz; an eighth of them in 20 MHz")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    sent = [frames(f, rx, max(2, options.frames // share), rng) for (_, f, rx), share in zip(FORMATS, (1, 8))]
    print("| frames | ppm | disturbed by | turned back only | ofdm_clock |\n| --- | --- | --- | --- | --- |")
    for (name, f, _), y in zip(FORMATS, sent):
        for ppm in (20, 50):
            heard = with_clock(f, y, ppm)
            out, clock = measure(f, heard, options.backend)
            only = heard * turns(f, -clock.astype(float))
            print(f"| {name} | {ppm} | {decibels(heard, y):.1f} dB | {decibels(only, y):.1f} dB | "
                  f"{decibels(out, y):.1f} dB |", flush=True)
    print(f"\n| frames | SNR | rms error at 20 ppm, a frame alone | `memory: {MEMORY}` |\n| --- | --- | --- | --- |")
    for (name, f, _), y in zip(FORMATS, sent):
        heard = with_clock(f, y, 20)
        for snr in (13, 16, 20, 26):
            noisy = heard + standing.noise(heard.shape, f.tx * 10 ** (-snr / 10), rng)
            alone, mean = (measure(f, noisy, options.backend, memory)[1] for memory in (1, MEMORY))
            rms = [np.sqrt(np.mean((clock - 20) ** 2)) for clock in (alone, mean[len(mean) // 2:])]
            print(f"| {name} | {snr} dB | {rms[0]:.2f} ppm | {rms[1]:.2f} ppm |", flush=True)


if __name__ == "__main__":
    main()
