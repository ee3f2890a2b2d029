# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Receives NOMA users that differ in delay, offset and modulation, in double precision: noma_channel_estimator.

Each user's channel is h(u, c, s, r) = exp(2 pi j nu_u (t_s - t_2)) sum over l of g(u, l, r) exp(-2 pi j f(c) tau_l / N).
The variances p(u, l) of g are learned by expectation maximisation. A filter of each carrier and user separates them.

Names of dimensions as in noma_frame_model.py, and r antenna, l delay, k function of time.
"""

import dataclasses

import numpy as np

import noma_frame_model as sender

LEAST = 1e-4       # noise of an antenna over its power: single precision resolves no less
SPREAD_HZ = 200    # of the users' offsets, before a frame is seen
ERASED = 1e-6      # a user of less mu is not heard


def demodulate(y, f, start=0):
    """[r][n] to [s][c][r]; the window begins prefix / 8 early."""
    first = start + f.first_prefix - f.prefix // 8 + np.arange(f.symbols) * (f.prefix + f.fft)
    bins = np.fft.fft(y[:, first[:, None] + np.arange(f.fft)]) / f.fft  # [r][s][bin]
    return np.sqrt(f.carriers) * bins[..., f.frequencies % f.fft].transpose(1, 2, 0)


@dataclasses.dataclass
class Received:
    symbols: np.ndarray  # [u][t]
    llr: np.ndarray      # [u][t][bit]
    h: np.ndarray        # [c][r][u] at the first pilot symbol, of the antennas as they were received
    noise: np.ndarray    # [u]
    offset: np.ndarray   # [u], Hz
    delay: np.ndarray    # [u], samples behind the frame's timing


def llrs(z, noise, modulation):
    """[…] to max-log LLRs […][bit]."""
    bits = sender.BITS[modulation]
    labels = (np.arange(2**bits)[:, None] >> np.arange(bits - 1, -1, -1) & 1).astype(np.uint8)
    far = abs(z[..., None] - sender.mapped(labels)) ** 2
    ones = [np.where(labels[:, b], far, np.inf).min(-1) for b in range(bits)]
    zeros = [np.where(labels[:, b], np.inf, far).min(-1) for b in range(bits)]
    return (np.stack(ones, -1) - np.stack(zeros, -1)) / noise[..., None]


def nearest(z, modulation):
    bits = sender.BITS[modulation]
    points = sender.mapped((np.arange(2**bits)[:, None] >> np.arange(bits - 1, -1, -1) & 1).astype(np.uint8))
    return points[abs(z[..., None] - points).argmin(-1)]


class Receiver:
    def __init__(self, f, modulations, rate=30.72e6, step=8.0, em=3, rounds=2):
        self.f, self.modulations, self.em, self.rounds = f, modulations, em, rounds
        self.taus = step * (np.arange(int(np.floor(f.prefix / step)) + 4) - 2)
        self.e = np.exp(-2j * np.pi * np.outer(f.frequencies, self.taus) / f.fft)  # [c][l]
        self.times = np.arange(f.symbols - 2) * (f.prefix + f.fft) / rate          # [s] from the first pilots on
        slots = np.arange(f.pilot_slots) < f.pilots
        self.sent = np.stack([sender.known_points(u * f.pilot_slots, f.pilot_slots) * slots for u in range(f.users)])
        self.sent = self.sent.reshape(f.users, f.training, f.carriers)  # [u][s][c]

    def solve(self, y, known, nu, powers, phi, weights):
        """g [k][u][l][r] and variances [k][u][l] from the pilots y [s][c][r]; `known` [s][c]."""
        f, count, times = self.f, len(phi), self.times[:self.f.training]
        turned = self.sent * np.exp(2j * np.pi * nu[:, None] * times)[..., None] * known  # [u][s][c]
        columns = np.einsum("ks,usc,cl->sckul", phi, turned, self.e).reshape(f.training * f.carriers, -1)
        matrix = columns.conj().T @ columns
        prior = (weights[:, None, None] * powers).reshape(-1)
        variance = 1 / (np.diag(matrix).real + 1 / prior)
        g = np.linalg.solve(matrix + np.diag(1 / prior), columns.conj().T @ (y * known[..., None]).reshape(len(columns), -1))
        shape = (count, f.users, len(self.taus))
        return g.reshape(*shape, -1), variance.reshape(shape)

    def estimate(self, y, known):
        """(nu, powers, g [u][l][r], variance [u][l]) from the pilots in units of the noise."""
        f, times = self.f, self.times[:self.f.training]
        antennas = max(1, np.count_nonzero(abs(y).sum((0, 1))))
        power = (abs(y) ** 2).sum() / max(known.sum(), 1) / antennas
        powers = np.full((f.users, len(self.taus)), max(power - 1, 1e-3) / f.users / len(self.taus))
        nu, spread = np.zeros(f.users), times.std()
        if f.training > 1:
            phi = np.stack([np.ones(f.training), (times - times.mean()) / spread])
            weights = np.array([1, (2 * np.pi * SPREAD_HZ * spread) ** 2])
            for _ in range(self.rounds):
                g, _ = self.solve(y, known, nu, powers, phi, weights)
                h = np.einsum("kulr,cl->kucr", g, self.e)
                product = (h[0].conj() * h[1]).sum((1, 2)).imag
                energy = (abs(h[0]) ** 2).sum((1, 2))
                nu = nu + np.where(energy > 0, product / np.where(energy > 0, energy, 1), 0) / (2 * np.pi * spread)
        one = np.ones((1, f.training))
        for step in range(self.em + 1):
            g, variance = self.solve(y, known, nu, powers, one, np.ones(1))
            if step < self.em:
                powers = (abs(g[0]) ** 2).sum(-1) / antennas + variance[0]
        return nu, powers, g[0], variance[0]

    def receive(self, y):
        """y [s][c][r] of one frame."""
        f = self.f
        ok = np.isfinite(y).all(-1)
        y = np.where(ok[..., None], y, 0)
        odd = (f.frequencies % 2 != 0) & ok[0]
        pilots, known = y[2:2 + f.training], ok[2:2 + f.training] & (self.sent[0] != 0)
        alone = (abs(y[0, odd]) ** 2).mean(0) if odd.any() else np.zeros(y.shape[-1])
        power = (abs(pilots) ** 2 * known[..., None]).sum((0, 1)) / max(known.sum(), 1)
        noise = np.maximum(alone, LEAST * power)
        scale = np.where(noise > 0, 1 / np.sqrt(np.where(noise > 0, noise, 1)), 0)
        white = y * scale
        nu, powers, g, variance = self.estimate(white[2:2 + f.training] * known[..., None], known)
        h = np.einsum("ulr,cl->cru", g, self.e)
        turn = np.exp(2j * np.pi * nu[:, None] * self.times)  # [u][s]
        antennas = y.shape[-1]
        expected = np.einsum("cru,us,usc->scr", h, turn[:, :f.training], self.sent)
        left = ((white[2:2 + f.training] - expected) * known[..., None]).reshape(-1, antennas)
        covariance = (left.T @ left.conj() + antennas * np.eye(antennas)) / (known.sum() + antennas)
        covariance += variance.sum() / 2 * np.eye(antennas)
        w = np.linalg.solve(h @ h.conj().transpose(0, 2, 1) + covariance, h)  # [c][r][u]
        mu = np.einsum("cru,cru->cu", w.conj(), h).real
        sums = np.einsum("cru,scr->suc", w.conj(), white[2 + f.training:])
        heard = mu > ERASED
        z = sums / np.where(heard, mu, 1).T * turn[:, f.training:].T.conj()[..., None]
        z = np.where(heard.T, z, 0)  # [s][u][c]
        data = np.arange(f.data_slots).reshape(-1, f.carriers) < f.data
        used = (ok[2 + f.training:] & data)[:, None] & heard.T
        own = (1 - mu) / np.where(heard, mu, 1)  # [c][u]: noise of the filter's output
        worth = np.where(heard & (own > 0), 1 / np.where(own > 0, own, 1), 0).T
        excess = np.zeros(f.users)
        for u, modulation in enumerate(self.modulations):
            phase = rate = 0.0
            count = far = 0
            for s in range(len(z)):
                phase += rate
                z[s, u] *= np.exp(-1j * phase)
                at = used[s, u]
                n = s + f.training
                decided = nearest(z[s, u], modulation)
                error = np.angle((worth[u] * z[s, u] * decided.conj())[at].sum()) if at.any() else 0.0
                alpha = max(.15, 2 * (2 * n + 1) / ((n + 1) * (n + 2)))
                z[s, u] *= np.exp(-1j * alpha * error)
                phase += alpha * error
                rate += max(.01, 6 / ((n + 1) * (n + 2))) * error
                far += (worth[u] * abs(z[s, u] - nearest(z[s, u], modulation)) ** 2)[at].sum()
                count += at.sum()
            excess[u] = min(10, max(1, far / count)) if count else 1
        most = max(sender.BITS[m] for m in self.modulations)
        llr = np.zeros((f.users, f.data, most))
        symbols = np.zeros((f.users, f.data), complex)
        for u, modulation in enumerate(self.modulations):
            points, keep = z[:, u].reshape(-1)[:f.data], used[:, u].reshape(-1)[:f.data]
            symbols[u] = np.where(keep, points, 0)
            variance_of = np.tile(own[:, u], len(z))[:f.data] * excess[u]
            llr[u, :, :sender.BITS[modulation]] = np.where(keep[:, None], llrs(points, np.where(keep, variance_of, 1),
                                                                               modulation), 0)
        heard_noise = np.where(heard, own, np.nan)
        with np.errstate(all="ignore"):
            mean = np.array([np.nanmean(heard_noise[:, u]) if heard[:, u].any() else 0 for u in range(f.users)])
        back = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1), 0)
        delay = (powers * self.taus).sum(1) / powers.sum(1) - f.prefix // 8
        return Received(symbols, llr, h * back[:, None], mean * excess, nu, delay)
