# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Channels from decisions, in double precision: `track` of the equalizer. Names and indices as in telemetry_model.py."""

import numpy as np

import telemetry_model as model

ENDS = 16  # bits at each end of a packet without a share in a channel

# Bit error rates of fde1 by channel and Eb/N0 in dB, 32 packets each: without and with `refine`.
REFINED = {("awgn", 6): (7.97e-3, 5.39e-3), ("awgn", 8): (1.57e-3, 7.99e-4), ("awgn", 10): (9.66e-5, 6.10e-5),
           ("ch1", 14): (6.66e-4, 3.26e-4), ("ch2", 16): (1.63e-3, 9.97e-4), ("ch3", 14): (6.46e-4, 4.22e-4),
           ("ch4", 14): (1.12e-3, 7.22e-4)}
# Of a second ray that turns, by the hertz of that: 8 packets each, without and with `on`.
MOVING = {("ch3", 14): {0: (4.0e-3, 2.5e-3), 100: (3.5e-2, 2.1e-2), 300: (9.2e-2, 1.4e-2), 1000: (2.6e-1, 1.3e-2)},
          ("ch3", 18): {0: (4.1e-5, 2.0e-5), 100: (1.7e-2, 3.6e-3), 300: (8.5e-2, 2.6e-3), 1000: (2.6e-1, 2.6e-3)},
          ("ch4", 16): {0: (2.4e-4, 1.8e-4), 100: (7.5e-4, 2e-5), 300: (3.6e-2, 1.0e-4), 1000: (2.4e-1, 1.2e-4)}}


def through_moving(x, channel, hz, turns=0.0):
    """x after a channel of RAYS whose second ray turns by `hz`, and by `turns` before; band-limited, with the power
    that the channel has in the mean over a turn."""
    f = np.fft.fftfreq(len(x) + 512) * model.RATE
    spectrum = np.fft.fft(x, len(f))
    rays = [np.fft.ifft(spectrum * 10 ** (db / 20) * np.exp(1j * (np.deg2rad(degrees) - 2 * np.pi * f * ns * 1e-9)))
            [:len(x)] for db, ns, degrees in model.RAYS[channel]]
    still = sum(rays[:1] + rays[2:])
    power = np.sum(abs(still) ** 2) + np.sum(abs(rays[1]) ** 2)
    moving = rays[1] * np.exp(2j * np.pi * (hz / model.RATE * np.arange(len(x)) + turns))
    return (still + moving) * np.sqrt(np.sum(abs(x) ** 2) / power)


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


def decisions(soft):
    """Bits [packet][bit] from the first on, those of the pilot known."""
    bits = (soft >= 0).astype(np.uint8)
    bits[:, :model.PILOTS] = model.PILOT[:soft.shape[1]]
    return bits


def refine(r, h, n, bandwidth=0.005):
    """(windows, channels): with the phase of the decisions taken off, from all decisions of each packet."""
    y = model.equalize(r, h, n, "fde1")[0]
    soft, thetas = model.PhaseLoop(y, bandwidth).follow(y)
    r = turned(r, thetas)
    h = [fit(decided(b), x[model.GUARD:], ENDS, model.BITS - ENDS) for b, x in zip(decisions(soft), r)]
    return r, np.array(h)


def equalize_segment(r, h, n, begin, end):
    """Symbols [packet][bit] of bits begin … end - 1, by fde1 from windows and the channels there."""
    x = r[:, 2 * begin:2 * end + 2 * model.GUARD]
    response = model.placed(h, model.BEHIND)
    c = response.conj() / (abs(response) ** 2 + n[:, None]) * model.detection_response()
    y = np.fft.ifft(np.fft.fft(x, model.SIZE) * c)
    return y[:, model.GUARD:model.GUARD + 2 * (end - begin):2]


def follow_moving(r, h, n, step=96, learned=288, rho=24.0):
    """(bits, phases): the first pass of `on`, which learns a channel from the last bits after each segment."""
    softs, phases, known = [], [], h.copy()
    first = equalize_segment(r, h, n, 0, model.PILOTS)
    loop = model.PhaseLoop(first)
    for begin in range(0, model.BITS, step):
        end = begin + step
        y = first[:, begin:end] if end <= model.PILOTS else equalize_segment(r, known, n, begin, end)
        soft, thetas = loop.follow(y, begin)
        softs.append(soft)
        phases.append(thetas)
        if end <= model.PILOTS or end == model.BITS:
            continue
        stretch = max(ENDS, end - ENDS - learned), end - ENDS
        x = turned(r, np.concatenate(phases, axis=1))[:, model.GUARD:]
        bits = decisions(np.concatenate(softs, axis=1))
        known = np.array([fit(decided(b), one, *stretch, rho, before) for b, one, before in zip(bits, x, known)])
    return decisions(np.concatenate(softs, axis=1)), np.concatenate(phases, axis=1)


def track(r, h, n, span=192):
    """Symbols [packet][6336] of fde1 with `on`."""
    bits, thetas = follow_moving(r, h, n)
    r = turned(r, thetas)
    signals = [decided(b) for b in bits]
    parts = []
    for begin in range(0, model.BITS, span):
        around = max(ENDS, begin - span), min(model.BITS - ENDS, begin + 2 * span)
        there = np.array([fit(p, x[model.GUARD:], *around) for p, x in zip(signals, r)])
        parts.append(equalize_segment(r, there, n, begin, begin + span))
    return np.concatenate(parts, axis=1)
