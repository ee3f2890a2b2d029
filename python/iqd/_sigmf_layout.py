# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Where a recording's samples lie, which are missing, and when they were taken."""

from iqd._errors import ConfigError
from iqd._sigmf import Capture


class _GapFinder:
    """Finds the samples that are missing before a capture, by its global index, or else by its time. Captures without
    them are skipped: the last one that has an index, or a time, is compared."""

    def __init__(self, rate):
        self._rate = rate
        self._indexed = self._timed = None
        self._since_index = self._since_time = 0

    def lost_before(self, c):
        lost = 0
        if self._indexed is not None and c.index is not None:
            present = c.start - self._indexed.start + self._since_index
            lost = max(c.index - self._indexed.index - present, 0)
        elif self._timed is not None and c.time is not None and self._rate:
            lost = self._by_time(c)
        self._since_index = 0 if c.index is not None else self._since_index + lost
        self._since_time = 0 if c.time is not None else self._since_time + lost
        if c.index is not None:
            self._indexed = c
        if c.time is not None:
            self._timed = c
        return lost

    def _by_time(self, c):
        elapsed = (c.time[0] - self._timed.time[0]) * 1e-9
        missing = round(elapsed * self._rate - (c.start - self._timed.start + self._since_time))
        # A gap must exceed the resolution of the times, and the drift between clocks.
        resolution = max(self._timed.time[1], c.time[1]) * 1e-9
        smallest = max(1, int(resolution * self._rate), elapsed * 10e-6 * self._rate)
        return missing if smallest <= missing < 2**53 else 0


def _normalise(meta):
    """Makes positions those in the data file; returns by how much they were moved. SigMF counts from core:offset; a
    start below it was meant from the beginning of the file."""
    captures = meta.captures
    shift = meta.offset if not captures or captures[0].start >= meta.offset else 0
    for c in captures:
        c.start -= shift
    if not captures or captures[0].start > 0:
        captures.insert(0, Capture({}, start=0, stop=None, gap=0, position=0, frequency=None, time=None, time_ns=None,
                                   index=None, header_bytes=0))
    return shift


def _set_times(captures, rate):
    """A capture keeps the time in its metadata; without one, time continues from its neighbour. A time within one
    sample of the running time does not change it."""
    first = next((i for i, c in enumerate(captures) if c.time is not None), None)
    if first is None or not rate:
        return
    period = 1e9 / rate
    captures[first].time_ns = captures[first].time[0]
    for c, after in reversed(list(zip(captures[:first], captures[1:]))):
        c.time_ns = after.time_ns - round((after.position - c.position) * period)
    for before, c in zip(captures[first:], captures[first + 1:]):
        c.time_ns = before.time_ns + round((c.position - before.position) * period)
        if c.time is not None and abs(c.time[0] - c.time_ns) >= max(period, c.time[1]):
            c.time_ns = c.time[0]


def _check(meta, name, data, samples):
    """Problems of captures and annotations."""
    last = None
    for c in meta.captures:
        if c.index is None:
            continue
        if last is not None and c.index - last.index < c.start - last.start:
            return [f"{name}: at sample {c.start} core:global_index advances by less than the samples in between; a "
                    "new stream needs its own recording"]
        last = c
    if meta.captures[-1].start > samples:
        return [f"{name} has a capture that starts at sample {meta.captures[-1].start}, but {data} has {samples} "
                "samples: it is cut short"]
    end = max((a.stop for a in meta.annotations), default=0)
    if end > samples:
        return [f"{name} has an annotation up to sample {end}, but {data} has {samples} samples: it is cut short"]
    return []


def _samples_in(meta, name, data, size):
    payload = size - meta.trailing_bytes - sum(c.header_bytes for c in meta.captures)
    if payload < 0:
        raise ConfigError(f"{data}: {size} bytes are fewer than core:trailing_bytes and core:header_bytes together")
    frame = meta.datatype.bytes * meta.channels
    if payload % frame:
        raise ConfigError(f"{data}: {payload} bytes of samples are not a whole number of {meta.datatype.name} samples "
                          f"of {meta.channels} channel{'s' if meta.channels > 1 else ''} ({frame} bytes each): it is "
                          f"cut short or {name} describes another file")
    return payload // frame


def lay_out(meta, name, data, size):
    """Completes captures and annotations for a data file of this size: each capture has `byte`, where its samples
    begin, and `stop`, `gap`, `position` and `time_ns`. Returns the number of samples. Raises ConfigError."""
    shift = _normalise(meta)
    samples = _samples_in(meta, name, data, size)
    meta.annotations = [a for a in (meta.annotation(fields, shift) for fields in meta.annotations) if a is not None]
    if meta.is_of_iqd:  # iqd announces captures before it writes their samples, which a kill may have prevented
        meta.captures = [c for c in meta.captures if c.start <= samples]
        meta.annotations = [a for a in meta.annotations if a.stop <= samples]
    if problems := _check(meta, name, data, samples):
        raise ConfigError(problems)
    gaps, headers, position = _GapFinder(meta.rate), 0, 0
    for c, after in zip(meta.captures, [*meta.captures[1:], None]):
        headers += c.header_bytes
        c.stop = samples if after is None else after.start
        c.byte = headers + c.start * meta.datatype.bytes * meta.channels
        c.gap = gaps.lost_before(c)
        c.position = position + c.gap
        position = c.position + c.stop - c.start
    _set_times(meta.captures, meta.rate)
    return samples
