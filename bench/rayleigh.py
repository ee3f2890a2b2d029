# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Vectors over independent Rayleigh channels."""

import math

import numpy as np

import mimo_model as model


def transmit(antennas, modulation, snr_db, words, rng):
    """y, h and noise for coded bits [word][N], which are sent vector by vector."""
    bits = model.BITS[modulation]
    numbers = words.reshape(-1, antennas, bits) @ (1 << np.arange(bits - 1, -1, -1))
    s = model.constellation(bits)[numbers]
    noise = antennas * 10 ** (-snr_db / 10)

    def normal(*shape):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / math.sqrt(2)

    h = normal(len(s), antennas, antennas)
    y = np.einsum("vrt,vt->vr", h, s) + math.sqrt(noise) * normal(len(s), antennas)
    return y.astype(np.complex64), h.astype(np.complex64), np.array([noise], np.float32)
