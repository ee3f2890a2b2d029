# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A recording with gaps and a retune."""

import numpy as np

import iqd

RATE = 1e6
LENGTH = 73_045  # with the samples that are missing
PRESENT = [*range(20_000), *range(20_700, 55_700), *range(68_045, LENGTH)]
TIME_NS = 1_743_422_400_000_000_000


def recording_with_holes(folder):
    """20,000 samples, 700 missing, 20,000, a retune, 15,000, 12,345 missing, 5,000."""
    r = np.random.default_rng(7)
    x = (0.2 * (r.standard_normal(60_000) + 1j * r.standard_normal(60_000))).astype(np.complex64)
    starts = [(0, 0, 100e6), (20_000, 20_700, 100e6), (40_000, 40_700, 101e6), (55_000, 68_045, 101e6)]
    captures = [{"core:sample_start": start, "core:frequency": frequency, "core:global_index": index,
                 "core:datetime": f"2025-03-31T12:00:00.{index * 1000:09d}Z"} for start, index, frequency in starts]
    return iqd.write_recording(folder / "holes", x, RATE, captures=captures)
