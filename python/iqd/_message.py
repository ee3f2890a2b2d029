# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""One message of a topic."""

import numpy as np


def axis_values(axis, length):
    """The radio frequencies of a dimension's entries, in Hz, from its object in `axes` (docs/wire.md)."""
    if "values" in axis:
        return np.array(axis["values"], np.float64)
    k = np.arange(length)
    return axis["first"] + axis["step"] * (k - length * (k >= axis.get("wrap", length)))


def _column(values):
    """A list of facts as an array: numbers that are not finite came as None, complex ones as pairs."""
    if any(isinstance(v, list) for v in values):
        pairs = [v if isinstance(v, list) and len(v) == 2 else (np.nan, np.nan) for v in values]
        pairs = np.array([[np.nan if part is None else part for part in pair] for pair in pairs], np.float64)
        return pairs[:, 0] + 1j * pairs[:, 1]
    if any(isinstance(v, (str, dict)) for v in values):
        return np.array(values, object)
    if all(isinstance(v, int) for v in values):
        return np.array(values)
    return np.array([np.nan if v is None else v for v in values], np.float64)


def facts_array(facts):
    """A list of objects, such as the packets of a header, as a structured array."""
    keys = dict.fromkeys(key for one in facts for key in one)
    columns = {key: _column([one.get(key) for one in facts]) for key in keys}
    array = np.empty(len(facts), [(key, column.dtype) for key, column in columns.items()])
    for key, column in columns.items():
        array[key] = column
    return array


class Message:
    """What a topic says about one block.

    data      the array: read only, and in the memory that it was received in; [channel][n], [packet][bit] …
    header    the header as a dict, with all that docs/wire.md lists
    topic     the topic
    endpoint  where it came from
    seq       counts the messages of the topic; None if the framing has no such number
    sample    index of the source's sample that the first element belongs to
    gap       samples that are missing before this block
    time_ns   time of that sample, nanoseconds since 1970
    """

    __slots__ = ("data", "header", "topic", "endpoint", "seq", "sample", "gap", "time_ns", "received_ns", "_items")

    def __init__(self, topic, header, data, endpoint, received_ns):
        self.topic, self.header, self.data = topic, header, data
        self.endpoint, self.received_ns = endpoint, received_ns
        get = header.get
        seq, sample, gap, time_ns = get("seq"), get("sample"), get("gap"), get("time_ns")
        self.seq = seq if type(seq) is int and seq >= 0 else None
        self.sample = sample if type(sample) is int else None
        self.gap = gap if type(gap) is int and gap > 0 else 0
        self.time_ns = time_ns if type(time_ns) is int else None

    def _number(self, key):
        value = self.header.get(key)
        return value if type(value) in (int, float) else None

    @property
    def time(self):
        """Time of `sample`, seconds since 1970; `time_ns` is exact. None if it is not known."""
        return None if self.time_ns is None else self.time_ns / 10**9

    @property
    def latency(self):
        """Age of the first sample when this host had received the message, in seconds. With a radio's own clock it is
        off by the difference of the two clocks."""
        return None if self.time_ns is None or self.received_ns is None else (self.received_ns - self.time_ns) / 1e9

    @property
    def rate(self):
        """Of the payload's stream, in samples a second; None if the framing does not say it."""
        rate = self._number("item_rate")
        return self._number("sample_rate") if rate is None else rate

    @property
    def frequency(self):
        """The radio frequency of the payload's 0 Hz; 0: none is known. None if the framing does not say it."""
        return self._number("frequency")

    @property
    def dims(self):
        """Names of the dimensions of `data`, such as ("channel", "n"); empty if the framing does not say them."""
        dims = self.header.get("dims")
        return tuple(dims) if isinstance(dims, list) and len(dims) == self.data.ndim else ()

    @property
    def axes(self):
        """For each dimension an array with the values of its entries, or None: radio frequencies in Hz of bins and
        channels, and seconds since `time` of samples."""
        axes, rate = self.header.get("axes"), self.rate
        values = dict.fromkeys(self.dims)
        for name, length in zip(self.dims, self.data.shape):
            if isinstance(axes, dict) and name in axes:
                values[name] = axis_values(axes[name], length)
            elif name == "n" and rate:
                values[name] = np.arange(length) / rate
        return values

    @property
    def labels(self):
        """Names of the entries of dimensions that have some: {"kind": ["zf", "mmse"]}."""
        lists = {name: self.header.get(name + "s") for name in self.dims}
        return {name: names for name, names in lists.items()
                if isinstance(names, list) and names and isinstance(names[0], str)}

    @property
    def items(self):
        """The facts of packets or frames as a structured array, one row for each; None if the port has no facts."""
        try:
            return self._items
        except AttributeError:
            lists = (self.header.get(name + "s") for name in self.dims)
            facts = next((f for f in lists if isinstance(f, list) and all(isinstance(x, dict) for x in f)), None)
            self._items = None if facts is None else facts_array(facts)
        return self._items

    @property
    def samples(self):
        """`data`; pairs of 16-bit integers become complex numbers of full scale 1, which copies them."""
        if self.data.dtype != np.int16 or self.header.get("datatype") != "ci16_le":
            return self.data
        scaled = np.multiply(self.data, np.float32(1 / 32768), dtype=np.float32)
        return scaled.view(np.complex64)[..., 0]

    def __array__(self, dtype=None, copy=None):  # pylint: disable=unused-argument
        return self.data if dtype is None else self.data.astype(dtype)

    def __repr__(self):
        dims = self.dims or [""] * self.data.ndim
        shape = "".join(f"[{name}{' ' if name else ''}{n}]" for name, n in zip(dims, self.data.shape))
        seq = "" if self.seq is None else f" {self.seq}"
        return f"<iqd.Message {self.topic}{seq}: {self.data.dtype} {shape}, sample {self.sample}, gap {self.gap}>"
