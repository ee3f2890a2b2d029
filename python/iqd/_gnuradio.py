# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The framing `gnuradio-tags` of docs/wire.md: tag headers of GNU Radio's ZeroMQ blocks, and what their tags say."""

import struct

import numpy as np

from iqd._wire import Malformed

MAGIC = b"\xf0\x5f\x01"
_HEADER = struct.Struct("<2xB2Q")
_MOST_TAGS = 4096
_DEEPEST = 16
# What the first sample's size suggests; it is all that the frames say.
_BY_BYTES = {8: "<c8", 4: "<f4", 2: "<i2", 1: "<i1"}


class _Pmt:
    """Reads GNU Radio's serialised PMTs, which are big-endian."""

    _NUMBERS = {3: ">i", 4: ">d", 5: ">2d", 11: ">Q", 13: ">q"}

    def __init__(self, data, at):
        self.data, self.at = data, at

    def number(self, layout):
        values = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return values[0] if len(values) == 1 else complex(*values)

    def value(self, depth=0):
        kind = self.number(">B")
        if kind in (0, 1):
            return kind == 0
        if kind == 2:
            length = self.number(">H")
            self.at += length
            return bytes(self.data[self.at - length:self.at]).decode("utf-8", "replace")
        if kind in self._NUMBERS:
            return self.number(self._NUMBERS[kind])
        if kind == 6:
            return None
        if depth < _DEEPEST and kind in (7, 9):  # a dict is a list of pairs
            return self.value(depth + 1), self.value(depth + 1)
        if depth < _DEEPEST and kind in (8, 12):
            return tuple(self.value(depth + 1) for _ in range(min(self.number(">I"), len(self.data))))
        raise Malformed(f"a tag has a PMT of the type {kind}")


def read_tags(frame):
    """(offset, tags, where the samples begin) of a frame that begins with GNU Radio's tag header."""
    data = bytes(frame)
    try:
        _, offset, count = _HEADER.unpack_from(data)
        if count > _MOST_TAGS:
            raise Malformed(f"a message with {count} tags")
        pmt, tags = _Pmt(data, _HEADER.size), {}
        for _ in range(count):
            pmt.at += 8  # the tag's own offset
            key, tags_value, _ = pmt.value(), pmt.value(), pmt.value()
            tags[key] = tags_value
    except (struct.error, TypeError):
        raise Malformed("a tag header that is cut off") from None
    return offset, tags, data[pmt.at:]


class TagStream:
    """Follows one stream: a tag holds until the next one, and offsets count items, including lost ones."""

    def __init__(self, dtype=None):
        """`dtype`: of the samples, as NumPy names it, or "sc16"; None: as the first sample's size suggests."""
        self._dtype, self._pairs = ("<i2", True) if dtype == "sc16" else (dtype, False)
        self._next = None
        self._rate = self._frequency = self._time = None  # _time: (offset, nanoseconds)

    def read(self, first, rest):
        """(header, array) of the frame with the tags and the frame with the other samples. The two are copied into one
        array."""
        offset, tags, start = read_tags(first)
        dtype = self._dtype or _BY_BYTES.get(len(start), "<c8")
        joined = b"".join((start, rest))
        step = np.dtype(dtype).itemsize * (2 if self._pairs else 1)
        if not joined or len(joined) % step:
            raise Malformed(f"{len(joined)} bytes are no whole number of samples of {step} bytes")
        x = np.frombuffer(joined, dtype).reshape((-1, 2) if self._pairs else -1)
        header = {"sample": offset, "gap": max(offset - self._next, 0) if self._next is not None else 0,
                  "dtype": dtype, "shape": list(x.shape), "dims": ["n", "iq"] if self._pairs else ["n"], "tags": tags}
        if self._pairs:
            header["datatype"] = "ci16_le"
        self._follow(offset, tags, header)
        self._next = offset + len(x)
        return header, x

    def _follow(self, offset, tags, header):
        rate, frequency, time = (tags.get(key) for key in ("rx_rate", "rx_freq", "rx_time"))
        self._rate = rate if isinstance(rate, float) and rate > 0 else self._rate
        self._frequency = frequency if isinstance(frequency, (int, float)) else self._frequency
        if isinstance(time, tuple) and len(time) == 2 and all(isinstance(t, (int, float)) for t in time):
            self._time = offset, int(time[0]) * 10**9 + round(time[1] * 1e9)
        if self._rate:
            header["sample_rate"] = self._rate
        if self._frequency is not None:
            header["frequency"] = self._frequency
        if self._time and self._rate:
            header["time_ns"] = self._time[1] + round((offset - self._time[0]) / self._rate * 1e9)
