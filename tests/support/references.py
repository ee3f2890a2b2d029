# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The stages' results in double precision, in as few lines of NumPy as possible."""

import numpy as np


def fir(x, taps, decimation=1):
    """y[m] = sum h[k] x[m decimation - k], over the last axis; zeros before the start."""
    taps = np.asarray(taps)
    if x.shape[-1] == 0:
        return np.zeros(x.shape, np.result_type(x, taps))
    rows = [np.convolve(row, taps)[:x.shape[-1]] for row in x.reshape(-1, x.shape[-1])]
    return np.array(rows).reshape(x.shape)[..., ::decimation]


def window(name, n, beta=6.76):
    """Symmetric windows."""
    k = np.arange(n) / max(n - 1, 1)
    cosines = {"rectangular": [1], "hann": [0.5, 0.5], "hamming": [0.54, 0.46], "blackman": [0.42, 0.5, 0.08],
               "blackman_harris": [0.35875, 0.48829, 0.14128, 0.01168]}
    if n == 1:
        return np.ones(1)
    if name == "kaiser":
        return np.kaiser(n, beta)
    return sum((-1) ** i * a * np.cos(2 * np.pi * i * k) for i, a in enumerate(cosines[name]))


def frames(x, size):
    count = x.shape[-1] // size
    return x[..., :count * size].reshape(*x.shape[:-1], count, size)


def fft(x, size, inverse=False, shift=False, shape="rectangular"):
    f = frames(x, size) * window(shape, size)
    if inverse:
        return np.fft.ifft(np.fft.ifftshift(f, axes=-1) if shift else f, axis=-1) * size
    y = np.fft.fft(f, axis=-1)
    return np.fft.fftshift(y, axes=-1) if shift else y


def rotate(x, frequency, rate, phase=0.0):
    cycles = (np.arange(x.shape[-1]) * (frequency / rate)) % 1.0
    return x * np.exp(1j * (2 * np.pi * cycles + phase))


def spectrum(x, size, shape="hann"):
    """dB, 0 Hz in the middle."""
    w = window(shape, size)
    power = np.mean(np.abs(np.fft.fft(frames(x, size) * w, axis=-1)) ** 2, axis=-2) / w.sum() ** 2
    return np.fft.fftshift(10 * np.log10(np.maximum(power, 1e-20)), axes=-1)


def peaks(x, threshold, most=16):
    """(position, value) of the largest local maxima, in order of position."""
    padded = np.concatenate([[-np.inf], x, [-np.inf]])
    found = [i for i in range(len(x)) if x[i] > threshold and x[i] > padded[i] and x[i] >= padded[i + 2]]
    kept = sorted(sorted(found, key=lambda i: (-x[i], i))[:most])
    return np.array([(i, x[i]) for i in kept], np.float32).reshape(-1, 2)


FULL_SCALE = {"sc16": 32768.0, "i16": 32768.0, "i8": 128.0, "i32": 2.0 ** 31}


def to_integer(x, dtype):
    """Rounded to nearest, halves to even, saturated; NaN gives 0."""
    kind = {"i16": np.int16, "i8": np.int8, "i32": np.int32}[dtype]
    scaled = np.nan_to_num(np.rint(x.astype(np.float64) * FULL_SCALE[dtype]), nan=0.0, posinf=1e300, neginf=-1e300)
    return np.clip(scaled, np.iinfo(kind).min, np.iinfo(kind).max).astype(kind)
