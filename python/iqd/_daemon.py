# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A running iqd: its status, and what it is set to."""

import os
import re
import time
import warnings
from collections.abc import Mapping
from urllib.parse import quote

from iqd._errors import Error, Timeout
from iqd._monitor import Monitor, NoSuchName, NothingAnswers
from iqd._seconds import seconds_of
from iqd._stage_keys import StageKeys, near
from iqd._tables import pipeline_table

_PAUSE = 0.02  # seconds between two questions
_PATIENCE = 60.0  # for a recording that is being closed
_SERIES = re.compile(r"^([a-zA-Z_:][\w:]*(?:\{.*\})?) (\S+)$", re.MULTILINE)


class _Named(Mapping):
    """A mapping of names to objects that are made when they are looked up."""

    def __init__(self, what, names, make):
        self._what, self._names, self._make = what, names, make

    def __getitem__(self, name):
        if name not in self._names:
            raise NoSuchName(f"there is no {self._what} '{name}'{near(name, self._names)}; there are: "
                             + (", ".join(self._names) or "none"))
        return self._make(name)

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def _ipython_key_completions_(self):
        return list(self._names)

    def __repr__(self):
        return f"<{', '.join(self._names)}>"


class Pipeline:
    """One pipeline of a daemon: `pipeline["fir"]["taps"] = taps`."""

    def __init__(self, daemon, name):
        self._daemon, self.name = daemon, name

    @property
    def status(self):
        """Its part of `GET /api/status`."""
        return next(p for p in self._daemon.status["pipelines"] if p["name"] == self.name)

    @property
    def plan(self):
        """Its part of `GET /api/pipeline`: ports with shapes, rates and frequencies, stages, memory, queues."""
        return next(p for p in self._daemon.plan["pipelines"] if p["name"] == self.name)

    @property
    def stages(self):
        """The source, stages and outlets, by name."""
        names = [part["name"] for part in self._daemon.parts() if part["pipeline"] == self.name]
        return _Named(f"stage of {self.name}", names, lambda name: self._daemon.keys_of(self.name, name))

    @property
    def source(self):
        return self["source"]

    def __getitem__(self, name):
        return self.stages[name]

    def _ipython_key_completions_(self):
        return list(self.stages)

    def __repr__(self):
        return pipeline_table({"pipelines": [self.status]})


class Daemon:
    """A running iqd. Each look-up asks it, over one HTTP connection. Any thread.

    d.status                       counters, latency, state: a dict
    d.pipelines["lab"].status      the same of one pipeline
    d["fir"]["taps"] = [1, 2, 1]   the keys of a stage; d["lab/fir"] if several pipelines have one
    d.source["gain"] = 25          those of the source
    d["fir"].update(taps=…, …)     several keys at once: all of them, or none
    d.reload()                     reads the file again
    """

    def __init__(self, address=None, token=None):
        self._monitor = Monitor(address, token)

    @property
    def address(self):
        return self._monitor.address

    @property
    def status(self):
        return self._monitor.call("GET", "/api/status")

    @property
    def plan(self):
        """The plan of each pipeline: `GET /api/pipeline`."""
        return self._monitor.call("GET", "/api/pipeline")

    @property
    def metrics(self):
        """All counters and gauges of docs/metrics.md: {'iqd_build_info{version="0.2.0"}': 1.0}."""
        return {series: float(value) for series, value in _SERIES.findall(self._text("/metrics"))}

    @property
    def version(self):
        found = re.search(r'^iqd_build_info\{version="([^"]*)"', self._text("/metrics"), re.MULTILINE)
        return found[1] if found else None

    def _text(self, path):
        status, text = self._monitor.ask("GET", path)
        if status != 200:
            raise self._monitor.refusal(status, None)
        return text

    def parts(self):
        """The source, stages and outlets of all pipelines, as `GET /api/stages` lists them."""
        return self._monitor.call("GET", "/api/stages")["stages"]

    def keys_of(self, pipeline, stage):
        return StageKeys(self._monitor, pipeline, stage)

    @property
    def pipelines(self):
        """The pipelines by name."""
        return _Named("pipeline", [p["name"] for p in self.status["pipelines"]], lambda name: Pipeline(self, name))

    @property
    def stages(self):
        """The source, stages and outlets: by name, and as PIPELINE/NAME if several pipelines have that name."""
        parts = [(part["pipeline"], part["name"]) for part in self.parts()]
        names = [name for _, name in parts]
        where = {name if names.count(name) == 1 else f"{pipeline}/{name}": (pipeline, name) for pipeline, name in parts}
        return _Named("stage", where, lambda name: self.keys_of(*where[name]))

    @property
    def source(self):
        """The keys of the source, if there is one pipeline."""
        return self["source"]

    def __getitem__(self, name):
        if isinstance(name, str) and "/" in name:
            pipeline, _, stage = name.rpartition("/")
            return self.pipelines[pipeline][stage]
        return self.stages[re.sub(r"\[(\d+)\]$", r".\1", name) if isinstance(name, str) else name]

    def _ipython_key_completions_(self):
        return list(self.stages)

    def reload(self):
        """Makes iqd read its file again. Returns what has changed, as lines of text."""
        return self._monitor.call("POST", "/api/reload")["applied"]

    def record(self, port="source", seconds=1.0, path=None, pipeline=None):
        """Records a port for so long, if the monitor has a folder for recordings, and fetches the file. `path`: where
        to, NAME.sigmf, or NAME.npy for a port without samples; None: under iqd's name in the working directory. Returns
        an iqd.Recording of samples; of anything else the path of the array."""
        request = {"port": port, "seconds": seconds} | ({"pipeline": pipeline} if pipeline else {})
        name = self._monitor.call("POST", "/api/recordings", request)["recording"]["name"]
        ends = time.monotonic() + seconds + _PATIENCE
        while self._state_of(name) not in ("done", "unfinished"):
            if time.monotonic() > ends:
                raise Timeout(f"{name} was not complete {_PATIENCE:g} s after its end")
            time.sleep(_PAUSE)
        ending = os.path.splitext(name)[1]
        path = name if path is None else os.fspath(path)
        path = self.fetch(name, path if path.endswith(ending) else os.path.splitext(path)[0] + ending)
        if not name.endswith(".sigmf"):
            return path
        from iqd._recording import Recording  # pylint: disable=import-outside-toplevel
        return Recording(path)

    @property
    def recordings(self):
        """The files in the monitor's folder: name, bytes, state, time_s."""
        return self._monitor.call("GET", "/api/recordings")["recordings"]

    def _state_of(self, name):
        return next((r["state"] for r in self.recordings if r["name"] == name), "closing")

    def fetch(self, name, path):
        """Copies one of the recordings to this path, and returns the path."""
        connection, answer = self._monitor.open("GET", "/api/recordings/" + quote(name, safe=""))
        try:
            if answer.status != 200:
                raise self._monitor.refusal(answer.status, {"problems": [f"there is no recording '{name}'"]})
            with open(path, "wb") as file:
                while part := answer.read(1 << 20):
                    file.write(part)
        finally:
            connection.close()
        return path

    def trigger(self, name):
        """Fires an event, which starts the recordings that wait for it."""
        return self._monitor.call("POST", "/api/triggers/" + quote(name, safe=""))["applied"]

    @property
    def not_ready(self):
        """Why no samples flow, a text for each reason; empty if they do."""
        status, text = self._monitor.ask("GET", "/readyz")
        if status == 503:
            return text.splitlines()
        if status != 200:
            raise self._monitor.refusal(status, None)
        return []

    @property
    def ready(self):
        return not self.not_ready

    def wait_ready(self, seconds=10):
        """Returns when samples flow; raises Timeout, with the reasons, if they do not in time."""
        ends = time.monotonic() + seconds_of("seconds", seconds)
        while True:
            try:
                reasons = self.not_ready
            except NothingAnswers as error:
                reasons = [str(error)]
            if not reasons:
                return
            if time.monotonic() >= ends:
                raise Timeout(f"not ready in {seconds:g} s: " + "; ".join(reasons))
            time.sleep(_PAUSE)

    def __repr__(self):
        try:
            return f"<iqd {self.version} on {self.address}>\n{pipeline_table(self.status)}"
        except Error as error:
            return f"<iqd on {self.address}: {error}>"


def warn_of_other_version(daemon, level):
    try:
        from iqd._version import __version__  # pylint: disable=import-outside-toplevel
    except ImportError:
        return  # not built
    version = daemon.version
    if version != __version__:
        warnings.warn(f"this package is iqd {__version__}, the daemon on {daemon.address} is iqd {version}: install "
                      "the same version of both", stacklevel=level)


def connect(address=None, token=None, *, wait=0):
    """The iqd that answers at this address: HOST:PORT of its `monitor`, else that of the environment variable
    IQD_MONITOR, else 127.0.0.1:9464.

    token  if the monitor requires one for changes: the token, or the file with it
    wait   seconds until it has to answer
    """
    daemon = Daemon(address, token)
    ends = time.monotonic() + seconds_of("wait", wait)
    while True:
        try:
            warn_of_other_version(daemon, 3)
            daemon.status  # pylint: disable=pointless-statement
            return daemon
        except NothingAnswers:
            if time.monotonic() >= ends:
                raise
        time.sleep(_PAUSE)
