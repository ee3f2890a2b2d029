# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Estimates the channel at all times of an OFDM frame, and whitens the noise; in double precision.

The channel is h(c, s, r, a) = sum over k, l of phi_k(s) g(k, a, l, r) exp(-2 pi j f(c) tau_l / fft). Delays tau_l lie
within the prefix; phi_k are the eigenvectors of channels that move with up to `doppler`. g has variance weights[k]
powers[l], which expectation maximisation learns from the frame's training, pilots and midambles. Noise is whitened for the whole
band before, and by groups of carriers behind the estimate.

Names of dimensions as in ofdm_receive_model.py, and l delay, k function of time.
"""

import dataclasses

import numpy as np

import ofdm_receive_model as standing

STRETCH = 12       # carriers of the synchronisation symbol that are judged together
MOST_STRETCH = 4   # a stretch of more than so many medians is left out
LEAST_TAIL = 0.3   # of tail_metric: the next frame's training is there
WIDEST_DB = 40     # pairs of delay and function of time below the largest


def shrunk(s, count):
    """A covariance of `count` samples, as far towards white as that many samples of white noise stray from it."""
    r = len(s)
    trace, square = np.trace(s).real, np.trace(s @ s).real
    apart = square - trace**2 / r
    share = min(1.0, trace**2 / count / apart) if apart > 0 else 1.0
    return (1 - share) * s + share * trace / r * np.eye(r)


def least_noise(y, f):
    """[r]: with less, single precision would not resolve the equations."""
    return 1e-4 * np.mean(abs(y[1:1 + f.tx]) ** 2, axis=(0, 1))


def trust(y, f):
    """[c]: the weight of each carrier in sums. Below 1: a tone is near, by the carriers that the synchronisation symbol
    leaves empty."""
    odd = np.flatnonzero(f.frequencies % 2 != 0)
    count = max(1, (len(odd) + STRETCH // 2) // STRETCH)
    stretches = np.split(odd, range(STRETCH, STRETCH * count, STRETCH))
    each = np.array([np.mean(abs(y[0, c]) ** 2, 0) for c in stretches])  # [stretch][r]
    usual = np.median(each, 0)
    power = (each[:, usual > 0] / usual[usual > 0]).sum(1)
    usual = np.median(power)
    w = np.ones(f.carriers)
    for n in np.flatnonzero(power > MOST_STRETCH * usual):
        end = stretches[n + 1][0] if n + 1 < len(stretches) else f.carriers
        w[stretches[n][0] if n else 0:end] = usual / power[n]
    return w


def band_covariance(y, f, weights):
    """[r][r] from the carriers that the synchronisation symbol leaves empty, without stretches of a tone."""
    kept = y[0, (f.frequencies % 2 != 0) & (weights == 1)]
    s = kept.T @ kept.conj() / len(kept)
    d = np.sqrt(np.maximum(np.diag(s).real, least_noise(y, f)))
    d = np.where(d > 0, d, 1)
    white = s / np.outer(d, d)
    np.fill_diagonal(white, 1)
    return np.outer(d, d) * (shrunk(white, len(kept)) + 1e-6 * np.eye(len(d)))


@dataclasses.dataclass
class Fit:
    """The estimate of a frame."""
    g: np.ndarray         # [pair of k and l][a][r]
    var: np.ndarray       # [pair][a]
    powers: np.ndarray    # [l]
    weights: np.ndarray   # [k]


class Tracker:
    def __init__(self, f, rate, doppler=700.0, time_functions=5, step=1.0, span=32.0, max_taps=64, em=2,
                 tail=False):
        """`tail`: frames continue with the next one's symbols to the end of its training."""
        self.f, self.em, self.span, self.max_taps = f, em, span, max_taps
        taus = step * np.arange(int(np.ceil((f.prefix + 1) / step)))
        self.e = np.exp(-2j * np.pi * np.outer(f.frequencies, taus) / f.fft)  # [c][l]
        s = np.arange(1, f.symbols + (1 + f.tx if tail else 0))
        s = s[s != f.symbols]  # the next frame's synchronisation symbol is not used
        t = standing.begin_of(s, f) / rate
        self.step, self.symbols = step, s
        values, vectors = np.linalg.eigh(np.sinc(2 * doppler * (t[:, None] - t)))
        k = min(time_functions, len(s)) if f.is_pilot.any() else 1
        self.functions = np.sqrt(len(s)) * vectors[:, ::-1][:, :k]  # [s][k]
        self.functions *= np.sign(self.functions.sum(0) + 1e-30)
        self.weights = values[::-1][:k] / len(s)
        self.sent = f.known_carriers()[s % f.symbols]  # [s][a][c]: symbols 1 …, then of the next frame

    def tail_metric(self, y, w):
        """Share of the energy of the next frame's training, the last symbols of y [s][c][r], that lies within the
        prefix, times the likeness of its delays to the frame's own."""
        f = self.f
        training = f.known_carriers()[1, 0]  # without a cover
        profiles = [(abs(np.einsum("cl,c,scr->slr", self.e.conj(), w * training, part)) ** 2).sum((0, 2))
                    for part in (y[:f.tx], y[-f.tx:])]
        energy = np.sum((w[:, None] * abs(y[-f.tx:])) ** 2)
        if not energy > 0:
            return 0.0
        own, then = profiles
        return then.sum() * self.step / f.fft / energy * (own @ then) / np.sqrt((own @ own) * (then @ then))

    def powers_of(self, rough, w):
        """[l] from the training's least squares [c][r][a], weighted by w [c]."""
        f, e = self.f, self.e
        count = e.shape[1]
        p = np.full(count, max(np.average((abs(rough) ** 2).mean((1, 2)), weights=w) - 1 / f.tx, 1e-3) / count)
        gram, q = f.tx * (e.conj().T * w @ e), f.tx * np.einsum("cl,c,cra->lra", e.conj(), w, rough)
        for _ in range(3):
            posterior = np.linalg.inv(gram + np.diag(1 / p))
            g = np.einsum("lm,mra->lra", posterior, q)
            share = np.maximum(1 - np.diag(posterior).real / p, 1e-3)  # that the frame decides
            p = np.maximum(np.mean(abs(g) ** 2, (1, 2)) / share, 1e-6 * p)
        return p

    def choose(self, powers, weights):
        """The pairs [k][l] that are worth an unknown."""
        prior = np.outer(weights, powers)
        kept = powers >= powers.max() * 10 ** (-self.span / 10)
        if kept.sum() > self.max_taps:
            kept &= powers >= np.sort(powers)[-self.max_taps]
        return kept & (prior >= prior[:, kept].max() * 10 ** (-WIDEST_DB / 10))

    def fit(self, y, x, w, powers, weights, pairs, steps):
        """y [s][c][r] and x [s][a][c] of symbols 1 …, weighted by w [c]: where x is 0, nothing is known."""
        tx = self.f.tx
        k, l = np.nonzero(pairs)
        phi, e = self.functions[:, k], self.e[:, l]
        w = w * (abs(x).sum(1) > 0)  # [s][c]
        n = len(k)
        matrix = np.zeros((n, tx, n, tx), complex)
        q = np.zeros((n, tx, y.shape[-1]), complex)
        for s in range(len(y)):
            on = np.flatnonzero(w[s])
            for a in range(tx):
                left = w[s, on] * x[s, a, on].conj()
                q[:, a] += phi[s][:, None] * ((e[on].conj().T * left) @ y[s, on])
                for b in range(tx):
                    gram = (e[on].conj().T * (left * x[s, b, on])) @ e[on]
                    matrix[:, a, :, b] += np.outer(phi[s], phi[s]) * gram
        matrix, q = matrix.reshape(n * tx, -1), q.reshape(n * tx, -1)
        diagonal = np.diag(matrix).real
        for done in range(steps + 1):
            own = np.repeat(weights[k] * powers[l], tx)
            g = np.linalg.solve(matrix + np.diag(1 / own), q)
            var = 1 / (diagonal + 1 / own)
            if done < steps:
                e_kl = ((abs(g) ** 2).mean(1) + var).reshape(n, tx).mean(1)
                weights, powers = weights.copy(), powers.copy()
                for i in range(len(weights)):
                    if (k == i).any():
                        weights[i] = np.mean(e_kl[k == i] / powers[l[k == i]])
                for i in np.unique(l):
                    powers[i] = np.mean(e_kl[l == i] / weights[k[l == i]])
        left_out = np.where(pairs, 0, np.outer(weights, powers))  # [k][l]
        return Fit(g.reshape(n, tx, -1), var.reshape(n, tx), powers, weights), (k, l), left_out

    def channel(self, fit, pairs):
        """[s][c][r][a]"""
        k, l = pairs
        h = 0
        for i in range(len(self.weights)):
            h = h + self.functions[:, i, None, None, None] * np.einsum(
                "cl,lar->cra", self.e[:, l[k == i]], fit.g[k == i])
        return h

    def noise(self, fit, pairs, left_out):
        """[s]: what is not known of the channel, over all antennas."""
        k, _ = pairs
        each = np.array([fit.var[k == i].sum() for i in range(len(self.weights))]) + self.f.tx * left_out.sum(1)
        return self.functions**2 @ each

    def estimate(self, y, w):
        """y [symbol][c][r] in units of the noise, weighted by w [c]: h [s][c][r][a], y without the phase, the phase of
        symbols behind the training, and the noise that is added [s]; s counts from symbol 1."""
        f = self.f
        x = self.sent
        powers = self.powers_of(standing.least_squares(y, f), w)
        y, own = y[self.symbols], self.symbols < f.symbols
        if not own.all() and not self.tail_metric(y, w) >= LEAST_TAIL:
            x, y = x.copy(), y.copy()
            x[~own] = y[~own] = 0
        chosen = self.choose(powers, self.weights)
        fit, pairs, _ = self.fit(y, x, w, powers, self.weights, chosen, self.em)
        h = self.channel(fit, pairs)
        expected = np.einsum("scra,sac->scr", h, x)
        at = w * f.is_pilot  # of a midamble too
        phase = np.angle(np.einsum("c,scr,scr->s", at, expected.conj(), y))
        phase[:f.tx] = phase[~own] = 0
        turned = y * np.exp(-1j * phase)[:, None, None]
        fit, pairs, left_out = self.fit(turned, x, w, fit.powers, fit.weights, chosen, 0)
        moves = np.sqrt(fit.weights[1:].sum() / fit.weights.sum())
        parts = self.channel(fit, pairs), turned, phase, self.noise(fit, pairs, left_out)
        return *(part[own] for part in parts), moves


def group_covariances(residuals):
    """[group][r][r]: of the residuals [n][r] of each group."""
    rx = residuals[0].shape[1]
    raw = [z.T @ z.conj() / max(len(z), 1) for z in residuals]
    level = np.median([np.trace(s).real / rx for s in raw])
    return np.array([(len(z) * shrunk(s, max(len(z), 1)) + level * np.eye(rx)) / (len(z) + 1)
                     for z, s in zip(residuals, raw)])


@dataclasses.dataclass
class Result:
    """What leaves the stage."""
    y: np.ndarray      # [i][d][r]
    h: np.ndarray      # [i][d][r][a]
    noise: np.ndarray  # [i][d]
    phase: np.ndarray  # [d]
    level: float       # of the noise, before whitening
    covariance: np.ndarray  # [group][r][r]: of the noise of the antennas
    doppler: float     # the share of the channel's amplitude that moves
    interference: float  # power of an antenna's noise over what the others do not show of it


def estimate_frame(y, f, tracker, whiten="groups", group=12):
    """Of [symbol][c][r], with those of the next frame if the tracker uses them."""
    rx = y.shape[-1]
    odd = f.frequencies % 2 != 0
    w = np.ones(f.carriers) if whiten == "off" else trust(y, f)
    if whiten == "off":
        own = np.maximum((abs(y[0, odd]) ** 2).mean(0), least_noise(y, f))
        s0 = np.diag(own).astype(complex)
    else:
        s0 = band_covariance(y, f, w)
    level = np.trace(s0).real / rx
    root = np.linalg.cholesky(s0)
    y = y @ np.linalg.inv(root).T
    h, turned, phase, added, moves = tracker.estimate(y, w)
    left = np.broadcast_to(np.eye(rx), (-(-f.carriers // group), rx, rx))
    if whiten == "groups":
        x = tracker.sent[:f.symbols - 1]
        error = turned - np.einsum("scra,sac->scr", h, x)
        known = abs(x).sum(1) > 0
        starts = range(0, f.carriers, group)
        residuals = []
        for c in starts:
            part = slice(c, c + group)
            residuals.append(np.concatenate([error[:, part][known[:, part]], y[0, part][odd[part]]]))
        left = group_covariances(residuals)
        filters = np.linalg.inv(np.linalg.cholesky(left))
        each = filters[np.arange(f.carriers) // group]  # [c][r][r]
        turned = np.einsum("cij,scj->sci", each, turned)
        h = np.einsum("cij,scja->scia", each, h)
    data, at = ~f.is_pilot, f.data_at - 1
    noise = np.broadcast_to(1 + added[at], (data.sum(), f.data_symbols))
    return Result(turned[at][:, data].transpose(1, 0, 2), h[at][:, data].transpose(1, 0, 2, 3), noise, phase[at], level,
                  root @ left @ root.conj().T, moves, np.mean(np.diag(s0).real * np.diag(np.linalg.inv(s0)).real))
