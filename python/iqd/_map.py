# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A chain over a long recording, in windows, on several processes or machines."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import uuid

import numpy as np

from iqd._errors import ConfigError, Error
from iqd._process import find_program
from iqd._stages import USUAL_BLOCK, Chain, _described

_WRONG_FILE = 2  # exit code
_LAST_LINES = 5


def map(recording, chain, *, block=USUAL_BLOCK, client=None, windows=None, into=None, warm=None, tries=3,
        overwrite=False, program=None):  # pylint: disable=redefined-builtin
    """Runs a chain over a recording in windows, each by an iqd of its own, and gives what one run would: an array, or a
    dict of arrays by port. The ports are those of the chain, or else all of its last stage.

    block      samples of a block
    client     where windows run: a Client of Dask, an executor of concurrent.futures, or anything with `submit`. Its
               machines have this package and iqd's program, and see the recording, `into` and the working directory
               under the same names. None: processes here
    windows    how many; None: one for each CPU of this machine
    into       folder for the results, PORT.npy; the arrays are then read from there as they are used. None: a folder in
               the working directory, which is removed
    warm       so much before each window, stages with a state begin: samples, or a time such as "10 ms"
    tries      how often a window may run until its results are whole
    overwrite  replace results in `into`
    program    iqd's program

    A wrong chain raises iqd.ConfigError, and windows that keep failing iqd.Error.
    """
    if not isinstance(chain, Chain):
        raise ConfigError(f"iqd.map takes a chain or a stage, not {chain!r}")
    windows = os.cpu_count() if windows is None else windows
    ports = chain.ports or [f"{chain.names[-1]}.{output}" for output in _described()[chain._links[-1].entry][4]]
    with contextlib.ExitStack() as stack:
        if into is None:
            into = stack.enter_context(tempfile.TemporaryDirectory(prefix="iqd-map-", dir="."))
            mode = None
        else:
            os.makedirs(into, exist_ok=True)
            mode = "r"
        if client is None:
            client = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
            stack.callback(client.shutdown, cancel_futures=True)
        runs = _Windows(find_program(program), pathlib.Path(into).absolute(), ports, windows, warm)
        runs.begin(recording, chain, block, overwrite)
        runs.run(client, tries)
        runs.join()
        arrays = {port: np.load(runs.folder / f"{port}.npy", mmap_mode=mode) for port in ports}
    return arrays if len(arrays) > 1 else arrays[ports[0]]


class _Windows:
    """The windows of a recording, in a folder without other windows."""

    def __init__(self, program, folder, ports, windows, warm):
        self.program, self.folder, self.windows, self.warm = program, folder, windows, warm
        self.paths = {port: folder / f"{port}.npy" for port in ports}
        self.file = folder / ".map.yaml"

    def begin(self, recording, chain, block, overwrite):
        there = [str(path) for path in self.paths.values() if path.exists()]
        if there and not overwrite:
            raise Error(f"{there[0]} exists; overwrite=True replaces it")
        self.remove()
        stages = []
        for link, name in zip(chain._links, chain.names):
            keys = {"name": name, **json.loads(link.keys)}
            if link.connections:
                keys["from"] = link.connections.get("", link.connections)
            stages.append({link.entry: keys})
        sinks = [{"port": port, "file": {"path": str(path)}} for port, path in self.paths.items()]
        self.file.write_text(json.dumps({
            "source": {"file": {"path": os.path.abspath(recording)}}, "block": block, "backend": chain.backend,
            "stages": stages, "sinks": sinks}, indent=1), encoding="utf-8")

    def run(self, client, tries):
        """Until the results of all are whole. The windows are believed, not the client."""
        said = ""
        for _ in range(tries):
            missing = self.missing()
            if not missing:
                return
            futures = [client.submit(_run_window, self.command(window), os.getcwd(), uuid.uuid4().hex)
                       for window in missing]
            try:
                said = self.await_(futures) or said
            finally:
                for future in futures:
                    future.cancel()
        if missing := self.missing():
            raise Error(f"after {tries} tries, windows {', '.join(missing)} are missing:\n{said}")

    @staticmethod
    def await_(futures):
        """What a run that failed said last."""
        said = ""
        for future in futures:
            try:
                code, text = future.result()
            except Exception as error:  # a worker that died  # pylint: disable=broad-exception-caught
                code, text = 1, repr(error)
            if code == _WRONG_FILE:
                raise ConfigError(text.splitlines())
            said = text if code else said
        return said

    def command(self, window):
        more = [] if self.warm is None else ["--warm", str(self.warm)]
        return [self.program, "run", str(self.file), "--window", f"{window}/{self.windows}", *more]

    def missing(self):
        done = self._join("--missing")
        if done.returncode and not done.stdout:
            raise Error(done.stderr.strip())
        return done.stdout.strip().split(",") if done.returncode else []

    def join(self):
        done = self._join("--overwrite")
        if done.returncode:
            raise Error(done.stderr.strip())
        self.remove()

    def remove(self):
        self.file.unlink(missing_ok=True)
        for path in self.paths.values():
            for window in self.folder.glob(f"{path.name}.*-of-*"):
                window.unlink()

    def _join(self, *more):
        return subprocess.run([self.program, "join", str(self.folder), "--windows", str(self.windows), *more],
                              capture_output=True, text=True, check=False)


def _run_window(command, folder, _):
    """On any machine: the exit code, and the end of the log. The last argument makes calls differ, as Dask computes
    equal ones once."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, "\n".join(done.stderr.splitlines()[-_LAST_LINES:])
