# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Reads SigMF recordings, without reading more of them than is asked for."""

import math
import operator
import os

import numpy as np

from iqd._array import stream_array
from iqd._errors import ConfigError
from iqd._message import Message
from iqd._recording_files import open_recording
from iqd._sigmf_layout import lay_out
from iqd._tables import quantity


def _last_at(places, place):
    """Which of the rising places is the last one at or before this place; the first, if there is none."""
    return max(int(np.searchsorted(places, place, "right")) - 1, 0)


class _Raw:
    """The numbers of a recording as its file has them: `recording.raw[0:1000]`."""

    def __init__(self, recording):
        self._recording = recording

    def __getitem__(self, key):
        # pylint: disable=protected-access
        return self._recording._read(self._recording._chosen(key), lambda numbers: numbers)


class Recording:
    """A SigMF recording, by either of its files, the name that they share, or an archive: `ARCHIVE.sigmf`, of several
    recordings `ARCHIVE.sigmf/NAME`.

    rec[1.5:2.0]   the samples of half a second: floats are seconds since the first sample, with gaps
    rec[:1000]     the first thousand samples of the file: integers count those that exist
    rec.raw[…]     the same as the file has them: integers, with a last dimension of 2 if they are complex
    len(rec)       samples of each channel

    Samples are complex64 or float32 of full scale 1, [n], or [channel][n] of several channels: an `iqd.Array`, whose rate
    and frequency stages know. Those of cf32_le and rf32_le are views of the file, and read only.

    rate, datatype, channels, path, meta (the metadata as a dict)
    frequency      of the first capture that has one, or None
    captures       segments without a gap: start, stop, gap, frequency, time_ns, and the keys of SigMF
    annotations    remarks on samples: start, stop, label, comment, low, high, and the keys of SigMF
    """

    def __init__(self, path, rate=None):
        """`rate`: samples a second, if the recording does not say it."""
        meta, name, data, file, begin, size = open_recording(path)
        if rate is not None and not (isinstance(rate, (int, float)) and 0 < rate < math.inf):
            raise ConfigError(f"rate is {rate!r}; it must be samples a second")
        meta.rate = meta.rate or rate
        self.path = os.fspath(path)
        self._datatype, self.channels, self.meta = meta.datatype, meta.channels, meta.root
        self._samples = lay_out(meta, name, data, size)
        self.rate = meta.rate
        self.captures, self.annotations = meta.captures, meta.annotations
        # Maps the file, which reads nothing yet.
        bytes_ = np.memmap(file, np.uint8, "r", begin, size) if size else np.zeros(0, np.uint8)
        self._bytes = bytes_.view(np.ndarray)
        self._starts = np.array([c.start for c in self.captures])
        self._positions = np.array([c.position for c in self.captures])

    @property
    def datatype(self):
        """Its name in SigMF, such as ci16_le."""
        return self._datatype.name

    @property
    def frequency(self):
        return next((c.frequency for c in self.captures if c.frequency is not None), None)

    @property
    def time_ns(self):
        """Of the first sample, nanoseconds since 1970; None if the recording does not say it."""
        return self.captures[0].time_ns

    @property
    def time(self):
        """The same in seconds."""
        return None if self.time_ns is None else self.time_ns / 10**9

    @property
    def duration(self):
        """Seconds from the first sample to the end, with gaps."""
        return self._end / self._require_rate()

    @property
    def gaps(self):
        """(the sample of the file behind it, how many are missing) for each gap."""
        return [(c.start, c.gap) for c in self.captures if c.gap]

    @property
    def raw(self):
        return _Raw(self)

    @property
    def _end(self):
        return self.captures[-1].position + self._samples - self.captures[-1].start

    def _require_rate(self):
        if not self.rate:
            raise ConfigError(f"{self.path}: does not say its sample rate: give rate=")
        return self.rate

    def _index(self, key):
        """The sample of the file for an integer, or for seconds."""
        if key is None or not isinstance(key, (float, np.floating)):
            return None if key is None else operator.index(key)
        if not math.isfinite(key):
            raise ConfigError(f"{key} is no time in a recording")
        position = round(float(key) * self._require_rate())
        position = max(position + self._end if key < 0 else position, 0)
        at = self.captures[_last_at(self._positions, position)]
        return min(at.start + position - at.position, at.stop)

    def _chosen(self, key):
        """The samples of a key: a range, or the number of one."""
        if isinstance(key, slice):
            step = None if key.step is None else operator.index(key.step)
            return range(self._samples)[self._index(key.start):self._index(key.stop):step]
        if isinstance(key, tuple):
            raise TypeError("a recording has one dimension, the samples: rec[start:stop][channel]")
        return range(self._samples)[self._index(key)]

    def _known(self, samples, chosen):
        """With what stages need to know; not if they run backwards, or the file does not say their rate."""
        if not isinstance(chosen, range) or not chosen or chosen.step < 0 or not self.rate:
            return samples
        begin, end = (self.captures[_last_at(self._starts, sample)] for sample in (chosen[0], chosen[-1]))
        has_gaps = begin.position - begin.start != end.position - end.start
        if has_gaps and chosen.step > 1:
            return samples
        first = None if has_gaps else begin.position - begin.start + chosen[0]
        return stream_array(samples, self.rate, begin.frequency or 0.0, first, chosen.step)

    def _read(self, chosen, convert):
        if isinstance(chosen, int):
            one = self._read(range(chosen, chosen + 1), convert)
            return one[0] if self.channels == 1 else one[:, 0]
        forth = chosen if chosen.step > 0 else chosen[::-1]
        numbers = convert(self._numbers(forth))
        numbers = numbers if chosen.step > 0 else numbers[::-1]
        return numbers[:, 0] if self.channels == 1 else np.ascontiguousarray(np.swapaxes(numbers, 0, 1))

    def _numbers(self, chosen):
        """[frame][channel] of these samples, whose step is positive."""
        frame, parts, stop = self._datatype.bytes * self.channels, [], chosen.stop
        for c in self.captures[_last_at(self._starts, chosen.start):]:
            if c.start >= stop:
                break
            here = range(max(chosen.start, c.start), min(stop, c.stop))
            begin = here.start + (chosen.start - here.start) % chosen.step
            if begin < here.stop:
                at = c.byte + (begin - c.start) * frame
                parts.append(self._bytes[at:at + (here.stop - begin) * frame].reshape(-1, frame)[::chosen.step])
        joined = parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros((0, frame), np.uint8)
        if chosen.step > 1:
            joined = np.ascontiguousarray(joined)
        return self._datatype.numbers(joined)

    def __getitem__(self, key):
        chosen = self._chosen(key)
        return self._known(self._read(chosen, self._datatype.to_samples), chosen)

    def __len__(self):
        return self._samples

    def __array__(self, dtype=None, copy=None):  # pylint: disable=unused-argument
        return self[:] if dtype is None else self[:].astype(dtype)

    def blocks(self, n, start=None, stop=None):
        """The samples in blocks of n, or of so many seconds if n is a float, as messages like those of `iqd.subscribe`:
        m.data, m.sample, m.time, m.gap, m.rate, m.frequency. A block ends early where a capture ends, so none has a gap
        within."""
        size = self._index(n) if isinstance(n, float) else operator.index(n)
        if size < 1:
            raise ConfigError(f"blocks of {n} samples are too short")
        chosen, seq, due = range(self._samples)[self._index(start):self._index(stop)], 0, None
        for c in self.captures:
            begin, end = max(c.start, chosen.start), min(c.stop, chosen.stop)
            for at in range(begin, end, size):
                data = self[at:min(at + size, end)]
                yield self._message(c, at, data, seq, due)
                seq, due = seq + 1, c.position + at - c.start + data.shape[-1]

    def _message(self, capture, at, data, seq, due):
        sample = capture.position + at - capture.start
        header = {"seq": seq, "sample": sample, "gap": 0 if due is None else sample - due, "dtype": data.dtype.str,
                  "shape": list(data.shape), "dims": ["n"] if self.channels == 1 else ["channel", "n"]}
        if self.rate:
            header["sample_rate"] = self.rate
        if capture.frequency is not None:
            header["frequency"] = capture.frequency
        if capture.time_ns is not None and self.rate:
            header["time_ns"] = capture.time_ns + round((at - capture.start) * 1e9 / self.rate)
        return Message("", header, data, self.path, None)

    def __repr__(self):
        rate = f" at {quantity(self.rate, 'S/s')}" if self.rate else ""
        frequency = f", {quantity(self.frequency, 'Hz')}" if self.frequency is not None else ""
        channels = f", {self.channels} channels" if self.channels > 1 else ""
        gaps = f", {len(self.gaps)} gap{'s' if len(self.gaps) > 1 else ''}" if self.gaps else ""
        return (f"<iqd.Recording {self.path}: {len(self)} samples of {self.datatype}{rate}{frequency}{channels}{gaps}, "
                f"{len(self.annotations)} annotation{'s' if len(self.annotations) != 1 else ''}>")
