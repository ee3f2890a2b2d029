# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The OFDM frames of docs/ofdm-frame.md, written only from that page, in double precision.

Names of dimensions: c carrier, s symbol, d data symbol, a transmit antenna, i data carrier or pilot.
"""

import dataclasses

import numpy as np

from ldpc_model import K, N, encode

BITS = {"qpsk": 2, "16qam": 4, "64qam": 6, "256qam": 8, "silent": 0}


def pn(order, numbers):
    """These bits of b(n) = b(n - tap) ^ b(n - order), which begins with ones and repeats after 2^order - 1."""
    tap, period = {9: 5, 15: 14, 23: 18}[order], 2**order - 1
    numbers = np.asarray(numbers, np.int64) % period
    b = np.ones(max(order, numbers.max(initial=0) + 1), np.uint8)
    for n in range(order, len(b), tap):  # within a step nothing depends on itself
        m = min(tap, len(b) - n)
        b[n:n + m] = b[n - tap:n - tap + m] ^ b[n - order:n - order + m]
    return b[numbers]


def known(numbers):
    return 1.0 - 2.0 * pn(15, numbers)


def mapped(bits):
    """[…][bit] to points of power 1; no bits are silence."""
    if bits.shape[-1] == 0:
        return np.zeros(bits.shape[:-1])
    sign = 1.0 - 2.0 * bits
    count = bits.shape[-1] // 2
    axes = []
    for first in (0, 1):
        value = 1.0
        for b in range(count - 1, 0, -1):
            value = 2 ** (count - b) - sign[..., 2 * b + first] * value
        axes.append(sign[..., first] * value)
    return (axes[0] + 1j * axes[1]) / np.sqrt(2 * (4**count - 1) / 3)


@dataclasses.dataclass(frozen=True)
class Format:
    fft: int = 512
    carriers: int = 300
    prefix: int = 36
    frame: int = 7680
    tx: int = 2
    pilot_every: int = 25
    midambles: int = 0

    @property
    def symbols(self):
        return self.frame // (self.prefix + self.fft)

    @property
    def combs(self):
        """[j]: the symbol of each midamble."""
        behind, j = self.symbols - 1 - self.tx, np.arange(1, self.midambles + 1)
        return self.tx + np.floor(j * behind / max(self.midambles, 1) + 0.5).astype(int)

    @property
    def data_at(self):
        """[d]: the symbol of each data symbol."""
        return np.setdiff1d(np.arange(1 + self.tx, self.symbols), self.combs)

    @property
    def data_symbols(self):
        return len(self.data_at)

    @property
    def frequencies(self):
        half = self.carriers // 2
        return np.r_[-half:0, 1:half + 1]

    @property
    def is_pilot(self):
        c = np.arange(self.carriers)
        e = self.pilot_every
        return (c % e == e // 2) & (c // e < self.carriers // e)

    def antenna_bits(self, modulation):
        """[a]: bits of a point. `modulation`: a word for all antennas, or a list of words."""
        words = [modulation] * self.tx if isinstance(modulation, str) else modulation
        return [BITS[word] for word in words]

    def bits(self, modulation):
        return int((~self.is_pilot).sum()) * self.data_symbols * sum(self.antenna_bits(modulation))

    def information_bits(self, modulation, code="none"):
        return self.bits(modulation) if code == "none" else self.bits(modulation) // N * K

    def data_bits(self, information, modulation, code="none"):
        """Of one frame's information bits."""
        if code == "none":
            return information
        count = self.bits(modulation)
        words = encode(information.reshape(-1, K))
        return np.r_[words.T.reshape(-1), pn(15, np.arange(words.size, count))]

    def known_carriers(self, announced=None):
        """[symbol][a][c]: all but data, which are 0. `announced`: the number of each antenna, if they are."""
        x = np.zeros((self.symbols, self.tx, self.carriers), complex)
        even = np.flatnonzero(self.frequencies % 2 == 0)
        i = np.arange(len(even))
        x[0, i % self.tx, even] = np.sqrt(2 * self.tx) * known(20000 + i)
        for antenna, number in enumerate(announced or []):
            if number:
                own = even[antenna::self.tx]
                x[0, antenna, own] *= known(26000 + 331 * number + np.arange(len(own)))
        a, t = np.arange(self.tx)[:, None], np.arange(self.tx)
        cover = np.exp(-2j * np.pi * a * t / self.tx)  # [a][t]
        x[1:1 + self.tx] = cover.T[:, :, None] * known(4096 + np.arange(self.carriers))
        pilots = int(self.is_pilot.sum())
        values = known(16384 + np.arange(self.data_symbols * pilots * self.tx))
        own = np.zeros((self.data_symbols, self.tx, self.carriers), complex)
        own[:, :, self.is_pilot] = values.reshape(self.data_symbols, pilots, self.tx).transpose(0, 2, 1)
        x[self.data_at] = own
        c = np.arange(self.carriers)
        for j, s in enumerate(self.combs):
            x[s, c % self.tx, c] = np.sqrt(self.tx) * known(8192 + j * self.carriers + c)
        return x

    def carriers_of(self, bits, modulation, announce=False):
        """[symbol][a][c] of a frame's data bits."""
        counts = self.antenna_bits(modulation)
        x = self.known_carriers([count // 2 or 5 for count in counts] if announce else None)
        of_antennas = np.split(bits.reshape(-1, self.data_symbols, sum(counts)), np.cumsum(counts)[:-1], axis=-1)
        points = np.stack([mapped(own) for own in of_antennas], axis=-1)  # [i][d][a]
        x[np.ix_(self.data_at, np.arange(self.tx), np.flatnonzero(~self.is_pilot))] = points.transpose(1, 2, 0)
        return x

    def samples_of(self, x):
        """[a][n] from all carriers."""
        bins = np.zeros((*x.shape[:2], self.fft), complex)
        bins[..., self.frequencies % self.fft] = x
        y = np.fft.ifft(bins) * self.fft / np.sqrt(self.carriers)
        first = self.frame - self.symbols * (self.prefix + self.fft) + self.prefix
        parts = [y[s][:, np.arange(-(self.prefix if s else first), self.fft) % self.fft] for s in range(self.symbols)]
        return np.concatenate(parts, axis=1)

    def frame_of(self, information, modulation, code="none", announce=False):
        """[a][n] of one frame's information bits."""
        return self.samples_of(self.carriers_of(self.data_bits(information, modulation, code), modulation, announce))

    def frames(self, count, modulation, code="none", payload=23):
        """[a][n]: frames 0, 1, … with the known payload."""
        bits = self.information_bits(modulation, code)
        return np.concatenate([self.frame_of(pn(payload, i * bits + np.arange(bits)), modulation, code)
                               for i in range(count)], axis=1)


FIVE = Format()
TWENTY = Format(fft=2048, carriers=1200, prefix=144, frame=30720, tx=4)
