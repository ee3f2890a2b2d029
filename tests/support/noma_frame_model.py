# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The frames of docs/noma-frame.md, written only from that page, in double precision.

Names of dimensions: c carrier, s symbol, u user, t pilot slot, d data slot.
"""

import dataclasses
import functools

import numpy as np

from ldpc_model import K, N, encode

BITS = {"bpsk": 1, "qpsk": 2, "16qam": 4, "64qam": 6, "256qam": 8}
TAPS = {9: 5, 15: 14, 23: 18}


@functools.cache
def sequence(order):
    """All of b(n) = b(n - tap) ^ b(n - order), which begins with ones. b(n) = b(n - k tap) ^ b(n - k order) holds as well
    for k = 2, 4, 8 …, which gives k tap bits at once."""
    tap, k, n = TAPS[order], 1, order
    b = np.ones(2**order - 1, np.uint8)
    while n < len(b):
        k = 2 * k if 2 * k * order <= n else k
        m = min(k * tap, len(b) - n)
        b[n:n + m] = b[n - k * tap:n - k * tap + m] ^ b[n - k * order:n - k * order + m]
        n += m
    return b


def pn(order, first, count):
    """Bits first … first + count - 1."""
    return sequence(order).take(np.arange(first, first + count), mode="wrap")


def signs(order, first, count):
    return 1.0 - 2.0 * pn(order, first, count)


def known_points(first, count):
    """Known points number first …."""
    v = signs(23, 2 * first, 2 * count)
    return (v[0::2] + 1j * v[1::2]) / np.sqrt(2)


def mapped(bits):
    """[…][bit] to points of power 1."""
    s = 1.0 - 2.0 * bits
    if bits.shape[-1] == 1:
        return s[..., 0] + 0j

    def axis(of):  # s0 (4 - s2 (2 - s4)) for 64-QAM
        value, half = of[..., -1], 2.0
        for b in range(of.shape[-1] - 2, -1, -1):
            value, half = of[..., b] * (half - value), 2 * half
        return value

    re, im = axis(s[..., 0::2]), axis(s[..., 1::2])
    levels = 2.0 ** (bits.shape[-1] // 2)
    return (re + 1j * im) / np.sqrt(2 * (levels**2 - 1) / 3)


@dataclasses.dataclass(frozen=True)
class Format:
    fft: int = 2048
    carriers: int = 144
    prefix: int = 144
    frame: int = 74528
    users: int = 6
    training: int = 5
    pilots: int = 685
    data: int = 3840

    @property
    def symbols(self):
        return self.frame // (self.prefix + self.fft)

    @property
    def first_prefix(self):
        return self.frame - self.symbols * (self.prefix + self.fft) + self.prefix

    @property
    def frequencies(self):
        half = self.carriers // 2
        return np.r_[-half:0, 1:half + 1]

    @property
    def pilot_slots(self):
        return self.training * self.carriers

    @property
    def data_slots(self):
        return (self.symbols - 2 - self.training) * self.carriers

    def user_bits(self, modulation):
        return self.data * BITS[modulation]

    def frame_bits(self, modulation):
        return sum(self.user_bits(m) for m in self.each(modulation))

    def each(self, modulation):
        """One word for all users, or a list: the modulation of each user."""
        return [modulation] * self.users if isinstance(modulation, str) else list(modulation)

    def information_bits(self, modulation, code="none"):
        """[u]"""
        return [bits if code == "none" else bits // N * K for bits in map(self.user_bits, self.each(modulation))]

    def data_bits(self, information, modulation, code="none"):
        """A frame's data bits from the information bits of all users."""
        parts = []
        ends = np.cumsum(self.information_bits(modulation, code))[:-1]
        for m, own in zip(self.each(modulation), np.split(information, ends)):
            if code != "none":
                words = encode(own.reshape(-1, K))
                filler = pn(15, words.size, self.user_bits(m) - words.size)
                own = np.r_[words.T.reshape(-1), filler]
            parts.append(own)
        return np.concatenate(parts)

    def pilot_points(self, u):
        """[t]: of all slots; the receiver uses the first `pilots`."""
        return known_points(u * self.pilot_slots, self.pilot_slots)

    def carriers_of(self, bits, modulation):
        """[s][u][c] of a frame's bits."""
        x = np.zeros((self.symbols, self.users, self.carriers), complex)
        even = np.flatnonzero(self.frequencies % 2 == 0)
        x[0][:, even] = np.sqrt(2) * signs(15, 20000, len(even))
        x[1] = signs(15, 4096, self.carriers)
        each = self.each(modulation)
        ends = np.cumsum([self.user_bits(m) for m in each])[:-1]
        points = [mapped(own.reshape(self.data, BITS[m])) for m, own in zip(each, np.split(bits, ends))]
        for u in range(self.users):
            filler = known_points(2**20 + u * self.data_slots, self.data_slots)[self.data:]
            x[2:, u] = np.r_[self.pilot_points(u), points[u], filler].reshape(-1, self.carriers)
        return x

    def samples_of(self, x):
        """[u][n] from all carriers."""
        bins = np.zeros((*x.shape[:2], self.fft), complex)
        bins[..., self.frequencies % self.fft] = x
        y = np.fft.ifft(bins) * self.fft / np.sqrt(self.carriers)
        parts = [y[s][:, np.arange(-(self.prefix if s else self.first_prefix), self.fft) % self.fft]
                 for s in range(self.symbols)]
        return np.concatenate(parts, axis=1)

    def frame_of(self, bits, modulation):
        """[u][n] of one frame's bits."""
        return self.samples_of(self.carriers_of(bits, modulation))

    def payload(self, frame, modulation, order=23, code="none"):
        """Information bits of all users."""
        count = sum(self.information_bits(modulation, code))
        return pn(order, frame * count, count)

    def frames(self, count, modulation, order=23, code="none"):
        """[u][n]: frames 0, 1, … with the known payload."""
        payloads = (self.payload(i, modulation, order, code) for i in range(count))
        return np.concatenate([self.frame_of(self.data_bits(p, modulation, code), modulation) for p in payloads], axis=1)


SIX = Format()
