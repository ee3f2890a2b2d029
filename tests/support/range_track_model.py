# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Channels from decisions, in double precision: `track` of the equalizer. Names and indices as in telemetry_model.py."""

import numpy as np

import telemetry_model as model

ENDS = 16  # bits at each end of a packet without a share in a channel


def decided(bits):
    """p(0) … of these bits [6336]; before the packet the preamble continues."""
    return model.modulate(np.concatenate([model.bits_of("CD98"), bits]))[2 * model.PERIOD:]


def fit(p, x, begin, end, rho=0.0, before=None):
    """The channel of bits begin … end - 1; x(0) is the packet's first sample."""
    rows = np.arange(2 * begin, 2 * end)
    columns = p[rows[:, None] - np.arange(model.BEHIND, model.AHEAD + 1)]
    right = columns.conj().T @ x[rows] + (rho * before if rho else 0)
    return np.linalg.solve(columns.conj().T @ columns + (rho + 1) * np.eye(columns.shape[1]), right)


def turned(r, thetas):
    """Windows without the phase of each pair of bits, which is held around the packet."""
    pair = np.clip((np.arange(r.shape[1]) - model.GUARD) // 4, 0, thetas.shape[1] - 1)
    return r * np.exp(-1j * thetas[:, pair])


def refine(r, h, n, bandwidth=0.005):
    """(windows, channels): with the phase of the decisions taken off, from all decisions of each packet."""
    bits, soft, thetas = model.follow(model.equalize(r, h, n, "fde1")[0], bandwidth)
    bits[:, :model.PILOTS] = model.PILOT
    r = turned(r, thetas)
    h = [fit(decided(b), x[model.GUARD:], ENDS, model.BITS - ENDS) for b, x in zip(bits, r)]
    return r, np.array(h)
