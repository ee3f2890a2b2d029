# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays that know their rate, their frequency and their axes."""

import collections

import numpy as np

Dim = collections.namedtuple("Dim", "name labels frequencies extent")
_Pick = collections.namedtuple("_Pick", "dim start step")  # which entries of a dimension an array has


class Format:
    """What all arrays of a port have in common. `dims`: name, labels and frequencies of each dimension; `along`: which of
    them is the stream, or counts what was found; `rate`: of the stream's items, 0 if it is none."""

    def __init__(self, port, dims, along, rate, frequency, source_rate, llr_scale):
        self.port, self.dims, self.along = port, [Dim(*d) for d in dims], along
        self.rate, self.frequency, self.source_rate, self.llr_scale = rate, frequency, source_rate, llr_scale

    def values(self, pick, size, first):
        """Hz, seconds or labels of `size` entries; None: they are only numbers. `first`: the position in the stream at
        which the array begins."""
        number = pick.start + pick.step * np.arange(size)
        if pick.dim == self.along:
            return (first + number) / self.rate if self.rate else None
        _, labels, frequencies, extent = self.dims[pick.dim]
        if isinstance(frequencies, tuple):
            start, step, wrap = frequencies
            return start + step * (np.where(number >= wrap, number - extent, number) if wrap else number)
        if frequencies is not None:
            return np.asarray(frequencies)[number]
        return np.asarray(labels)[number] if labels else None


class Known:
    """The facts that come with a result."""

    format = None
    items = None
    _first = 0  # the position in the stream of the first entry that there was before slices
    _picks = None  # of each dimension; None: not known

    @property
    def _along(self):
        """The pick of the stream's dimension, if the array is known to have it."""
        return next((p for p in self._picks or () if p.dim == self.format.along), None)

    @property
    def rate(self):
        if not self.format:
            return 0.0
        return self.format.rate / (self._along.step if self._along else 1)

    frequency = property(lambda self: self.format.frequency if self.format else 0.0)
    port = property(lambda self: self.format.port if self.format else "")
    llr_scale = property(lambda self: self.format.llr_scale if self.format else 0.0)

    @property
    def axes(self):
        return {self.format.dims[p.dim].name: self.format.values(p, size, self._first)
                for p, size in zip(self._picks or (), self.shape)}

    def _know(self, of, first, items):
        """Gives a new result what is known of it. The only item of its block has no dimension for that."""
        dims = list(range(len(of.dims)))
        if len(dims) > self.ndim:
            dims.remove(of.along)
        self.format, self._first, self.items = of, first, items
        self._picks = tuple(_Pick(d, 0, 1) for d in dims)
        return self

    def _begin_at(self, sample):
        """Its stream begins at this sample of the source."""
        if self.format.rate:
            self._first += round(sample * self.format.rate / self.format.source_rate)
        if self.items is not None and "start" in (self.items.dtype.names or ()):
            self.items["start"] += sample


class Array(Known, np.ndarray):
    """A result: a NumPy array with

    rate       items a second along its stream; 0 if it is none
    frequency  what was at 0 Hz, in Hz on the air; 0: not known
    axes       name of each dimension: its values in Hz or seconds, or labels, or None
    items      facts about what was found, as a structured array; None if there are none
    port       stage.output
    llr_scale  of whole LLRs: the value of 1

    Slices and copies are Arrays, and know what is theirs. Calculations give plain arrays."""

    _of_parent = None  # the dimensions, and their order, that the picks and items of a copy are for

    def __array_finalize__(self, parent):
        """Copies know what their parent does. Of views with other dimensions, only the rate and the frequency hold; NumPy
        transposes after this call, so that is decided later."""
        if isinstance(parent, Array) and parent.format:
            self.format, self._first = parent.format, parent._first
            self._kept, self._kept_items = parent._picks, parent.items
            self._of_parent = parent.shape, _order(parent)

    _kept = _kept_items = None

    @property
    def _picks(self):
        return self._kept if self._of_parent in (None, (self.shape, _order(self))) else None

    @_picks.setter
    def _picks(self, picks):
        self._kept, self._of_parent = picks, None

    @property
    def items(self):
        return self._kept_items if self._of_parent in (None, (self.shape, _order(self))) else None

    @items.setter
    def items(self, items):
        self._kept_items = items

    def __getitem__(self, key):
        if isinstance(key, str) and self.dtype.names is None and self.format:
            if key in (self.port, *self.port.split(".")):
                return self  # so that a chain with one result reads like one with several
            raise KeyError(f"{key}: the only port is {self.port}")
        part = super().__getitem__(key)
        if not isinstance(part, Array) or not self.format:
            return part
        keys = _basic(key, self.ndim)
        if keys is None or self._picks is None:
            return part.view(np.ndarray)
        part.items = self.items
        picks = []
        for pick, size, k in zip(self._picks, self.shape, keys):
            if pick.dim == self.format.along and self.items is not None:
                part.items = self.items[k]
            if isinstance(k, slice):
                start, _, step = k.indices(size)
                picks.append(_Pick(pick.dim, pick.start + start * pick.step, pick.step * step))
        part._picks = tuple(picks)
        return part if part._along is None or part._along.step > 0 else part.view(np.ndarray)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **more):
        if out is None:
            return getattr(ufunc, method)(*(_plain(i) for i in inputs), **more)
        getattr(ufunc, method)(*(_plain(i) for i in inputs), out=tuple(_plain(o) for o in out), **more)
        return out[0] if len(out) == 1 else out

    def __array_function__(self, function, types, arguments, more):
        return _plain(super().__array_function__(function, types, arguments, more))

    def __reduce__(self):
        return _unpickled, (np.asarray(self), self.format, self.items, self._first, self._picks)

    def __repr__(self):
        dims = "".join(f"[{self.format.dims[p.dim].name} {size}]" for p, size in zip(self._picks or (), self.shape))
        facts = [f"{self.rate:g} items/s" if self.rate else "", f"{self.frequency:g} Hz" if self.frequency else ""]
        return (f"<iqd.Array {self.port} {self.dtype} {dims or list(self.shape)}{''.join(', ' + f for f in facts if f)}>\n"
                f"{np.asarray(self)!r}")


def _plain(value):
    return value.view(np.ndarray) if isinstance(value, Array) else value


def _order(array):
    """The dimensions in the order of their strides."""
    return sorted(range(array.ndim), key=lambda d: -abs(array.strides[d])) if array.ndim > 1 else []


def _basic(key, ndim):
    """A slice or a number for each dimension; None: it is another kind of index."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if any(k is not Ellipsis and (isinstance(k, bool) or not isinstance(k, (int, slice, np.integer))) for k in keys):
        return None
    if Ellipsis in keys:
        at = keys.index(Ellipsis)
        keys[at:at + 1] = [slice(None)] * (ndim - len(keys) + 1)
    keys += [slice(None)] * (ndim - len(keys))
    return [int(k) if isinstance(k, np.integer) else k for k in keys]


def _unpickled(array, of, items, first, picks):
    made = array.view(Array)
    made.format, made.items, made._first, made._picks = of, items, first, picks
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
    return made._know(of, first, _structured(facts) if facts else None)


def joined(blocks):
    """The results of a stream's blocks as one: `blocks` has the arrays of each block."""
    return tuple(_joined([block[o] for block in blocks]) for o in range(len(blocks[0])))


def _joined(parts):
    of = parts[0].format
    made = np.concatenate([_plain(p) for p in parts], axis=of.along).view(Array)
    items = None if parts[0].items is None else np.concatenate([p.items for p in parts])
    return made._know(of, parts[0]._first, items)


def stream_array(samples, rate, frequency, first, step):
    """Samples of a recording as an Array, [n] or [channel][n]: each `step`-th from position `first` on; None if that is
    not known, since there are gaps."""
    names = ("channel", "n")[2 - samples.ndim:]
    along = len(names) - 1
    of = Format("recording", [Dim(name, (), None, 0) for name in names], along, rate, frequency, rate, 0.0)
    made = samples.view(Array)._know(of, first or 0, None)
    made._picks = None if first is None else tuple(_Pick(d, 0, step if d == along else 1) for d in range(samples.ndim))
    return made
