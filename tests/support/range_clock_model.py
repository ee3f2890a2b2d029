# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The error of a transmitter's clock within a telemetry packet, in double precision: estimate and correction.

With an error e, sample n of a packet was taken at n (1 + e) of the transmitter's samples. Windows are those of
telemetry_model, derotated: [packet][13184], r(n) is window[256 + n]. Errors are fractions: 1e-6 is 1 ppm.
"""

import functools

import numpy as np

import telemetry_model as model

FIRST, SEGMENT, SEGMENTS, FEWEST = 192, 512, 24, 4  # samples, samples, and segments
LIMIT, STEP, SURE = 150e-6, 0.2e-6, 0.7
MIDDLE = 198  # of the pilot's samples that the channel is estimated from: there the slip is 0
TAPS, PHASES, BETA = np.arange(-3, 5), 128, 6.0
GRID = np.arange(-round(LIMIT / STEP), round(LIMIT / STEP) + 1) * STEP


@functools.cache
def band_pass():
    m = np.arange(-10, 11)
    return 0.2 * np.sqrt(np.pi) * np.cos(np.pi * m / 4) * np.exp(-(np.pi * m / 10) ** 2)


def products(r):
    """W [packet][segment]"""
    z = np.array([np.convolve(one, band_pass(), "same") for one in r])[:, model.GUARD:model.GUARD + model.SAMPLES]
    count = min(SEGMENTS, (model.SAMPLES - FIRST) // SEGMENT)
    squares = z[:, FIRST:FIRST + SEGMENT * count] ** 2
    turn = np.tile([1, -1j, -1, 1j], SEGMENT * count // 4)
    above, below = ((squares * t).reshape(len(r), count, SEGMENT).sum(2) for t in (turn, turn.conj()))
    return above * below.conj()


def powers(w):
    """|sum over segments|^2 [packet][GRID]"""
    t = SEGMENT * (np.arange(w.shape[1]) - (w.shape[1] - 1) / 2)
    return abs(w @ np.exp(-1j * np.pi * np.outer(t, GRID))) ** 2


def largest(power):
    """The place of the largest, moved by the parabola through it and its neighbours."""
    k = int(power.argmax())
    if k in (0, len(power) - 1):
        return GRID[k]
    a, b, c = np.sqrt(power[k - 1:k + 2])
    return GRID[k] + STEP * 0.5 * (a - c) / (a - 2 * b + c)


def estimate(r, over="packet"):
    """(e [packet], quality [packet])"""
    w = products(r)
    power, most = powers(w), abs(w).sum(1) ** 2
    if over == "block":
        power, most = (np.tile(x.sum(0), (len(r),) + (1,) * (x.ndim - 1)) for x in (power, most))
    with np.errstate(invalid="ignore", divide="ignore"):
        quality = np.where(most > 0, np.sqrt(power.max(1) / most), 0)
    found = np.array([largest(p) if q >= SURE else 0.0 for p, q in zip(power, quality)])
    return found, quality


@functools.cache
def table():
    """[phase 0 … 128][tap]: x(floor + fraction) is the sum over taps of these and x(floor - 3 … floor + 4)."""
    at = TAPS - np.arange(PHASES + 1)[:, None] / PHASES
    h = np.sinc(at) * np.i0(BETA * np.sqrt(np.maximum(0, 1 - (at / 4) ** 2)))
    return h / h.sum(1, keepdims=True)


def warp(r, e):
    """x(i) = r(i - e (i - n0)): what the transmitter's clock would have seen. Zero outside the window."""
    margin = int(np.ceil(abs(e).max(initial=0) * r.shape[1])) + 8
    i = np.arange(r.shape[1]) - model.GUARD
    out = np.empty(r.shape, complex)
    for one, error, y in zip(r, e, out):
        place = i - error * (i - MIDDLE)
        whole = np.floor(place).astype(int)
        phase = (place - whole) * PHASES
        k = np.minimum(phase.astype(int), PHASES - 1)
        taps = table()[k] + (phase - k)[:, None] * (table()[k + 1] - table()[k])
        padded = np.concatenate([np.zeros(margin), one, np.zeros(margin)])
        y[:] = np.sum(taps * padded[whole[:, None] + model.GUARD + margin + TAPS], axis=1)
    return out


def skewed(x, e):
    """A stream sampled with the error e: x(n (1 + e)), to 1e-5 up to 0.3 of the rate."""
    half, beta = 24, 8.0
    place = np.arange(int(len(x) / (1 + abs(e)))) * (1 + e)
    whole = np.floor(place).astype(int)
    at = np.arange(1 - half, half + 1) - (place - whole)[:, None]
    h = np.sinc(at) * np.i0(beta * np.sqrt(np.maximum(0, 1 - (at / half) ** 2))) / np.i0(beta)
    padded = np.concatenate([np.zeros(half), x, np.zeros(half + 2)])
    y = np.empty(len(place), complex)
    for first in range(0, len(place), 65536):
        piece = slice(first, first + 65536)
        y[piece] = np.sum(h[piece] * padded[whole[piece, None] + half + np.arange(1 - half, half + 1)], axis=1)
    return y
