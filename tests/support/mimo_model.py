# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Soft MIMO detectors in double precision, written from their definitions, over many vectors at once.

y [v][rx] and h [v][rx][tx] are complex, noise [v] (or one number) is the variance of an antenna's complex noise; LLRs
are [v][tx][bit], positive for bit 0. Of equal costs, the lowest index wins.
"""

import numpy as np

BITS = {"qpsk": 2, "16qam": 4, "64qam": 6, "256qam": 8}


def constellation(bits):
    """Symbols of power 1 by number, b0 the highest bit; TS 38.211: b0 b2 … on the real axis, b1 b3 … on the other."""
    label = labels(bits)

    def axis(which):
        signs = 1 - 2 * label[:, which::2]
        value = np.ones(len(label))
        for b in range(bits // 2 - 1, -1, -1):  # (1-2b0) [4 - (1-2b2) [2 - (1-2b4)]]
            value = signs[:, b] * (2.0 ** (bits // 2 - 1 - b) - (value if b < bits // 2 - 1 else 0))
        return value

    return (axis(0) + 1j * axis(1)) / np.sqrt(2 * (2**bits - 1) / 3)


def labels(bits):
    """[symbol][bit]"""
    return np.arange(2**bits)[:, None] >> np.arange(bits - 1, -1, -1) & 1


def transmit(generator, rx, tx, modulation, vectors, noise, groups=None):
    """(y, h, bits) over Rayleigh channels of power 1, one for vectors / groups consecutive vectors."""
    def gaussian(*shape):
        return (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)) / np.sqrt(2)

    h = gaussian(groups or vectors, rx, tx)
    symbols = generator.integers(0, 2 ** BITS[modulation], (vectors, tx))
    sent = constellation(BITS[modulation])[symbols]
    y = np.einsum("vrt,vt->vr", np.repeat(h, vectors // len(h), axis=0), sent) + np.sqrt(noise) * gaussian(vectors, rx)
    return y, h, labels(BITS[modulation])[symbols]


def gmi(llr, bits):
    """Information that a bit's LLR carries, taken at its word."""
    return 1 - np.mean(np.logaddexp(0, -(1 - 2.0 * bits) * llr)) / np.log(2)


def per_vector(y, h, noise):
    """The channel and the noise of each vector: one channel may serve several consecutive vectors."""
    v = len(y)
    noise = np.asarray(noise, float).reshape(-1)
    return np.repeat(np.asarray(h, complex), v // len(h), axis=0), np.repeat(noise, v // len(noise))


def power_of_two(h):
    """The factor that brings the largest part of h into [1, 2): changes no LLR, and keeps squares small."""
    largest = np.maximum(np.abs(h.real), np.abs(h.imag)).max(axis=(1, 2))
    return 2.0 ** -np.floor(np.log2(np.where(largest > 0, largest, 1)))


def sorted_qr(y, h):
    """(Q^H y, R, perm): the weakest remaining column first; column j of R is antenna perm[j]. Of a column that is a sum
    of those before it nothing is left, and R's diagonal is 0 there."""
    v, rx, tx = h.shape
    q, r, perm = h.copy(), np.zeros((v, tx, tx), complex), np.tile(np.arange(tx), (v, 1))
    norms = (np.abs(q) ** 2).sum(axis=1)
    whole = norms.copy()
    all_ = np.arange(v)
    for i in range(tx):
        best = i + norms[:, i:].argmin(axis=1)
        for x in (q.transpose(0, 2, 1), r.transpose(0, 2, 1), perm, norms, whole):
            x[all_, i], x[all_, best] = x[all_, best].copy(), x[all_, i].copy()
        length = np.where(norms[:, i] <= 1e-12 * whole[:, i], 0, np.sqrt(norms[:, i]))
        r[:, i, i] = length
        q[:, :, i] *= np.where(length > 0, 1 / np.where(length > 0, length, 1), 0)[:, None]
        for j in range(i + 1, tx):
            r[:, i, j] = (q[:, :, i].conj() * q[:, :, j]).sum(axis=1)
            q[:, :, j] -= q[:, :, i] * r[:, i, j, None]
            norms[:, j] = (np.abs(q[:, :, j]) ** 2).sum(axis=1)
    return np.einsum("vri,vr->vi", q.conj(), y), r, perm


class Paths:
    """Lists of paths down the rows of R: the symbols chosen so far, [v][k][row], and their distances, [v][k]."""

    def __init__(self, z, r, points):
        self.z, self.r, self.points = z, r, points
        v, tx = z.shape
        self.row = tx - 1
        self.symbols = np.zeros((v, len(points), tx), np.int64)
        self.symbols[:, :, self.row] = np.arange(len(points))
        self.distance = np.abs(z[:, self.row, None] - r[:, self.row, self.row, None] * points) ** 2

    def copy(self):
        twin = object.__new__(Paths)
        twin.__dict__ = {**self.__dict__, "symbols": self.symbols.copy(), "distance": self.distance.copy()}
        return twin

    def costs(self):
        """Distances of every path k continued with every symbol q of the row below: [v][k][q]."""
        m = self.row - 1
        above = np.einsum("vj,vkj->vk", self.r[:, m, m + 1:], self.points[self.symbols[:, :, m + 1:]])
        delta = self.z[:, m, None] - above
        return self.distance[:, :, None] + np.abs(
            delta[:, :, None] - self.r[:, m, m, None, None] * self.points) ** 2

    def step(self, from_path, symbol, distance):
        """One row down: new path k continues path from_path[v][k] with a symbol."""
        self.row -= 1
        self.symbols = np.take_along_axis(self.symbols, from_path[:, :, None], axis=1)
        self.symbols[:, :, self.row] = symbol
        self.distance = distance

    def reduce(self):
        """The best path into every symbol of the row below."""
        costs = self.costs()
        self.step(costs.argmin(axis=1), np.arange(len(self.points)), costs.min(axis=1))

    def extend(self):
        """Every path continued with its best symbol of the row below."""
        costs = self.costs()
        self.step(np.broadcast_to(np.arange(costs.shape[1]), costs.shape[:2]), costs.argmin(axis=2), costs.min(axis=2))

    def shorten(self, survivors):
        """Reduces to the best paths."""
        best = np.sort(np.argsort(self.distance, axis=1, kind="stable")[:, :survivors], axis=1)
        self.symbols = np.take_along_axis(self.symbols, best[:, :, None], axis=1)
        self.distance = np.take_along_axis(self.distance, best, axis=1)

    def choose(self, survivors):
        """The best of all continuations, in the order of paths and symbols; the first of equal ones."""
        costs = self.costs()
        flat = costs.reshape(len(costs), -1)
        best = np.sort(np.argsort(flat, axis=1, kind="stable")[:, :survivors], axis=1)
        self.step(best // costs.shape[2], best % costs.shape[2], np.take_along_axis(flat, best, axis=1))


def llrs_of(symbols, distance, noise, bits, clip=None):
    """[v][bit] of one antenna, from the symbols [v][k] of a list of paths; within +-clip, also if one value is
    missing."""
    value = labels(bits)[symbols]  # [v][k][bit]
    least = [np.where(value == b, distance[:, :, None], np.inf).min(axis=1) for b in (0, 1)]
    llr = (least[1] - least[0]) / noise[:, None]
    return llr if clip is None else llr.clip(-clip, clip)


def by_antenna(perm, rows):
    """[v][antenna][…] from [row][v][…]: row m is antenna perm[m]."""
    out = np.empty((len(perm), len(rows)) + rows[0].shape[1:])
    for m, values in enumerate(rows):
        out[np.arange(len(perm)), perm[:, m]] = values
    return out


def whole_lists(paths):
    """The lists of a multi-pass trellis, as whole paths: the list of pass t has every symbol on row M - 1 - t."""
    lists = []
    for t in range(paths.row + 1):
        if t > 0:
            paths.reduce()
        whole = paths.copy()
        while whole.row > 0:
            whole.extend()
        lists.append(whole)
    return lists


def trellis(z, r, noise, bits, lists="own"):
    found = whole_lists(Paths(z, r, constellation(bits)))
    symbols = np.concatenate([one.symbols for one in found], axis=1)
    distance = np.concatenate([one.distance for one in found], axis=1)
    rows = []
    for m in range(z.shape[1]):
        own = found[-1 - m]
        use = (own.symbols, own.distance) if lists == "own" else (symbols, distance)
        rows.append(llrs_of(use[0][:, :, m], use[1], noise, bits))
    return rows, distance.min(axis=1)


def of_list(paths, noise, bits, clip):
    """A single list for all bits."""
    rows = [llrs_of(paths.symbols[:, :, m], paths.distance, noise, bits, clip) for m in range(paths.z.shape[1])]
    return rows, paths.distance.min(axis=1)


def k_best(z, r, noise, bits, survivors=None, clip=8):
    """The `survivors` best paths at every row, also the last; by default as many as there are symbols."""
    points = constellation(bits)
    paths = Paths(z, r, points)
    if survivors is not None and survivors < len(points):
        paths.shorten(survivors)
    while paths.row > 0:
        paths.choose(survivors or len(points))
    return of_list(paths, noise, bits, clip)


def one_pass(z, r, noise, bits, clip=8):
    """Reductions alone: the best path into every symbol of the last row."""
    paths = Paths(z, r, constellation(bits))
    while paths.row > 0:
        paths.reduce()
    return of_list(paths, noise, bits, clip)


def exhaustive(z, r, noise, bits):
    points, value = constellation(bits), labels(bits)
    v, tx = z.shape
    rest, distance = z[:, :, None], np.zeros((v, 1))
    for m in range(tx - 1, -1, -1):  # the symbol of row m is the fastest index of those so far
        rest = (rest[:, :, :, None] - r[:, :, m, None, None] * points).reshape(v, tx, -1)
        distance = (distance[:, :, None] + np.abs(rest[:, m]).reshape(v, -1, len(points)) ** 2).reshape(v, -1)
    distance = distance.reshape((v,) + tx * (len(points),))
    rows = []
    for m in range(tx):
        d = distance.min(axis=tuple(a for a in range(1, tx + 1) if a != tx - m))
        rows.append(np.stack([d[:, value[:, b] == 1].min(axis=1) - d[:, value[:, b] == 0].min(axis=1)
                              for b in range(bits)], axis=1) / noise[:, None])
    return rows, distance.reshape(v, -1).min(axis=1)


def lmmse(y, h, noise, bits):
    """For every antenna the unbiased estimate with its variance, then the nearest symbols of each bit's values."""
    points, value = constellation(bits), labels(bits)
    inverse = np.linalg.inv(h.conj().transpose(0, 2, 1) @ h + noise[:, None, None] * np.eye(h.shape[2]))
    error = inverse.diagonal(axis1=1, axis2=2).real * noise[:, None]  # 1 / (1 + SINR)
    x = np.einsum("vtu,vru,vr->vt", inverse, h.conj(), y)
    # mu |x / mu - s|^2 without the common part, so that mu may be 0
    distance = (1 - error)[:, :, None] * np.abs(points) ** 2 - 2 * (x.conj()[:, :, None] * points).real
    distance /= error[:, :, None]
    llr = np.stack([distance[:, :, value[:, b] == 1].min(axis=2) - distance[:, :, value[:, b] == 0].min(axis=2)
                    for b in range(bits)], axis=2)
    nearest = points[distance.argmin(axis=2)]
    return llr, (np.abs(y - np.einsum("vrt,vt->vr", h, nearest)) ** 2).sum(axis=1)


def detect(stage, y, h, noise, modulation, **keys):
    """The outputs of the stage `stage`: (llr, bits, distance)."""
    bits = BITS[modulation]
    parts = [detect_some(stage, *part, bits, keys) for part in pieces(y, h, noise, bits, stage)]
    llr, distance = (np.concatenate(x) for x in zip(*parts))
    return llr, (llr < 0).astype(np.uint8), distance


def pieces(y, h, noise, bits, stage):
    """Some vectors at a time, since intermediate results need memory."""
    h, noise = per_vector(y, h, noise)
    numbers = 2 ** (bits * h.shape[2] if stage == "exhaustive_detector" else 2 * bits)
    step = max(1, 2**22 // (numbers * h.shape[2]))
    return [(np.asarray(y[at:at + step], complex), h[at:at + step], noise[at:at + step])
            for at in range(0, len(y), step)]


def detect_some(stage, y, h, noise, bits, keys):
    factor = power_of_two(h)
    y, h = y * factor[:, None], h * factor[:, None, None]
    noise = np.maximum(noise * factor**2, np.finfo(np.float32).tiny)
    if stage == "lmmse_detector":
        llr, distance = lmmse(y, h, noise, bits)
    else:
        z, r, perm = sorted_qr(y, h)
        function = {"mtt_detector": trellis, "exhaustive_detector": exhaustive, "kbest_detector": k_best,
                    "one_pass_detector": one_pass}[stage]
        rows, distance = function(z, r, noise, bits, **keys)
        llr = by_antenna(perm, rows)
        beside = (np.abs(y) ** 2).sum(axis=1) - (np.abs(z) ** 2).sum(axis=1)  # of y, beside all columns of h
        distance = distance + np.maximum(beside, 0)
    return llr, distance / factor**2
