# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""ofdm_demod and mimo_channel_estimator in double precision, by their pages' formulas; and a channel to test them.

Names of dimensions as in ofdm_model.py, and r receive antenna, g frame.
"""

import numpy as np

TAPS = 32
LEAST_NOISE = 1e-10


def early(f):
    """Samples that a symbol's window begins before the symbol."""
    return f.prefix // 8


def begin_of(symbol, f):
    """The first sample behind the prefix; symbols from f.symbols on are the next frame's."""
    frame, own = np.divmod(symbol, f.symbols)
    return frame * f.frame + f.frame - (f.symbols - own) * (f.prefix + f.fft) + f.prefix


def tail_samples(f):
    """Of the next frame, to the end of its training."""
    return begin_of(f.tx, f) + f.fft


def demodulate(frames, f, tail=False):
    """[g][r][n] to [g][symbol][c][r]; `tail`: with the next frame's symbols to the end of its training."""
    symbols = np.arange(f.symbols + (1 + f.tx if tail else 0))
    at = begin_of(symbols, f)[:, None] - early(f) + np.arange(f.fft)
    bins = np.fft.fft(frames[..., at]) * np.sqrt(f.carriers) / f.fft
    return bins[..., f.frequencies].transpose(0, 2, 3, 1)


def smoother(f, delay_spread=0, snr=40.0):
    """[c][c]: Wiener filters of TAPS neighbours for a uniform delay profile from the start of the window on."""
    width = (early(f) + delay_spread if delay_spread else f.prefix) / f.fft

    def correlation(apart):
        return np.sinc(width * apart) * np.exp(-1j * np.pi * width * apart)

    taps = min(TAPS, f.carriers)
    w = np.zeros((f.carriers, f.carriers), complex)
    for c in range(f.carriers):
        k = np.clip(c - TAPS // 2, 0, f.carriers - taps) + np.arange(taps)
        at = f.frequencies[k]
        w[c, k] = np.linalg.solve((correlation(at[:, None] - at) + 10 ** (-snr / 10) * np.eye(taps)).T,
                                  correlation(f.frequencies[c] - at))
    return w


def least_squares(y, f, slope=0.0):
    """[symbol][c][r] to [c][r][a], the training symbols turned back by `slope` radians a symbol about their middle."""
    t = np.arange(f.tx)
    turn = np.exp(-1j * slope * (t - (f.tx - 1) / 2))
    return np.einsum("s,sac,scr->cra", turn, f.known_carriers()[1:1 + f.tx].conj(), y[1:1 + f.tx]) / f.tx


def pilot_sums(y, h, f):
    """[s][r]: phase of the pilots relative to h, of the symbols behind the training."""
    sent = f.known_carriers()[1 + f.tx:, :, f.is_pilot]
    return np.einsum("dci,icr,dir->dr", sent, h[f.is_pilot].transpose(0, 2, 1).conj(), y[1 + f.tx:, f.is_pilot])


def slope_of(sums, f):
    """Radians a symbol: least squares through 0 at the middle of the training."""
    at = np.arange(f.symbols - 1 - f.tx) + (f.tx + 1) / 2
    moments = squares = slope = 0.0
    for angle, x in zip(np.angle(sums), at):
        near = slope * x
        moments += x * (near + np.angle(np.exp(1j * (angle - near))))
        squares += x * x
        slope = moments / squares
    return slope


def least_noise(y, f):
    """[r]"""
    return LEAST_NOISE * (abs(y[1:1 + f.tx]) ** 2).mean((0, 1))


def estimate_frame(y, f, w, track_phase=True):
    """[symbol][c][r] to y [i][d][r], h [i][r][a], noise, phase [d]."""
    if not np.isfinite(y).all():
        d, i, rx = f.data_symbols, int((~f.is_pilot).sum()), y.shape[-1]
        return np.full((i, d, rx), np.nan), np.full((i, rx, f.tx), np.nan), np.nan, np.full(d, np.nan)
    noise = np.maximum((abs(y[0, f.frequencies % 2 != 0]) ** 2).mean(0), least_noise(y, f))
    weight = np.divide(1, noise, out=np.zeros_like(noise), where=noise > 0)
    scale = np.where(noise > 0, np.sqrt(noise.mean() * weight), 1)
    slope = slope_of(pilot_sums(y, least_squares(y, f), f) @ weight, f) if track_phase else 0.0
    h = np.einsum("ck,kra->cra", w, least_squares(y, f, slope)) * scale[:, None]
    phase = np.angle(pilot_sums(y * scale, h, f).sum(1)) if track_phase else np.zeros(f.symbols - 1 - f.tx)
    phase = phase[f.data_at - 1 - f.tx]
    vectors = y[f.data_at][:, ~f.is_pilot] * scale * np.exp(-1j * phase)[:, None, None]
    return vectors.transpose(1, 0, 2), h[~f.is_pilot], noise.mean(), phase


def estimate(carriers, f, delay_spread=0, snr=40.0, track_phase=True):
    w = smoother(f, delay_spread, snr)
    parts = [estimate_frame(y, f, w, track_phase) for y in carriers]
    return [np.array(p) for p in zip(*parts)]


def channel(f, rx, delays, rng, powers=None):
    """[c][r][a]: paths with these delays in samples, as the early window sees them; total power 1."""
    powers = np.ones(len(delays)) if powers is None else np.asarray(powers)
    gains = rng.standard_normal((len(delays), rx, f.tx, 2)) @ [1, 1j] / np.sqrt(2)
    gains *= np.sqrt(powers / powers.sum())[:, None, None]
    turns = np.outer(f.frequencies, np.asarray(delays) + early(f)) / f.fft
    return np.einsum("cp,pra->cra", np.exp(-2j * np.pi * turns), gains)


def noise(shape, variance, rng):
    return rng.standard_normal((*shape, 2)) @ [1, 1j] * np.sqrt(variance / 2)
