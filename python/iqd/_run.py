# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Starts a daemon, for notebooks and tests."""

import re
import time
import weakref

from iqd._daemon import Daemon, warn_of_other_version
from iqd._errors import ConfigError, Error, Timeout
from iqd._pipeline_file import PipelineFile
from iqd._process import Process, find_program
from iqd._seconds import seconds_of

_WRONG_FILE = 2  # exit code
_LISTENS = re.compile(r"http: listening on (\S+):(\d+)$")
_LOG_LINE = re.compile(r"\d\d:\d\d:\d\d\.\d{3} ")
_LAST_LINES = 20
_PAUSE = 0.02


class RunningDaemon(Daemon):
    """A daemon that this program has started. It ends with the `with` block, with `stop`, or with the program.

    log         lines of its log, the last ten thousand
    final       its last status, as `GET /api/status` gave it; None before it has ended
    returncode  None while it runs
    """

    def __init__(self, file, process, token):
        self._file, self._process, self._token = file, process, token
        self._tidy = weakref.finalize(self, file.remove)  # or when the program ends
        self._is_stopped = False

    def _open(self, address):
        super().__init__(address, self._token)
        self._monitor.as_shown = self._file.as_shown

    @property
    def status(self):
        return super().status if self.returncode is None else self.final

    @property
    def final(self):
        return self._process.status if self.returncode is not None else None

    @property
    def returncode(self):
        return self._process.returncode

    @property
    def pid(self):
        return self._process.pid

    @property
    def log(self):
        return [self._file.as_shown(line) for line in self._process.log]

    def reload(self):
        self._file.refresh()
        return super().reload()

    def wait(self, seconds=None):
        """Waits until its streams have ended by themselves, and returns the exit code. Raises Timeout, and Error if it
        has failed."""
        if self._process.wait(None if seconds is None else seconds_of("seconds", seconds)) is None:
            raise Timeout(f"iqd still runs after {seconds:g} s")
        self._require_success()
        return self.returncode

    def stop(self):
        """Stops it in order, and returns the exit code. `final` is then its last status."""
        self._is_stopped = True
        try:
            return self._process.stop()
        finally:
            self._tidy()

    def _require_success(self):
        if self.returncode == _WRONG_FILE:
            raise ConfigError([line for line in self.log if line and not _LOG_LINE.match(line)])
        if self.returncode != 0 and not self._is_stopped:
            last = self.log[-_LAST_LINES:]
            raise Error(f"iqd has ended with exit code {self.returncode}" + (":\n" if last else "") + "\n".join(last))

    def _wait_started(self, ends, needs_ready):
        """Waits until samples flow, or only for the HTTP port, or for the end."""
        reasons, is_open = ["it does not answer yet"], False
        while self.returncode is None:
            if not is_open and (where := self._address()):
                self._open(where)
                is_open = True
            try:
                if is_open:
                    reasons = self.not_ready if needs_ready else []
            except Error as error:
                reasons = [str(error)]
            if not reasons:
                return warn_of_other_version(self, 4)
            if time.monotonic() >= ends:
                raise Timeout("\n".join(["iqd is not ready in time: " + "; ".join(reasons), *self.log[-_LAST_LINES:]]))
            with self._process.news:
                self._process.news.wait(_PAUSE)
        self._require_success()
        self._open(self._address() or "127.0.0.1")  # a finite stream that is already over
        return None

    def _address(self):
        log = self._process.log
        for line in log:
            if found := _LISTENS.search(line):
                host = "127.0.0.1" if found[1] == "0.0.0.0" else found[1]
                return f"{host}:{found[2]}"
        if any(" info serving " in line for line in log):
            raise ConfigError(f"{self._file.shown}: iqd opens no HTTP port; add `monitor: {{listen: \"127.0.0.1:0\"}}`")
        return None

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        failed = self.returncode not in (None, 0) and not self._is_stopped
        self.stop()
        if failed and kind is None:
            self._is_stopped = False
            self._require_success()

    def __del__(self):
        if getattr(self, "_file", None) and not self._is_stopped:
            self.stop()

    def __repr__(self):
        if self.returncode is None:
            return super().__repr__()
        return f"<iqd, ended with exit code {self.returncode}>"


def run(file, *, port=None, ready=None, timeout=30, seconds=None, wait_subscribers=None, program=None, token=None,
        environment=None, cwd=None):
    """Starts iqd and waits until samples flow: `with iqd.run("lab.yaml") as d:`. Gives an iqd.Daemon, which stops when
    the block is left, however that happens.

    file              a pipeline file, its text, or a dict with the same keys
    port              of the monitor, in place of the file's; 0: any free one. A file without monitor gets one
    ready             False: wait only for the HTTP port; that is the default with wait_subscribers
    timeout           seconds until it is ready; then iqd.Timeout is raised, with the reasons
    seconds           stop after this time
    wait_subscribers  begin when so many subscribers have come
    program           the daemon's program; None: $IQD, the one in the build tree of this package, or that on PATH
    token             if the file's monitor requires one for changes: the token, or the file with it
    environment       variables to add; cwd: the daemon's working directory

    A wrong file raises iqd.ConfigError with all its problems.
    """
    ends = time.monotonic() + seconds_of("timeout", timeout)
    if port is not None and (not isinstance(port, int) or not 0 <= port < 65536):
        raise ConfigError(f"port is {port!r}; it must be 0 to 65535")
    arguments = [] if seconds is None else ["--seconds", seconds_of("seconds", seconds)]
    arguments += [] if wait_subscribers is None else ["--wait-subscribers", wait_subscribers]
    program = find_program(program)
    pipeline = PipelineFile(file, None if port is None else f"127.0.0.1:{port}")
    try:
        daemon = RunningDaemon(pipeline, Process(program, pipeline.path, arguments, environment, cwd), token)
    except BaseException:
        pipeline.remove()
        raise
    try:
        daemon._wait_started(ends, wait_subscribers is None if ready is None else ready)
    except BaseException:
        daemon.stop()
        raise
    return daemon
