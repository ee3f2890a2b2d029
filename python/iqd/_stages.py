# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Stages on arrays."""

import collections
import functools
import itertools
import os
import re
import sys

import numpy as np

from iqd import _array, _yaml_keys
from iqd._errors import ConfigError, MissingModule

try:
    from iqd import _iqd
except ImportError as error:
    raise MissingModule(f"stages on arrays are not built for Python {sys.version_info[0]}.{sys.version_info[1]} "
                        f"({error}): see docs/python.md", name="iqd._iqd") from error

WHOLE_MOST = 1 << 22  # longer arrays are computed in blocks, as `iqd exec` does
USUAL_BLOCK = 65536

_BACKEND = re.compile(r"auto|cpu|cuda(:\d+)?")
_Link = collections.namedtuple("_Link", "entry keys connections name")  # a stage of a chain


def stage(entry, /, *, name="", from_=None, backend="auto", **keys):
    """A stage with its keys as in YAML: `iqd.stage("fir", taps=taps, decimation=4)`. Call it with arrays. Mistakes raise
    ConfigError with all of them. In a chain, `from_` says what its inputs read, and `name` what others call it."""
    if not isinstance(entry, str) or not isinstance(name, str):
        raise ConfigError(f"a stage and its name are texts, not {entry!r} and {name!r}")
    link = _Link(entry, _yaml_keys.text(keys), _connections(from_), name)
    return _class_of(entry)([link], backend=backend)


def chain(*stages, backend=None, ports=None):
    """Stages in a row: each reads the first output of the one before it, or what its `from_` says. `ports`: the wanted
    outputs, `stage.output`; otherwise those of the last stage, and those that no stage reads."""
    for part in stages:
        if not isinstance(part, Chain):
            raise ConfigError(f"a chain is of stages, iqd.stage(…), not of {part!r}")
    if not stages:
        raise ConfigError("a chain needs a stage")
    if backend is None:
        named = {part.backend for part in stages} - {"auto"} or {"auto"}
        if len(named) > 1:
            raise ConfigError(f"the stages of a chain have one backend, not {', '.join(sorted(named))}; set backend")
        backend, = named
    ports = [port for part in stages for port in part.ports] if ports is None else ports
    return Chain([link for part in stages for link in part._links], backend=backend, ports=ports)


def from_yaml(path, *, pipeline=None, backend=None, ports=None):
    """The stages of a pipeline file as a chain. Where they run is up to `backend`, not to the file."""
    path = os.fspath(path)
    document = _iqd.read_yaml(path)
    document = document if isinstance(document, dict) else {}
    found = document.get("pipelines") or [document]
    if not isinstance(found, list) or not all(isinstance(p, dict) for p in found):
        raise ConfigError(f"{path}: pipelines: expected a list of pipelines")
    names = ", ".join(str(p.get("name")) for p in found)
    if pipeline is not None:
        found = [p for p in found if p.get("name") == pipeline]
    if len(found) != 1:
        raise ConfigError(f"{path}: choose one pipeline of: {names}")
    stages = found[0].get("stages")
    if not isinstance(stages, list) or not stages:
        raise ConfigError(f"{path}: it has no stages")
    return Chain([_link_of(entry, path) for entry in stages], backend=backend or "auto", ports=ports)


def stages():
    """All stages: name → what it does."""
    return {name: described[2] for name, described in _described().items()}


class Chain:
    """Stages in a row, ready for arrays: see iqd.chain."""

    def __init__(self, links, *, backend="auto", ports=None):
        if not isinstance(backend, str) or not _BACKEND.fullmatch(backend):
            raise ConfigError(f"backend: {backend!r} is not one of auto, cpu, cuda, cuda:N")
        self._links, self.backend, self.ports = links, backend, list(ports or [])
        self.names = _names(links)
        stages = [(l.entry, l.keys, l.connections, name) for l, name in zip(links, self.names)]
        self._native = _iqd.chain(stages, self.ports, backend)
        self._inputs = [name for name, *_ in self._native.inputs]

    def __call__(self, *arrays, rate=None, frequency=None, block=None, **named):
        """The results: an Array, or several by name. Inputs are in the stage's order, or have their names. `rate` and
        `frequency` of the samples are those of the first array if it knows them, else 1 and 0. Arrays of more than 4 Mi
        samples are computed in blocks of 65,536, unless `block` says otherwise; block=0: in one."""
        if named:
            arrays = self._in_order(arrays, named)
        if block is not None and block < 0:
            raise ConfigError(f"block: at least 1 sample, or 0 for one block; is {block}")
        first = arrays[0] if arrays else None
        rate, frequency = _tuning(first, rate, frequency)
        if block is None:
            block = USUAL_BLOCK if _is_long(first) else 0
        made = self._native.run(arrays, rate, frequency, block)
        if type(made) is list:
            made = _array.joined(made)
        return made[0] if len(made) == 1 else self._several(made)

    def blocks(self, source, *, block=USUAL_BLOCK, rate=None, frequency=None):
        """Computes a stream block by block, as the daemon does: a generator of each block's results. Each block sees the
        samples before it, and state continues. `source`: the name of a recording, a Recording, an array, or an iterator of
        arrays of any lengths."""
        if block < 1:
            raise ConfigError(f"block: at least 1, is {block}")
        pieces, rate, frequency = _pieces(source, block, rate, frequency)
        stream, begin = self._native.stream(rate, frequency, block), None
        for piece in pieces:
            if begin is not None and getattr(piece, "gap", 0):  # a new stream begins, as in the daemon
                yield from self._of_blocks(stream.finish(), begin)
                stream, begin = self._native.stream(rate, frequency, block), None
            begin = getattr(piece, "sample", 0) if begin is None else begin
            samples = piece if isinstance(piece, np.ndarray) else getattr(piece, "data", piece)
            yield from self._of_blocks(stream.push(np.asarray(samples)), begin)
        yield from self._of_blocks(stream.finish(), begin)

    def _of_blocks(self, blocks, begin):
        for made in blocks:
            for array in made if begin else ():
                array._begin_at(begin)
            yield made[0] if len(made) == 1 else self._several(made)

    def _several(self, made):
        return Results(made)

    def _in_order(self, arrays, named):
        """All arrays in the order of the inputs: none may be left out before one that is given."""
        entry = self._links[0].entry
        if len(arrays) > len(self._inputs):
            raise ConfigError(f"{entry} takes {len(self._inputs)} arrays, {len(arrays)} are given")
        given = dict(zip(self._inputs, arrays))
        for name, array in named.items():
            name = name[:-1] if name not in self._inputs and name.endswith("_") else name  # in_
            if name not in self._inputs:
                raise ConfigError(f"{entry} has no input '{name}'; it has {', '.join(self._inputs)}")
            if name in given:
                raise ConfigError(f"input '{name}' is given twice")
            given[name] = array
        missing = [name for name in self._inputs[:max(map(self._inputs.index, given)) + 1] if name not in given]
        if missing:
            raise ConfigError(f"{entry}: input '{missing[0]}' is missing")
        return tuple(given[name] for name in self._inputs if name in given)

    def __reduce__(self):
        return Chain, (self._links,), {"backend": self.backend, "ports": self.ports}

    def __setstate__(self, state):
        self.__init__(self._links, **state)

    def __repr__(self):
        return "iqd.chain(" + ", ".join(f"{l.entry}: {l.keys}" for l in self._links) + ")"


class Stage(Chain):
    """A stage, ready for arrays: see iqd.stage."""

    def _several(self, made):
        return _tuple_of(self._links[0].entry, tuple(a.port.partition(".")[2] for a in made))(*made)

    def __reduce__(self):
        return _stage_again, (self._links[0], self.backend)

    def __repr__(self):
        return f"iqd.stage({self._links[0].entry!r}: {self._links[0].keys})"


class Results(tuple):
    """Several results of a chain: by number, by port (`equalizer.out`), or by the output's name if one stage has it."""

    def __getitem__(self, key):
        if not isinstance(key, str):
            return super().__getitem__(key)
        found = [a for a in self if a.port == key] or [a for a in self if key in a.port.split(".")]
        if len(found) != 1:
            raise KeyError(f"{key}: the ports are {', '.join(self.keys())}")
        return found[0]

    def __contains__(self, key):
        return key in self.keys() if isinstance(key, str) else any(key is a for a in self)

    def keys(self):
        return [a.port for a in self]

    def items(self):
        return [(a.port, a) for a in self]

    def __repr__(self):
        return "<iqd.Results " + ", ".join(f"{a.port} {a.dtype}{list(a.shape)}" for a in self) + ">"


@functools.lru_cache(maxsize=None)
def _described():
    return {described[0]: described for described in _iqd.stages()}


@functools.lru_cache(maxsize=None)
def _class_of(entry):
    """A class for each kind of stage, whose documentation help() shows."""
    if entry not in _described():
        return Stage  # which says that there is none
    return type(entry, (Stage,), {"__doc__": _yaml_keys.documentation(*_described()[entry]), "__module__": "iqd"})


@functools.lru_cache(maxsize=None)
def _tuple_of(entry, outputs):
    """A named tuple with these outputs, which can be pickled."""
    again = {"__reduce__": lambda self: (_tuple_again, (entry, outputs, tuple(self)))}
    return type(f"{entry}_results", (collections.namedtuple(f"{entry}_results", outputs, rename=True),), again)


def _tuple_again(entry, outputs, results):
    return _tuple_of(entry, outputs)(*results)


def _stage_again(link, backend):
    return _class_of(link.entry)([link], backend=backend)


def _connections(written):
    if written is None or isinstance(written, str):
        return {"": written} if written else None
    if not isinstance(written, dict) or not all(isinstance(t, str) for pair in written.items() for t in pair):
        raise ConfigError(f"from_: expected stage.output or {{input: stage.output}}, found {written!r}")
    return written


def _link_of(written, path):
    """A stage as a pipeline file has it: a name, or a name with its keys."""
    if isinstance(written, str):
        written = {written: None}
    if not isinstance(written, dict) or len(written) != 1:
        raise ConfigError(f"{path}: stages: expected a stage with its keys, found {written!r}")
    (entry, keys), = written.items()
    if not isinstance(keys, (dict, type(None))):
        raise ConfigError(f"{path}: {entry}: expected a map of keys, found {keys!r}")
    keys = dict(keys or {})
    keys.pop("backend", None)
    name, connections = keys.pop("name", ""), keys.pop("from", None)
    return _Link(entry, _yaml_keys.text(keys), _connections(connections), name)


def _names(links):
    """The stages' names; a second `fir` without one is fir_2."""
    used = collections.Counter()
    names = []
    for link in links:
        used[link.entry] += not link.name
        number = used[link.entry]
        names.append(link.name or (link.entry if number == 1 else f"{link.entry}_{number}"))
    return names


def _is_long(array):
    """Whether [n] or [channel][n] has more samples than are computed at once. What is on a device is computed in one."""
    return isinstance(array, np.ndarray) and array.size > WHOLE_MOST and max(array.shape[:2]) > WHOLE_MOST


def _tuning(first, rate, frequency):
    """The rate and frequency of a call: as given, or as the first array knows them."""
    rate = float((getattr(first, "rate", None) or 1.0) if rate is None else rate)
    frequency = float((getattr(first, "frequency", None) or 0.0) if frequency is None else frequency)
    if not 0 < rate < float("inf") or not abs(frequency) < float("inf"):
        raise ConfigError(f"rate has to be above 0, and the frequency finite; they are {rate:g} and {frequency:g}")
    return rate, frequency


def _pieces(source, block, rate, frequency):
    """The arrays of a source, and the rate and frequency of the stream."""
    if isinstance(source, (str, os.PathLike)):
        from iqd._recording import Recording  # pylint: disable=import-outside-toplevel
        source = Recording(source)
    if isinstance(source, np.ndarray):
        return [source], *_tuning(source, rate, frequency)
    if hasattr(source, "blocks"):
        return source.blocks(block), *_tuning(source, rate, frequency)
    pieces = iter(source)
    first = list(itertools.islice(pieces, 1))
    return itertools.chain(first, pieces), *_tuning(first[0] if first else None, rate, frequency)
