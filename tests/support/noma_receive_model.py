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
SURE = 40          # LLRs of decoded bits are within this, and known bits have it
LEAST_LEFT = 1e-4  # of a user whom the others are received without
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


def soften(llr, modulation):
    """LLRs […][bit] to the mean and the variance of a point […]."""
    bits = sender.BITS[modulation]
    labels = (np.arange(2**bits)[:, None] >> np.arange(bits - 1, -1, -1) & 1).astype(np.uint8)
    points = sender.mapped(labels)
    share = np.prod(1 / (1 + np.exp(np.where(labels == 1, 1, -1) * llr[..., None, :])), -1)  # […][point]
    mean = share @ points
    return mean, np.maximum(share @ abs(points) ** 2 - abs(mean) ** 2, 0)


def soft_bits(words, f, modulations):
    """LLRs of a frame's words [word][n] to those of each user's bits, [t][bit]."""
    each, n = [], words.shape[-1]
    words = np.clip(np.nan_to_num(words.astype(float)), -SURE, SURE)
    for m in modulations:
        bits = f.user_bits(m)
        own, words = words[:bits // n], words[bits // n:]
        filler = SURE * sender.signs(15, own.size, bits - own.size)
        each.append(np.r_[own.T.reshape(-1), filler].reshape(f.data, -1))
    return each


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

    def refine(self, y, x, weights, powers):
        """(powers, g [u][l][r], variance [u][l]) from all symbols y [s][c][r] and what is known of them, x [u][s][c]."""
        antennas = max(1, np.count_nonzero(abs(y).sum((0, 1))))
        columns = np.einsum("usc,cl->scul", x, self.e).reshape(weights.size, -1)
        weighted = columns.conj().T * weights.reshape(-1)
        matrix, q = weighted @ columns, weighted @ y.reshape(len(columns), -1)
        for step in range(self.em + 1):
            if step:
                powers = (abs(g) ** 2).sum(-1).reshape(powers.shape) / antennas + variance
            prior = powers.reshape(-1)
            variance = (1 / (np.diag(matrix).real + 1 / prior)).reshape(powers.shape)
            g = np.linalg.solve(matrix + np.diag(1 / prior), q)
        return powers, g.reshape(*powers.shape, -1), variance

    def filters(self, h, left, variance, known, share):
        """(w [c][r][u], mu [c][u], noise [c][u]) for channels h [c][r][u] and what is left of the pilots, [s][c][r].
        `share` [u]: the power that each has in what the others are received from."""
        left, antennas, users = (left * known[..., None]).reshape(-1, h.shape[1]), h.shape[1], h.shape[2]
        covariance = (left.T @ left.conj() + antennas * np.eye(antennas)) / (known.sum() + antennas)
        inverse = np.linalg.inv(covariance + variance.sum() / 2 * np.eye(antennas))
        gram = h.conj().transpose(0, 2, 1) @ inverse @ h
        w, noise = np.zeros(h.shape, complex), np.zeros((len(h), users))
        for u in range(users):
            d = np.where(np.arange(users) == u, 1, np.sqrt(share))
            column = np.linalg.inv(np.eye(users) + d[:, None] * gram * d)[:, :, u]  # [c][v]
            w[:, :, u] = np.einsum("rq,cqv,cv->cr", inverse, h, d * column)
            noise[:, u] = column[:, u].real
        mu = np.einsum("cru,cru->cu", w.conj(), h).real
        return w, mu, noise / np.where(mu > ERASED, mu, 1)

    def follow(self, z, worth, used):
        """Phases [u][s] of symbols z [s][u][c], by decisions."""
        phases = np.zeros(z.shape[1::-1])
        for u, modulation in enumerate(self.modulations):
            phase = rate = 0.0
            for s in range(len(z)):
                phase += rate
                points = z[s, u] * np.exp(-1j * phase)
                at, n = used[s, u], s + self.f.training
                error = np.angle((worth[u] * points * nearest(points, modulation).conj())[at].sum()) if at.any() else 0.0
                phase += max(.15, 2 * (2 * n + 1) / ((n + 1) * (n + 2))) * error
                rate += max(.01, 6 / ((n + 1) * (n + 2))) * error
                phases[u, s] = phase
        return phases

    def receive(self, y, soft=None):
        """y [s][c][r] of one frame. `soft`: LLRs of each user's bits, [t][bit], from a decoder."""
        f = self.f
        ok = np.isfinite(y).all(-1)
        y = np.where(ok[..., None], y, 0)
        odd = (f.frequencies % 2 != 0) & ok[0]
        pilots, known = y[2:2 + f.training], ok[2:2 + f.training] & (self.sent[0] != 0)
        alone = (abs(y[0, odd]) ** 2).mean(0) if odd.any() else np.zeros(y.shape[-1])
        power = (abs(pilots) ** 2 * known[..., None]).sum((0, 1)) / max(known.sum(), 1)
        noise = np.maximum(alone, LEAST * power)
        scale = np.where(noise > 0, 1 / np.sqrt(np.where(noise > 0, noise, 1)), 0)
        white = (y * scale)[2:]
        pilots, data = white[:f.training], white[f.training:]
        slots = np.arange(f.data_slots).reshape(-1, f.carriers) < f.data
        nu, powers, g, variance = self.estimate(pilots * known[..., None], known)
        turn = np.exp(2j * np.pi * nu[:, None] * self.times)  # [u][s]

        def separate(share):
            """(h, through [c][u][v], z [s][u][c], own noise [c][u], heard, used)"""
            h = np.einsum("ulr,cl->cru", g, self.e)
            left = pilots - np.einsum("cru,us,usc->scr", h, turn[:, :f.training], self.sent)
            w, mu, own = self.filters(h, left, variance, known, share)
            heard = mu > ERASED
            w = np.where(heard[:, None], w / np.where(heard, mu, 1)[:, None], 0)
            z = np.einsum("cru,scr->suc", w.conj(), data)
            return h, w.conj().transpose(0, 2, 1) @ h, z, own, heard, (ok[2 + f.training:] & slots)[:, None] & heard.T

        h, _, z, own, heard, used = separate(np.ones(f.users))
        worth = np.where(heard & (own > 0), 1 / np.where(own > 0, own, 1), 0).T
        phases = self.follow(z * turn[:, f.training:].T.conj()[..., None], worth, used)
        turn[:, f.training:] *= np.exp(1j * phases)
        if soft is not None:
            x = np.zeros((f.users, f.data_slots), complex)
            unsure = np.zeros((f.users, f.data_slots))
            for u, (llr, modulation) in enumerate(zip(soft, self.modulations)):
                x[u, :f.data], unsure[u, :f.data] = soften(llr, modulation)
                x[u, f.data:] = sender.known_points(2**20 + u * f.data_slots, f.data_slots)[f.data:]
            share = np.maximum(unsure[:, :f.data].mean(1), LEAST_LEFT)
            x, unsure = (v.reshape(f.users, -1, f.carriers) for v in (x, unsure))
            weights = ok[2 + f.training:] / (1 + np.einsum("u,usc->sc", powers.sum(1), unsure))
            powers, g, variance = self.refine(white, np.concatenate([self.sent, x], 1) * turn[..., None],
                                              np.concatenate([known, weights]), powers)
            h, through, z, own, heard, used = separate(share)
            through = through * (1 - np.eye(f.users))
            z = z - np.einsum("cuv,vs,vsc->suc", through, turn[:, f.training:], x)
            worth = np.where(heard & (own > 0), 1 / np.where(own > 0, own, 1), 0).T
        z = z * turn[:, f.training:].T.conj()[..., None]
        most = max(sender.BITS[m] for m in self.modulations)
        llr, symbols = np.zeros((f.users, f.data, most)), np.zeros((f.users, f.data), complex)
        mean = np.zeros(f.users)
        for u, modulation in enumerate(self.modulations):
            at = used[:, u]
            far = (worth[u] * abs(z[:, u] - nearest(z[:, u], modulation)) ** 2)[at]
            excess = min(10, max(1, far.mean())) if at.any() else 1
            points, keep = z[:, u].reshape(-1)[:f.data], at.reshape(-1)[:f.data]
            variance_of = np.where(keep, np.tile(own[:, u], len(z))[:f.data] * excess, 1)
            symbols[u] = np.where(keep, points, 0)
            llr[u, :, :sender.BITS[modulation]] = np.where(keep[:, None], llrs(points, variance_of, modulation), 0)
            mean[u] = own[heard[:, u], u].mean() * excess if heard[:, u].any() else 0
        back = np.where(scale > 0, 1 / np.where(scale > 0, scale, 1), 0)
        delay = (powers * self.taus).sum(1) / powers.sum(1) - f.prefix // 8
        return Received(symbols, llr, h * back[:, None], mean, nu, delay)
