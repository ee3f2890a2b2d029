# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Writes SigMF recordings that iqd and other programs read."""

import contextlib
import datetime
import json
import math
import operator
import os
import tarfile
import tempfile
import warnings

import numpy as np

from iqd._datatypes import Datatype
from iqd._errors import ConfigError, ConversionWarning, Error
from iqd._iso_time import format_iso_time, parse_iso_time
from iqd._recording import Recording
from iqd._recording_files import paths_of

_AT_ONCE = 1 << 18  # samples that are converted at once
_NAMES = {"start": "core:sample_start", "count": "core:sample_count", "label": "core:label", "comment": "core:comment",
          "low": "core:freq_lower_edge", "high": "core:freq_upper_edge", "frequency": "core:frequency",
          "index": "core:global_index", "time": "core:datetime"}


def _as_array(x):
    """(the array, whether its last dimension is the two parts of complex integers)."""
    x = np.asarray(x)
    if x.dtype.kind not in "fciu" or x.dtype.itemsize > 16 or (x.dtype.kind in "iu" and x.dtype.itemsize > 4):
        raise ConfigError(f"{x.dtype} is not a type of samples; convert it to complex64, float32 or int16, for example")
    pairs = x.dtype.kind in "iu" and x.ndim > 1 and x.shape[-1] == 2
    if not 1 <= x.ndim - pairs <= 2:
        raise ConfigError(f"an array of shape {list(x.shape)} is no recording: give [n] or [channel][n], and complex "
                          "integers with a last dimension of 2")
    return x, pairs


def _natural(x, pairs):
    kind, size = x.dtype.kind, x.dtype.itemsize
    if kind in "fc":
        bits = max(size * 8 // (2 if kind == "c" else 1), 32)
        return ("c" if kind == "c" else "r") + f"f{min(bits, 64)}_le"
    return f"{'c' if pairs else 'r'}{kind}{size * 8}" + ("_le" if size > 1 else "")


def _time_ns(value):
    """Nanoseconds since 1970 of seconds, a date, NumPy's datetime64, or a text."""
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[ns]").astype(np.int64))
    if isinstance(value, datetime.datetime):
        value = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        passed = value - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
        return ((passed.days * 86400 + passed.seconds) * 10**6 + passed.microseconds) * 1000
    if isinstance(value, str):
        if parsed := parse_iso_time(value):
            return parsed[0]
    elif isinstance(value, (int, float)) and math.isfinite(value):
        return math.floor(value) * 10**9 + round((value - math.floor(value)) * 1e9)
    raise ConfigError(f"time {value!r} is none: give seconds since 1970, a datetime, or 2025-03-31T12:00:00Z")


def _number(name, value, low=-1e12, high=1e12):
    try:
        value = float(value)
    except (TypeError, ValueError):
        value = math.nan
    if not low <= value <= high:
        raise ConfigError(f"{name} must be a number from {low:g} to {high:g}")
    return int(value) if value.is_integer() else value


def _facts(entry, rate, what):
    """An annotation or a capture with SigMF's keys; places may be seconds."""
    if not hasattr(entry, "items"):
        raise ConfigError(f"{what} {entry!r} is no dict")
    facts = {}
    entry = {**entry}
    if "stop" in entry and "start" in entry:
        entry["count"] = _place(entry.pop("stop"), rate, what) - _place(entry["start"], rate, what)
    for key, value in entry.items():
        key = _NAMES.get(key, key)
        if value is None:
            continue
        if key in ("core:sample_start", "core:sample_count", "core:global_index"):
            value = _place(value, rate, what)
        elif key == "core:datetime":
            value = format_iso_time(_time_ns(value))
        elif hasattr(value, "item"):
            value = value.item()
        facts[key] = value
    facts.setdefault("core:sample_start", 0)
    return dict(sorted(facts.items(), key=lambda fact: fact[0] != "core:sample_start"))


def _place(value, rate, what):
    """Samples; floats are seconds."""
    try:
        place = round(value * rate) if isinstance(value, (float, np.floating)) else operator.index(value)
    except (TypeError, ValueError, OverflowError):
        place = -1
    if place < 0:
        raise ConfigError(f"{what}: {value!r} is no place in a recording: give samples, or seconds as a float")
    return place


class _Encoder:
    """Samples as the bytes of a file: [frame][channel]."""

    def __init__(self, x, pairs, datatype):
        # An integer array whose last dimension is 2 may be two real samples.
        self._pairs = pairs and datatype.is_complex
        if pairs and not datatype.is_complex and x.ndim > 2:
            raise ConfigError(f"complex integers cannot be written as {datatype.name}, which is real")
        if (self._pairs or x.dtype.kind == "c") != datatype.is_complex:
            raise ConfigError(f"{x.dtype} samples cannot be written as {datatype.name}")
        self._x, self._to = x, datatype
        self._from = Datatype(_natural(x, self._pairs))
        self.channels = 1 if x.ndim - self._pairs == 1 else x.shape[0]
        self.samples = x.shape[-2 if self._pairs else -1]
        self.clipped = 0

    def parts(self):
        for begin in range(0, self.samples, _AT_ONCE):
            part = self._x[..., begin:begin + _AT_ONCE, :] if self._pairs else self._x[..., begin:begin + _AT_ONCE]
            frames = part[:, None] if self.channels == 1 and part.ndim == 1 + self._pairs else np.swapaxes(part, 0, 1)
            yield self._bytes(frames)

    def _bytes(self, frames):
        if self._from.name.removesuffix("_le") == self._to.name.removesuffix("_be").removesuffix("_le"):
            numbers = frames.astype(f"{self._to.part.str[0]}c{self._to.bytes}" if frames.dtype.kind == "c"
                                    else self._to.part, copy=False)
            return np.ascontiguousarray(numbers).view(np.uint8).reshape(len(frames), -1)
        samples = frames if self._from.kind == "f" else self._from.to_samples(frames)
        bytes_, clipped = self._to.from_samples(samples)
        self.clipped += clipped
        return bytes_


@contextlib.contextmanager
def _replacing(*paths):
    """Names of files that replace these at the end; if anything fails, nothing has changed."""
    unfinished = [f"{path}.part" for path in paths]
    try:
        yield unfinished
        for part, path in zip(unfinished, paths):
            os.replace(part, path)
    except OSError as error:
        raise Error(f"{paths[0]}: cannot be written: {error.strerror}") from None
    finally:
        for part in unfinished:
            with contextlib.suppress(OSError):
                os.unlink(part)


def _write_data(path, encoder):
    with open(path, "wb") as file:
        for part in encoder.parts():
            file.write(part)


def _write_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _metadata(encoder, datatype, rate, texts, captures, annotations):
    root = {"global": {"core:datatype": datatype.name, "core:version": "1.2.5", "core:sample_rate": rate,
                       "core:num_channels": encoder.channels, "core:recorder": "iqd", **texts},
            "captures": captures, "annotations": annotations}
    for where, facts in (("captures", captures), ("annotations", annotations)):
        for fact in facts:
            if fact["core:sample_start"] + fact.get("core:sample_count", 0) > encoder.samples:
                raise ConfigError(f"{where}: sample {fact['core:sample_start']} and those behind it are not all in the "
                                  f"{encoder.samples} samples")
        facts.sort(key=lambda fact: fact["core:sample_start"])
    try:
        return json.dumps(root, indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise ConfigError(f"captures or annotations: {error}") from None


def _write_archive(path, encoder, text):
    stem = os.path.basename(path).removesuffix(".sigmf")
    folder = os.path.dirname(path) or "."
    with _replacing(path) as (part,), tempfile.TemporaryDirectory(prefix=".iqd-", dir=folder) as at:
        meta, data = (os.path.join(at, name) for name in ("meta", "data"))
        _write_data(data, encoder)
        _write_text(meta, text)
        with tarfile.open(part, "w", format=tarfile.PAX_FORMAT) as tar:
            tar.add(meta, f"{stem}.sigmf-meta")
            tar.add(data, f"{stem}.sigmf-data")


def _store(path, encoder, text, overwrite):
    names = (path,) if path.endswith(".sigmf") else paths_of(path)[::-1]
    for name in names:
        if not overwrite and os.path.lexists(name):
            raise Error(f"{name}: already exists; give overwrite=True or another name")
    if len(names) == 1:
        _write_archive(path, encoder, text)
    else:
        with _replacing(*names) as (data, meta):
            _write_data(data, encoder)
            _write_text(meta, text)


def _own_facts(x, frequency, time):
    """The only capture; what is not given is what the samples say themselves."""
    frequency = (getattr(x, "frequency", None) or None) if frequency is None else frequency
    time_ns = getattr(x, "time_ns", None) if time is None else _time_ns(time)
    return {"start": 0, "frequency": None if frequency is None else _number("frequency", frequency),
            "time": None if time_ns is None else format_iso_time(time_ns)}


def write(path, x, *, rate=None, frequency=None, time=None, datatype=None, annotations=(), captures=None,
          description=None, author=None, hardware=None, overwrite=False):
    """Writes a SigMF recording, and returns it as an iqd.Recording.

    path         NAME.sigmf-meta, or NAME.sigmf for an archive
    x            samples, [n] or [channel][n]; complex integers have a last dimension of 2
    rate         samples a second
    frequency    of 0 Hz
    time         of the first sample: seconds since 1970, a datetime or a text
                 (what is None comes from x, if it is an iqd.Array, a message or a recording; otherwise it is not known)
    datatype     in the file; None: as x has it. Numbers are scaled as iqd does, and those beyond full scale clipped
    annotations  dicts: start and stop or count, in samples, or seconds as floats; label, comment, low, high in Hz; or
                 SigMF's own keys
    captures     dicts in place of frequency and time: start, frequency, time, index
    """
    rate = _number("rate", getattr(x, "rate", None) if rate is None else rate, 1e-12)
    if captures is None:
        captures = [_own_facts(x, frequency, time)]
    x, pairs = _as_array(x)
    try:
        datatype = Datatype(_natural(x, pairs) if datatype is None else datatype)
    except ValueError as error:
        raise ConfigError(str(error)) from None
    encoder = _Encoder(x, pairs, datatype)
    captures = [_facts(c, rate, "captures") for c in captures]
    annotations = [_facts(a, rate, "annotations") for a in annotations]
    texts = {f"core:{key}": text for key, text in (("hw", hardware), ("author", author), ("description", description))
             if text is not None}
    text = _metadata(encoder, datatype, rate, texts, captures, annotations)
    path = os.fspath(path)
    _store(path, encoder, text, overwrite)
    if encoder.clipped:
        warnings.warn(f"{encoder.clipped} numbers are beyond full scale and were clipped", ConversionWarning,
                      stacklevel=2)
    return Recording(path)
