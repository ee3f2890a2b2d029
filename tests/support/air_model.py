# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Air that moves, in double precision and in the time domain: paths that fade, interferers, tones.

Samples are [antenna][n]. Every path of every pair of antennas fades by itself; waves come from all around, so a path's
correlation over t seconds is J0(2 pi doppler t).
"""

import dataclasses

import numpy as np

WAVES = 24  # of a path
# 3GPP TS 36.101, table B.2.1-3: delays in ns, powers in dB.
EVA = ((0, 30, 150, 310, 370, 710, 1090, 1730, 2510), (0, -1.5, -1.4, -3.6, -0.6, -9.1, -7, -12, -16.9))


def delayed(x, samples):
    """The rows, later by any number of samples; what leaves at the end comes back at the start."""
    turn = np.exp(-2j * np.pi * np.fft.fftfreq(x.shape[-1]) * samples)
    return np.fft.ifft(np.fft.fft(x) * turn)


def fading(count, doppler, rate, rng):
    """[n]: gain of power 1 of one path."""
    angles, phases = rng.uniform(0, 2 * np.pi, (2, WAVES))
    if doppler == 0:
        return np.full(count, rng.standard_normal(2) @ [1, 1j] / np.sqrt(2))
    # Far more often than it moves; between, straight lines.
    step = max(1, int(rate / (200 * doppler)))
    t = np.arange(0, count + step, step)
    values = np.exp(1j * (2 * np.pi * doppler / rate * np.outer(t, np.cos(angles)) + phases)).sum(1) / np.sqrt(WAVES)
    n = np.arange(count)
    return np.interp(n, t, values.real) + 1j * np.interp(n, t, values.imag)


@dataclasses.dataclass(frozen=True)
class Air:
    rate: float = 7.68e6
    doppler: float = 0.0
    profile: tuple = EVA

    def carry(self, x, rx, rng):
        """[tx][n] to [rx][n]: the mean power of a pair of antennas is 1."""
        delays, decibels = (np.asarray(v, float) for v in self.profile)
        powers = 10 ** (decibels / 10)
        powers /= powers.sum()
        y = np.zeros((rx, x.shape[1]), complex)
        for delay, power in zip(delays, powers):
            late = delayed(x, delay * 1e-9 * self.rate)
            for r in range(rx):
                for row in late:
                    y[r] += np.sqrt(power) * fading(x.shape[1], self.doppler, self.rate, rng) * row
        return y


EXPONENTIAL = (tuple(range(0, 600, 20)), tuple(-10 * np.log10(np.e) * np.arange(0, 6, 0.2)))  # 100 ns
INTERFERER = ((0, 100, 180, 260), (0, -3, -6, -9))  # delays in ns, dB


def white(shape, power, rng):
    return np.sqrt(power / 2) * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))


def in_band(x, f):
    """Noise as wide as the carriers in use, of the same power."""
    y = np.fft.fft(x)
    y[:, abs(np.fft.fftfreq(x.shape[1])) * f.fft > f.carriers / 2] = 0
    return np.fft.ifft(y) * np.sqrt(f.fft / f.carriers)


REACH, SHAPE = 32, 10.0  # of the interpolation, samples to both sides, and its window


def resampled(x, start, count, ppm):
    """[r][count]: rows as sent by a clock that is faster by `ppm`, from sample `start` on; to -100 dB up to 0.45 of the
    rate."""
    at = start + np.arange(count) * (1 + ppm * 1e-6)
    first = np.floor(at).astype(int) - REACH + 1
    y = np.zeros((len(x), count), complex)
    for tap in range(2 * REACH):
        apart = at - first - tap
        window = np.i0(SHAPE * np.sqrt(np.maximum(1 - (apart / REACH) ** 2, 0))) / np.i0(SHAPE)
        y += np.sinc(apart) * window * x[:, first + tap]
    return y


def ofdm_frame(samples, f, rate, rx, rng, doppler=0.0, snr=20.0, interferer=None, tone=None, interferer_doppler=None,
               profile=EVA, ppm=0.0):
    """What `rx` antennas receive of one frame [tx][n] of format f and what follows it, [rx][n].

    A carrier's power is `tx` at an antenna, and `snr` dB over the noise. `interferer`: dB above the signal; it moves as
    the signal does, or by itself. `tone`: dB above a carrier, between two. `ppm`: the signal's clock is faster by it."""
    edge = f.prefix * 4
    moving = Air(rate, doppler, profile)
    y = moving.carry(np.pad(samples, ((0, 0), (edge, edge))), rx, rng)
    if interferer is not None:
        other = in_band(white((1, y.shape[1]), f.tx * 10 ** (interferer / 10), rng), f)
        own = doppler if interferer_doppler is None else interferer_doppler
        y += Air(rate, own, INTERFERER).carry(other, rx, rng)
    y = resampled(y, edge, samples.shape[1], ppm) if ppm else y[:, edge:edge + samples.shape[1]]
    if tone is not None:
        at = rng.integers(-f.carriers // 3, f.carriers // 3) + 0.5
        gains = np.sqrt(f.tx / f.carriers) * 10 ** (tone / 20) * np.exp(2j * np.pi * rng.random(rx))
        y = y + gains[:, None] * np.exp(2j * np.pi * at * np.arange(y.shape[1]) / f.fft)
    return y + white(y.shape, f.tx * 10 ** (-snr / 10) * f.fft / f.carriers, rng)
