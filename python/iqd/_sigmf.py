# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The metadata of SigMF recordings, checked and laid out as iqd's file source does (docs/recordings.md)."""

import json
import math

from iqd._datatypes import KNOWN, Datatype
from iqd._errors import ConfigError
from iqd._iso_time import parse_iso_time

_MOST = 2**53  # the largest accepted sample index or byte count
_MOST_RATE = 1e12
_MOST_PROBLEMS = 10
# Extensions that describe samples, and leave them as they are.
_DESCRIBE = ("adsb", "antenna", "capture_details", "signal", "spatial", "traceability", "wifi")


class _Fact(dict):
    """An object of the metadata with its keys, such as `core:label`, and the usual ones as attributes."""

    def __init__(self, keys, **more):
        super().__init__(keys)
        self.__dict__.update(more)

    _shown = ()

    def __repr__(self):
        facts = {key: getattr(self, key) for key in self._shown}
        known = ", ".join(f"{key}={value!r}" for key, value in facts.items() if value not in (None, ""))
        return f"{type(self).__name__}({known})"


class Capture(_Fact):
    """A segment without a gap: `start` and `stop`, samples in the file; `gap`, samples that are missing before it;
    `frequency`, or None; `time_ns` since 1970, or None; `position` of its first sample in the stream, with those that
    are missing."""

    _shown = "start", "stop", "gap", "frequency", "time_ns"


class Annotation(_Fact):
    """A remark on the samples from `start` to `stop`: `label`, `comment`, and `low` and `high`, its edges in Hz."""

    _shown = "start", "stop", "label", "comment", "low", "high"


class Metadata:
    """Reads one metadata file. `problems` has all that is wrong with it."""

    def __init__(self, text, name):
        self._name, self.problems = name, []
        try:
            root = json.loads(text)
        except (ValueError, RecursionError):
            raise ConfigError(f"{name}: is not JSON, as a .sigmf-meta file must be (/usr/bin/python3 -m json.tool FILE "
                              "shows the error)") from None
        if not isinstance(root, dict) or not isinstance(root.get("global"), dict):
            raise ConfigError(f"{name}: is not SigMF: it has no \"global\" object")
        self.root, self._global = root, root["global"]
        self.datatype = self._read_datatype()
        self.rate = self._read_rate()
        self.channels = self._index(self._global, "global", "core:num_channels", 1)
        if not 1 <= self.channels <= 1000:
            self._problem("global", "core:num_channels", f"is {self.channels}; it must be 1 to 1000")
        self.offset = self._index(self._global, "global", "core:offset", 0)
        self.trailing_bytes = self._index(self._global, "global", "core:trailing_bytes", 0)
        self.dataset = self._text(self._global, "global", "core:dataset")
        if "/" in self.dataset or "\0" in self.dataset:
            self._problem("global", "core:dataset", "must be the name of a file beside the metadata, without folders")
        self.is_metadata_only = self._global.get("core:metadata_only") is True
        self.is_of_iqd = self._global.get("core:recorder") == "iqd"
        self._check_extensions()
        self.captures = self._read_captures()
        self.annotations = [a for a in self._list("annotations") if isinstance(a, dict)]

    def _problem(self, where, key, what):
        self.problems.append(f"{self._name}: {where}: {key} {what}")

    def _text(self, fields, where, key):
        value = fields.get(key, "")
        if isinstance(value, str):
            return value
        self._problem(where, key, "must be a string")
        return ""

    def _number(self, fields, where, key):
        value = fields.get(key)
        if value is None and key not in fields:
            return None
        if type(value) in (int, float) and math.isfinite(value):
            return value
        self._problem(where, key, "must be a number")
        return None

    def _index(self, fields, where, key, default=None):
        if key not in fields:
            return default
        value = fields[key]  # some programs write whole numbers as 1000.0
        if type(value) in (int, float) and 0 <= value <= _MOST and value == int(value):
            return int(value)
        self._problem(where, key, f"must be a whole number from 0 to {_MOST}")
        return default

    def _read_datatype(self):
        name = self._global.get("core:datatype")
        if name is None:
            self._problem("global", "core:datatype", "is missing; add the sample type, e.g. \"ci16_le\"")
            return None
        try:
            return Datatype(name)
        except ValueError:
            self.problems.append(f"{self._name}: core:datatype {name} is not supported; iqd reads {KNOWN}")
            return None

    def _read_rate(self):
        rate = self._number(self._global, "global", "core:sample_rate")
        if rate is not None and not 0 < rate <= _MOST_RATE:
            self._problem("global", "core:sample_rate", f"is {rate}; it must be more than 0, up to {_MOST_RATE:g}")
            return None
        return rate

    def _check_extensions(self):
        extensions = self._global.get("core:extensions")
        for one in extensions if isinstance(extensions, list) else ():
            if not isinstance(one, dict) or one.get("optional", True) is not False:
                continue
            name = str(one.get("name", "?"))
            if name not in _DESCRIBE and not name.startswith("ntia-"):
                self._problem("global", "core:extensions",
                              f"requires {name}, which iqd does not know; if the samples can be read without it, set "
                              "its \"optional\" to true")

    def _list(self, key):
        value = self.root.get(key, [])
        if isinstance(value, list):
            return value
        self.problems.append(f"{self._name}: {key} must be a list")
        return []

    def _read_captures(self):
        captures = []
        for i, fields in enumerate(self._list("captures")):
            where = f"captures[{i}]"
            if len(self.problems) >= _MOST_PROBLEMS:
                break
            if not isinstance(fields, dict):
                self.problems.append(f"{self._name}: {where} must be an object")
                continue
            if "core:sample_start" not in fields:
                self._problem(where, "core:sample_start", "is missing")
            text = self._text(fields, where, "core:datetime")
            time = parse_iso_time(text) if text else None
            if text and time is None:
                self._problem(where, "core:datetime", "must be a time such as 2025-03-31T12:00:00.123456789Z")
            captures.append(Capture(
                fields, start=self._index(fields, where, "core:sample_start", 0), stop=None, gap=0, position=0,
                frequency=self._number(fields, where, "core:frequency"), time=time, time_ns=None,
                index=self._index(fields, where, "core:global_index"),
                header_bytes=self._index(fields, where, "core:header_bytes", 0)))
            if len(captures) > 1 and captures[-1].start < captures[-2].start:
                self._problem(where, "core:sample_start",
                              "is less than the previous one; captures must be sorted by it")
        return captures

    def annotation(self, fields, shift):
        """One of `annotations` as an object, with positions in the file; None if it does not say where it is."""
        start, count = fields.get("core:sample_start"), fields.get("core:sample_count", 0)
        for value in (start, count):
            if type(value) not in (int, float) or not 0 <= value <= _MOST or value != int(value):
                return None
        start = int(start) - shift
        return Annotation(fields, start=start, stop=start + int(count), label=fields.get("core:label", ""),
                          comment=fields.get("core:comment", ""), low=fields.get("core:freq_lower_edge"),
                          high=fields.get("core:freq_upper_edge"))
