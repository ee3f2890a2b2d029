# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Partially linear multiuser detection (APSM) in double precision, written from its definition in real rows:

v1 = [Re r; Im r] for the real part of a user's symbol, v2 = [Im r; -Re r] for the imaginary part, in the order v1(0),
v2(0), v1(1) …; f(v) = w_L c.v + w_G sum over i of gamma_i exp(-|v - x_i|^2 / (2 s^2)), estimate f(v1) + j f(v2).
Received vectors are [t][antenna], sent symbols [t][user]."""

import dataclasses
import math

import numpy as np

import mimo_model

BITS = {"bpsk": 1, "qpsk": 2, "16qam": 4, "64qam": 6, "256qam": 8}
LEAST_NOISE = 1e-12


def constellation(modulation):
    return np.array([1.0 + 0j, -1]) if modulation == "bpsk" else mimo_model.constellation(BITS[modulation])


@dataclasses.dataclass
class Method:
    """The keys of the detectors, under their names."""

    modulation: str = "qpsk"
    window: int = 20
    passes: int = 1
    epsilon: float = 0.001
    weights: tuple = (0.5, 0.5)  # linear, Gaussian
    kernel_variance: float = 0.05
    kernel_scale: str = "2M"
    agc: bool = True
    start: str = "lls"  # zero, lls, port, genie
    window_weights: tuple = ()  # of a window's pilots, the newest first, then 0; none given: all equal
    kernels: int | None = None  # how many of a frame's last pilots may have one; None: all
    old_places: int = 0  # online: how many vectors of earlier frames the dictionary keeps
    antennas: tuple | None = None  # in use; None: all

    def variance(self, antennas):
        return self.kernel_variance * {"2M": 2 * antennas, "M2": antennas**2, "none": 1}[self.kernel_scale]

    def window_shares(self, count):
        """The weight of each of a window's `count` pilots, the oldest first; averaged over both its rows."""
        weight = np.ones(count)
        if self.window_weights:
            weight[:] = (*self.window_weights, *count * [0.0])[:count]
        return weight[::-1] / (2 * weight.sum())


def rows_of(r):
    """[t][antenna] → [2 t][2 antenna]"""
    v1, v2 = np.hstack([r.real, r.imag]), np.hstack([r.imag, -r.real])
    return np.stack([v1, v2], axis=1).reshape(2 * len(r), -1)


def targets_of(b):
    """[t][user] → [2 t][user]"""
    return np.stack([b.real, b.imag], axis=1).reshape(2 * len(b), -1)


def symbols_of(f):
    """[2 t][user] → [t][user]"""
    return f[0::2] + 1j * f[1::2]


def kernel(v, x, variance):
    """[row of v][row of x]; |v - x|^2 written out."""
    distance = (v**2).sum(axis=1)[:, None] + (x**2).sum(axis=1) - 2 * v @ x.T
    return np.exp(-np.maximum(distance, 0) / (2 * variance))


def least_squares(x, b):
    """(X'X + 1e-6 n I)^-1 X'y: [2 antenna][user]"""
    return np.linalg.solve(x.T @ x + 1e-6 * len(x) * np.eye(x.shape[1]), x.T @ b)


def genie_filter(h, noise):
    """Of the least mean square error: [antenna][user], z = conj(w) r."""
    gram = h @ h.conj().T
    return np.linalg.solve(gram + max(noise, 1e-12 * gram.trace().real) * np.eye(len(h)), h)


def as_real(w):
    """A complex filter [antenna][user] as c of real rows."""
    return np.vstack([w.real, w.imag])


@dataclasses.dataclass
class Model:
    """Of all users, after training; antennas in use only."""

    scale: float
    x: np.ndarray  # [row][2 antenna], scaled
    gamma: np.ndarray  # [row][user]
    c: np.ndarray  # [2 antenna][user]
    noise: np.ndarray = None  # [user]
    training_error: np.ndarray = None  # [user]
    gaussian: np.ndarray = None  # [user]

    def newest(self, places):
        """(x, gamma) of so many vectors, after the empty places."""
        missing = max(0, 2 * places - len(self.x))
        return tuple(np.vstack([np.zeros((missing, a.shape[1])), a[len(a) + missing - 2 * places:]])
                     for a in (self.x, self.gamma))

    def __call__(self, method, v):
        """f of scaled rows [row][2 antenna]: [row][user]"""
        w_linear, w_gaussian = method.weights
        f = w_linear * v @ self.c
        variance = method.variance(v.shape[1] // 2)
        step = 2048  # rows at a time, since the kernels in between need memory
        for at in range(0, len(v) if self.gamma.any() else 0, step):
            f[at:at + step] += w_gaussian * kernel(v[at:at + step], self.x, variance) @ self.gamma
        return f


def used_antennas(method, r):
    return r if method.antennas is None else r[:, list(method.antennas)]


def prepare(method, train_rx, train_tx):
    """(which pilots are valid, g, rows, targets); g is 0 if nothing can be learned."""
    valid = np.isfinite(train_rx).all(axis=1) & np.isfinite(train_tx).all(axis=1)
    power = np.mean(np.sum(np.abs(train_rx[valid]) ** 2, axis=1)) / train_rx.shape[1] if valid.any() else 0.0
    with np.errstate(over="ignore"):
        scale = 1 / math.sqrt(power) if power > 0 and math.isfinite(power) else 0.0
    if scale and not method.agc:
        scale = 1.0
    x = scale * rows_of(np.where(valid[:, None], train_rx, 0))
    return valid, scale, x, targets_of(np.where(valid[:, None], train_tx, 0))


def first_c(method, scale, valid, x, b, given):
    """c where training begins. `given`: of start port the filter [user][antenna], of genie (h [antenna][user], N)."""
    if method.start == "zero":
        return np.zeros((x.shape[1], b.shape[1]))
    if method.start == "lls":
        known = np.repeat(valid, 2)
        return least_squares(x[known], b[known]) / method.weights[0]
    if method.start == "genie":
        used = used_antennas(method, np.asarray(given[0], complex).T).T
        w = genie_filter(used, given[1])
    else:
        w = used_antennas(method, np.asarray(given, complex)).T
    return as_real(w) / (scale * method.weights[0])


def train(method, train_rx, train_tx, given=None, before=None):
    """The model of a frame's pilots; `before`: online, the previous one. None if nothing can be learned."""
    train_rx, train_tx = used_antennas(method, np.asarray(train_rx, complex)), np.asarray(train_tx, complex)
    valid, scale, pilots, b = prepare(method, train_rx, train_tx)
    if not scale:
        return None
    if before is None:
        before = Model(scale, np.zeros((0, pilots.shape[1])), np.zeros((0, b.shape[1])),
                       first_c(method, scale, valid, pilots, b, given))
        if not np.isfinite(before.c).all():
            return None
    old_x, old_gamma = before.newest(method.old_places)
    x, gamma, c = np.vstack([old_x, pilots]), np.vstack([old_gamma, np.zeros(b.shape)]), before.c.copy()
    kernels = kernel(x, x, method.variance(x.shape[1] // 2))
    own = gamma[len(old_x):]  # of this frame's pilots, a part of gamma
    project(method, valid, pilots, b, kernels[len(old_x):], gamma, own, c)

    error = b - method.weights[0] * pilots @ c - method.weights[1] * kernels[len(old_x):] @ gamma
    as_on_data = error + method.weights[1] * own  # without the pilot's own kernel, since data has none

    def mean_square(e):
        return 2 * np.mean(e[np.repeat(valid, 2)] ** 2, axis=0)

    return Model(scale, x, gamma, c, np.maximum(mean_square(as_on_data), LEAST_NOISE), np.sqrt(mean_square(error)),
                 np.sqrt(np.maximum(np.sum(gamma * (kernels @ gamma), axis=0), 0)))


def project(method, valid, x, b, kernels, gamma, own, c):
    """Training itself, on gamma (by `own`) and c: for each pilot on all of its window, with the same f."""
    count, (w_linear, w_gaussian) = len(valid), method.weights
    may = np.repeat(valid & (np.arange(count) >= count - (count if method.kernels is None else method.kernels)), 2)
    size = np.where(np.repeat(valid, 2), w_linear * (x**2).sum(axis=1) + w_gaussian * may, 0)
    inverse = np.where(size > 0, 1 / np.where(size > 0, size, 1), 0)
    for _ in range(method.passes):
        for t in range(count):
            oldest = max(0, t - method.window + 1)
            rows = slice(2 * oldest, 2 * t + 2)
            error = b[rows] - w_linear * x[rows] @ c - w_gaussian * kernels[rows] @ gamma
            beta = np.sign(error) * np.maximum(np.abs(error) - method.epsilon, 0) * inverse[rows, None]
            delta = np.repeat(method.window_shares(t + 1 - oldest), 2)[:, None] * beta
            own[rows] += may[rows, None] * delta
            c += x[rows].T @ delta


def llrs(z, noise, modulation):
    """[user][t][bit] of estimates [user][t], max-log, positive for bit 0."""
    points, bits = constellation(modulation), BITS[modulation]
    value = np.arange(len(points))[:, None] >> np.arange(bits - 1, -1, -1) & 1
    out = np.zeros((*z.shape, bits))
    for b in range(bits):
        part, level = (z.real, points.real) if b % 2 == 0 else (z.imag, points.imag)
        least = [np.min((part[..., None] - np.unique(level[value[:, b] == v])) ** 2, axis=-1) for v in (0, 1)]
        out[..., b] = (least[1] - least[0]) / noise[:, None]
    return out


@dataclasses.dataclass
class Found:
    """The outputs of the stage's ports for a frame."""

    symbols: np.ndarray  # [user][t]
    llr: np.ndarray  # [user][t][bit]
    bits: np.ndarray  # [user][t][bit]
    model: np.ndarray  # [user][4]: noise, |c|, norm of the kernels, rms of the training errors
    linear: np.ndarray  # [user][2 antenna]
    gamma: np.ndarray  # [user][row]


def detect(method, trained, rx):
    all_antennas, rx = rx.shape[1], used_antennas(method, np.asarray(rx, complex))
    valid = np.isfinite(rx).all(axis=1)
    f = trained(method, trained.scale * rows_of(np.where(valid[:, None], rx, 0)))
    symbols = np.where(valid, symbols_of(f).T, 0)
    llr = np.where(valid[:, None], llrs(symbols, trained.noise, method.modulation), 0)
    figures = [trained.noise, np.sqrt((trained.c**2).sum(axis=0)), trained.gaussian, trained.training_error]
    return Found(symbols, llr, (llr < 0).astype(np.uint8), np.transpose(figures),
                 linear_of(method, trained, all_antennas), trained.gamma.T)


def linear_of(method, model, antennas):
    linear = np.zeros((model.c.shape[1], 2, antennas))
    used = slice(None) if method.antennas is None else list(method.antennas)
    linear[:, :, used] = model.c.T.reshape(len(linear), 2, -1)
    return linear.reshape(len(linear), -1)


def erased(method, kept, rx, pilots, users):
    """The result for a frame that could not be trained; `kept`: the model that remains, or None."""
    bits = np.zeros((users, len(rx), BITS[method.modulation]))
    linear, gamma = np.zeros((users, 2 * rx.shape[1])), np.zeros((users, 2 * (method.old_places + pilots)))
    if kept is not None:
        linear = linear_of(method, kept, rx.shape[1])
        gamma[:, :2 * method.old_places] = kept.newest(method.old_places)[1].T
    return Found(np.zeros((users, len(rx)), complex), bits, bits.astype(np.uint8), np.zeros((users, 4)), linear, gamma)


def run(method, train_rx, train_tx, rx, given=None, online=False):
    """Consecutive frames [frame][t][…]: a list of Found. One of `given` may serve several frames."""
    found, model = [], None
    for f in range(len(train_rx)):
        start = None if given is None else given[f * len(given) // len(train_rx)]
        trained = train(method, train_rx[f], train_tx[f], start, model)
        found.append(erased(method, model, rx[f], *train_tx[f].shape) if trained is None else
                     detect(method, trained, rx[f]))
        if online:
            model = trained or model
    return found
