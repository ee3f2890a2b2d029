# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Augmented parallel Hammerstein predistortion in double precision: predistorter, training, transmitter, waveforms and
quality measures. Written from the definitions, in the direct form with one column per coefficient.

Coefficients are in the order h1 h3 h5 g1 g3 c, with the taps of each innermost. Signals are complex [n], RATE samples
per second; levels are in dB.
"""

import collections
import math

import numpy as np

RATE = 61.44e6
PA = 0.9490 - 0.0197j, 0.4885 + 0.1071j, -1.0156 - 0.0474j  # of x, |x|^2 x, |x|^4 x
SKIPPED = 16  # rows that training omits

Orders = collections.namedtuple("Orders", "main conjugate taps", defaults=(5, 3, 5))


def count(orders):
    return ((orders.main + 1) // 2 + (orders.conjugate + 1) // 2) * orders.taps + 1


def orthogonal(k):
    """Weights of |x|^2l x, l = 0 … k, in the function of order 2k + 1 that is orthonormal for Gaussian x of power 1."""
    return [(-1) ** (k - j) * math.sqrt(k + 1) / math.factorial(j + 1) * math.comb(k, j) for j in range(k + 1)]


def functions(x, order, power=None):
    """[order 1, 3 …][n]: |x|^(p-1) x, or the functions orthonormal for Gaussian x of this power."""
    monomials = [abs(x) ** (2 * k) * x for k in range((order + 1) // 2)]
    if power is None:
        return monomials
    return [sum(w * m / power ** (j + 0.5) for j, (w, m) in enumerate(zip(orthogonal(k), monomials)))
            for k in range(len(monomials))]


def matrix(x, orders=Orders(), power=None):
    """Psi(x), [n][coefficient]; before its first sample x is zero."""
    branches = functions(x, orders.main, power) + [f.conj() for f in functions(x, orders.conjugate, power)]
    columns = [np.concatenate([np.zeros(k), f])[:len(x)] for f in branches for k in range(orders.taps)]
    return np.stack(columns + [np.ones(len(x))], axis=1)


def predistort(x, h, orders=Orders(), power=None):
    return matrix(x, orders, power) @ h


def passing(orders=Orders()):
    """The coefficients (monomial) of a predistorter that changes nothing."""
    return np.eye(count(orders))[0].astype(complex)


def to_monomial(h, orders, power):
    parts = (orders.main + 1) // 2, (orders.conjugate + 1) // 2
    out, at = [], 0
    for n in parts:
        block = h[at:at + n * orders.taps].reshape(n, orders.taps)
        fold = np.zeros((n, n))  # [monomial][function]
        for k in range(n):
            fold[:k + 1, k] = [w / power ** (j + 0.5) for j, w in enumerate(orthogonal(k))]
        out.append((fold @ block).ravel())
        at += n * orders.taps
    return np.concatenate(out + [h[-1:]])


def gain_of(z, s):
    return np.vdot(z, s) / np.vdot(z, z)


def train(z, s, orders=Orders(), gain=None, power=None):
    """One round of indirect learning from what was sent and what was received: min |z - Psi(s / gain) h|, by QR."""
    u = s / (gain_of(z, s) if gain is None else gain)
    return np.linalg.lstsq(matrix(u, orders, power)[SKIPPED:], z[SKIPPED:], rcond=None)[0]


def residual_db(z, u, h, orders=Orders()):
    e = (z - predistort(u, h, orders))[SKIPPED:]
    return 10 * np.log10(np.vdot(e, e).real / np.vdot(z[SKIPPED:], z[SKIPPED:]).real)


# The transmitter

def amplifier(x):
    a = abs(x) ** 2
    return x * (PA[0] + a * (PA[1] + a * PA[2]))


def fir(x, taps):
    return np.convolve(x, taps)[:len(x)]


def transmitter(x, impaired=True):
    """The amplifier alone, or after 1 dB and 5 degrees of I/Q imbalance and LO leakage, with memory on both sides."""
    if not impaired:
        return amplifier(x)
    turn = 10 ** (1 / 20) * np.exp(1j * np.radians(5))
    y = (1 + turn) / 2 * x + (1 - turn.conj()) / 2 * x.conj() + 0.008 * np.exp(0.7j)
    y = amplifier(fir(y, [1, 0.08 * np.exp(0.9j), -0.04j]))
    return fir(y, [1, 0.05j])


def delayed(x, samples, phase=0.0):
    """Circular delay by any fraction of a sample."""
    return np.fft.ifft(np.fft.fft(x) * np.exp(-2j * np.pi * np.fft.fftfreq(len(x)) * samples)) * np.exp(1j * phase)


def noisy(x, below_db, rng):
    sigma = np.sqrt(np.mean(abs(x) ** 2) * 10 ** (-below_db / 10) / 2)
    return x + sigma * (rng.standard_normal(len(x)) + 1j * rng.standard_normal(len(x)))


# Waveforms

def low_pass(edge_hz, stop_hz):
    """90 dB of attenuation from stop_hz on."""
    width = 2 * np.pi * (stop_hz - edge_hz) / RATE
    n = int((90 - 8) / (2.285 * width)) // 2 * 2 + 1
    t = np.arange(n) - n // 2
    cut = (edge_hz + stop_hz) / RATE
    return cut * np.sinc(cut * t) * np.kaiser(n, 0.1102 * (90 - 8.7))


def sc_fdma(n, carriers, rng, points=4):
    """An uplink carrier: 16-QAM spread over 15 kHz subcarriers, symbols of 4096 samples with a prefix of 288, filtered
    to its channel. Power 1."""
    size, prefix = 4096, 288
    levels = np.arange(1 - points, points, 2)
    parts = []
    for _ in range(n // (size + prefix) + 3):
        symbols = rng.choice(levels, carriers) + 1j * rng.choice(levels, carriers)
        grid = np.zeros(size, complex)
        grid[(np.arange(carriers) - carriers // 2) % size] = np.fft.fft(symbols)
        wave = np.fft.ifft(grid)
        parts += [wave[-prefix:], wave]
    half = carriers * 7.5e3
    taps = low_pass(half, half * 1.1 + 0.1e6)
    x = np.convolve(np.concatenate(parts), taps, "valid")[:n]
    return x / np.sqrt(np.mean(abs(x) ** 2))


def lte10(n, rms=0.27, seed=11):
    """10 MHz: 600 subcarriers around 0 Hz. Peaks of 8.2 dB in 65536 samples."""
    return rms * sc_fdma(n, 600, np.random.default_rng(seed))


def two_carriers(n, offsets=(-5e6, 5e6), rms=0.24, seed=3):
    """Two of 3 MHz, 180 subcarriers each. Peaks of 8.9 dB in 65536 samples."""
    rng = np.random.default_rng(seed)
    t = np.arange(n) / RATE
    x = sum(sc_fdma(n, 180, rng) * np.exp(2j * np.pi * f * t) for f in offsets)
    return x * rms / np.sqrt(np.mean(abs(x) ** 2))


# Measurements

def psd(x, size=4096):
    """[bin] of `size`, 0 Hz in the middle: mean |F{w x}|^2 over half-overlapping frames; sums to the power."""
    window = np.kaiser(size, 14)
    frames = np.lib.stride_tricks.sliding_window_view(x, size)[::size // 2]
    power = np.mean(abs(np.fft.fft(frames * window)) ** 2, axis=0) / size / np.sum(window**2)
    return np.fft.fftshift(power)


def band_db(spectrum, centre_hz, width_hz):
    """The power within a band."""
    f = (np.arange(len(spectrum)) - len(spectrum) // 2) * RATE / len(spectrum)
    return 10 * np.log10(np.sum(spectrum[abs(f - centre_hz) <= width_hz / 2]))


def aclr_db(x):
    """Of a 10 MHz carrier: the neighbours below and above, relative to it."""
    p = psd(x)
    own = band_db(p, 0, 9e6)
    return [band_db(p, f, 9e6) - own for f in (-10e6, 10e6)]


def relative_db(x, at, carriers, width=2.7e6):
    """Powers of bands of this width, relative to one carrier of 3 MHz (the mean of the existing ones)."""
    p = psd(x)
    own = 10 * np.log10(np.mean([10 ** (band_db(p, f, 2.7e6) / 10) for f in carriers]))
    return [band_db(p, f, width) - own for f in at]


def im_db(x, carriers, order):
    """IM3 or IM5 of two carriers of 3 MHz, below and above them, in the width of IM3."""
    low, high = carriers
    k = (order - 1) // 2
    return relative_db(x, [low - k * (high - low), high + k * (high - low)], carriers, 3 * 2.7e6)


def evm(x, y):
    """Error of y relative to the intended signal, after the best complex gain."""
    e = y / gain_of(x, y) - x
    return np.sqrt(np.vdot(e, e).real / np.vdot(x, x).real)
