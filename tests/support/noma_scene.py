# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Frames of users that differ in delay, offset, echo, power and modulation, as an array receives them; in the time domain
and in double precision."""

import dataclasses

import numpy as np

import air_model as air
import noma_channel as channel
import noma_frame_model as sender

RATE = 30.72e6
MIXED = ("qpsk", "16qam") * 3


@dataclasses.dataclass
class Scene:
    f: sender.Format = sender.SIX
    modulations: tuple = MIXED
    antennas: int = 16
    snr: float = 15         # dB of a 0 dB user on a carrier of an antenna
    most_delay: float = 100  # samples; the first user comes at 0
    most_offset: float = 300  # Hz, to both sides
    echo: tuple = (6.144, -6)  # samples, dB; or None
    spread: float = 60
    powers: tuple = (0,)
    code: str = "none"
    rate: float = RATE

    def frame(self, rng, information=None):
        """(carriers' samples [r][n], data bits [u][t][bit] as a list, delays, offsets)"""
        f = self.f
        if information is None:
            information = rng.integers(0, 2, sum(f.information_bits(self.modulations, self.code)), np.uint8)
        bits = f.data_bits(information, self.modulations, self.code)
        x = f.frame_of(bits, self.modulations)
        edge = 4 * f.prefix + 2 * int(self.most_delay)
        places = channel.circle(self.antennas)
        h, echo = (channel.channels(places, self.spread, f.users, rng, power_db=self.powers)[0] for _ in range(2))
        delays = self.most_delay * rng.random(f.users)
        delays -= delays.min()
        offsets = rng.uniform(-self.most_offset, self.most_offset, f.users)
        y = np.zeros((self.antennas, f.frame + 2 * edge), complex)
        turn = 2j * np.pi / self.rate * (np.arange(y.shape[1]) - edge)
        for u, row in enumerate(np.pad(x, ((0, 0), (edge, edge)))):
            row = row * np.exp(offsets[u] * turn)
            y += np.outer(h[:, u], air.delayed(row, delays[u]))
            if self.echo:
                y += np.outer(echo[:, u] * 10 ** (self.echo[1] / 20), air.delayed(row, delays[u] + self.echo[0]))
        y = y[:, edge:edge + f.frame]
        y += air.white(y.shape, 10 ** (-self.snr / 10) * f.fft / f.carriers, rng)
        ends = np.cumsum([f.user_bits(m) for m in self.modulations])[:-1]
        sent = [own.reshape(f.data, -1) for own in np.split(bits, ends)]
        return y, sent, delays, offsets
