# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The function of python_detector.yaml: bursts above the noise."""

import numpy as np


def detect(x, meta, window=64, threshold=6.0):
    """[burst][first sample, length, level over the noise in hundredths of a dB], of the bursts that begin in this block.

    x [channel][n] has meta.past samples before the block and meta.future after it; only the first channel counts.
    Positions are absolute, so nothing depends on where a block begins.
    """
    first = -(meta.position - meta.past) % window  # windows begin at multiples of their length
    count = (x.shape[1] - first) // window
    pieces = x[0, first:first + count * window].reshape(count, window)
    power = (pieces.real ** 2 + pieces.imag ** 2).mean(axis=1)
    noise = np.median(power[power > 0]) if power.any() else 1
    on = power > noise * 10 ** (threshold / 10)
    edges = np.flatnonzero(np.diff(on.astype(np.int8), append=0))  # the last window before each change
    begins = edges[~on[edges]] + 1
    ends = np.append(edges[on[edges]], count - 1)
    starts = meta.position - meta.past + first + begins * window
    mine = (starts >= meta.position) & (starts < meta.position + meta.n)
    return [[start, (end + 1 - begin) * window, round(1000 * np.log10(power[begin:end + 1].mean() / noise))]
            for start, begin, end in zip(starts[mine], begins[mine], ends[np.searchsorted(ends, begins[mine])])] or \
        np.empty((0, 3), np.int64)
