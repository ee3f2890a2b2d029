# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays that know their rate, their frequency and their axes."""

import numpy as np


class Format:
    """What all arrays of a port have in common. `dims`: (name, labels, frequencies) of each dimension; `varying`: which
    of them is the stream, or counts what was found; `rate`: of the stream's items, 0 if there is none."""

    def __init__(self, port, dims, varying, rate, frequency, source_rate, llr_scale):
        self.port, self.dims, self.varying = port, [tuple(d) for d in dims], varying
        self.rate, self.frequency, self.source_rate, self.llr_scale = rate, frequency, source_rate, llr_scale

    def axis(self, dim, size, first):
        """The values along a dimension: Hz, seconds or labels; None: only numbers. `first`: the position in the stream at
        which the array begins."""
        _, labels, frequencies = self.dims[dim]
        if dim == self.varying:
            return (first + np.arange(size)) / self.rate if self.rate else None
        if isinstance(frequencies, tuple):
            start, step, wrap = frequencies
            number = np.arange(size)
            return start + step * (np.where(number >= wrap, number - size, number) if wrap else number)
        if frequencies is not None:
            return np.asarray(frequencies)
        return np.asarray(labels) if labels else None


class Array(np.ndarray):
    """A result: a NumPy array with

    rate       items a second along its stream; 0 if it is none
    frequency  what was at 0 Hz, in Hz on the air; 0: not known
    axes       name of each dimension: its values in Hz or seconds, or labels, or None
    items      facts about what was found, as a structured array; None if there are none
    port       stage.output
    llr_scale  of whole LLRs: the value of 1

    Slices are Arrays and keep what is theirs; NumPy's operations give plain arrays."""

    format = None
    items = None
    _first = 0  # position in the stream
    _axes = None

    rate = property(lambda self: self.format.rate if self.format else 0.0)
    frequency = property(lambda self: self.format.frequency if self.format else 0.0)
    port = property(lambda self: self.format.port if self.format else "")
    llr_scale = property(lambda self: self.format.llr_scale if self.format else 0.0)

    def begin_at(self, sample):
        """Its stream begins at this sample of the source."""
        if self.format.rate:
            self._first += round(sample * self.format.rate / self.format.source_rate)
        if self.items is not None and "start" in (self.items.dtype.names or ()):
            self.items["start"] += sample

    @property
    def axes(self):
        if self._axes is None:
            self._axes = self._own_axes() if self.format else {}
        return self._axes

    def _own_axes(self):
        dims = list(range(len(self.format.dims)))
        if len(dims) > self.ndim:  # the only item of its block has no dimension for that
            dims.remove(self.format.varying or 0)
        return {self.format.dims[d][0]: self.format.axis(d, size, self._first) for d, size in zip(dims, self.shape)}

    def __getitem__(self, key):
        part = super().__getitem__(key)
        if not isinstance(part, Array) or not self.format:
            return part
        keys = _basic(key, self.ndim)
        if keys is None:
            return part.view(np.ndarray)
        part.format, part.items = self.format, self.items
        axes = {}
        for (name, values), k in zip(self.axes.items(), keys):
            if not isinstance(k, int):
                axes[name] = values if values is None else values[k]
            if self.items is not None and self.format.varying is not None \
                    and name == self.format.dims[self.format.varying][0]:
                part.items = self.items[k]
        part._axes = axes
        return part

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **more):
        if out is not None:
            more["out"] = tuple(_plain(o) for o in out)
        return getattr(ufunc, method)(*(_plain(i) for i in inputs), **more)

    def __array_function__(self, function, types, arguments, more):
        return _plain(super().__array_function__(function, types, arguments, more))

    def __reduce__(self):
        return _unpickled, (np.asarray(self), self.format, self.items, self._first, self.axes)

    def __repr__(self):
        dims = "".join(f"[{name} {size}]" for name, size in zip(self.axes, self.shape))
        facts = [f"{self.rate:g} items/s" if self.rate else "", f"{self.frequency:g} Hz" if self.frequency else ""]
        return f"<iqd.Array {self.port} {self.dtype} {dims}{''.join(', ' + f for f in facts if f)}>\n{np.asarray(self)!r}"


def _plain(value):
    return value.view(np.ndarray) if isinstance(value, Array) else value


def _basic(key, ndim):
    """A slice or a number for each dimension; None: it is another kind of index."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if any(k is not Ellipsis and not isinstance(k, (int, slice, np.integer)) for k in keys):
        return None
    if Ellipsis in keys:
        at = keys.index(Ellipsis)
        keys[at:at + 1] = [slice(None)] * (ndim - len(keys) + 1)
    keys += [slice(None)] * (ndim - len(keys))
    return [int(k) if isinstance(k, np.integer) else k for k in keys]


def _unpickled(array, of, items, first, axes):
    made = array.view(Array)
    made.format, made.items, made._first, made._axes = of, items, first, axes
    return made


def _structured(facts):
    """Columns as one structured array."""
    table = np.empty(len(facts[0][1]), [(key, values.dtype) for key, values in facts])
    for key, values in facts:
        table[key] = values
    return table


def wrapped(array, of, first, facts):
    """Called by the native half: a result with what is known of it."""
    made = array.view(Array) if isinstance(array, np.ndarray) else array
    made.format = of
    made._first = first
    if facts:
        made.items = _structured(facts)
    return made


def joined(blocks):
    """The results of a stream's blocks as one: `blocks` has the arrays of each block."""
    return tuple(_joined([block[o] for block in blocks]) for o in range(len(blocks[0])))


def _joined(parts):
    of = parts[0].format
    along = of.varying if of.varying is not None else 0
    made = np.concatenate([_plain(p) for p in parts], axis=along).view(Array)
    made.format, made._first = of, parts[0]._first
    if parts[0].items is not None:
        made.items = np.concatenate([p.items for p in parts])
    return made
