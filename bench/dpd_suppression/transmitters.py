# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Random transmitters: amplifiers of several kinds after I/Q imbalance and LO leakage, with memory before and after
them."""

import aph_model as model
import numpy as np

SHARE = 0.85  # of an amplifier's largest output, were it linear


def turned(rng, size):
    return size * np.exp(1j * rng.uniform(-np.pi, np.pi))


def polynomial(rng):
    """Like the model's, with random variations of each order."""
    a1, a3, a5 = model.PA
    a3, a5 = a3 * rng.uniform(0.6, 1.2) + turned(rng, 0.1), a5 * rng.uniform(0.7, 1.1) + turned(rng, 0.1)
    return lambda x: x * (a1 + abs(x) ** 2 * (a3 + a5 * abs(x) ** 2))


def rapp(rng):
    """A soft limiter, like a solid-state amplifier (C. Rapp, 1991), with some phase distortion."""
    most, sharp, phase = rng.uniform(0.85, 1.1), rng.uniform(1.5, 3), rng.uniform(-0.3, 0.3)
    return lambda x: x * np.exp(1j * phase * abs(x) ** 2) / (1 + (abs(x) / most) ** (2 * sharp)) ** (1 / (2 * sharp))


def saleh(rng):
    """A travelling-wave tube (A. Saleh, 1981)."""
    beta, turn, bend = rng.uniform(1.2, 1.7), rng.uniform(0.5, 1.5), rng.uniform(1, 4)
    return lambda x: x / (1 + beta * abs(x) ** 2) * np.exp(1j * turn * abs(x) ** 2 / (1 + bend * abs(x) ** 2))


KINDS = polynomial, rapp, saleh


def drawn(rng):
    """Name and function of a transmitter, and the peak amplitude of its signal."""
    kind = KINDS[rng.integers(len(KINDS))]
    amplifier = kind(rng)
    turn = 10 ** (rng.uniform(-1, 1) / 20) * np.exp(1j * np.radians(rng.uniform(-5, 5)))
    leak = turned(rng, rng.uniform(0, 0.01))
    before = [1, turned(rng, rng.uniform(0, 0.08)), turned(rng, rng.uniform(0, 0.04))]
    behind = [1, turned(rng, rng.uniform(0, 0.05))]

    def transmit(x):
        y = (1 + turn) / 2 * x + (1 - turn.conj()) / 2 * x.conj() + leak
        return model.fir(amplifier(model.fir(y, before)), behind)

    gives = abs(amplifier(np.linspace(1e-3, 1, 1000)))
    return kind.__name__, transmit, float(SHARE * gives.max() / (gives[0] / 1e-3))
