# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A daemon as a child process. It ends when this program ends, if not before."""

import atexit
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import weakref

from iqd._errors import Error

_MOST_LINES = 10_000
_PATIENCE = 10.0  # a daemon ends at most 5 s after SIGTERM
_running = weakref.WeakSet()


def find_program(program=None):
    """The daemon: what is given, else $IQD, else that of the build tree of this package, else the one on PATH."""
    given = program or os.environ.get("IQD")
    built = pathlib.Path(__file__).parent.parent.parent / "iqd"
    found = shutil.which(given or (built if built.is_file() and os.access(built, os.X_OK) else "iqd"))
    if found:
        return os.path.abspath(found)
    if given:
        raise Error(f"the program {given} does not exist, or cannot be started")
    raise Error("the program iqd is not found: install it, add its folder to PATH, or name it with program= or the "
                "environment variable IQD")


class Process:
    """`iqd run FILE`, its log, and its last status. Any thread."""

    def __init__(self, program, path, arguments=(), environment=None, cwd=None):
        # The kernel ends the daemon when the thread that has started it is gone, even if this program was killed.
        bound = [setpriv, "--pdeathsig", "TERM", "--"] if (setpriv := shutil.which("setpriv")) else []
        command = [*bound, program, "run", path, "--status", "json", *map(str, arguments)]
        self._lines = collections.deque(maxlen=_MOST_LINES)
        self.status = None
        self._owner, self._child, self._error = os.getpid(), None, None
        self.news = threading.Condition()
        self._threads = [threading.Thread(target=self._live, args=(command, environment, cwd), daemon=True)]
        self._started = threading.Event()
        _running.add(self)
        try:
            self._threads[0].start()
            self._started.wait()
        except BaseException:
            self.stop()
            raise
        if self._error:
            raise Error(f"cannot start {program}: {self._error.strerror}") from None

    def _live(self, command, environment, cwd):
        """The thread that starts the daemon, and stays until it has ended."""
        try:
            # A session of its own: Ctrl-C of a terminal is for this program, which then stops the daemon in order.
            self._child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                env={**os.environ, **(environment or {})}, start_new_session=True)
        except OSError as error:
            self._error = error
            return
        finally:
            self._started.set()
        reader = threading.Thread(target=self._read_status, daemon=True)
        reader.start()
        for line in self._child.stderr:
            self._tell(line=line.decode("utf-8", "replace").rstrip("\n"))
        self._child.stderr.close()
        reader.join()
        self._child.wait()
        self._tell()

    def _tell(self, line=None):
        with self.news:
            if line is not None:
                self._lines.append(line)
            self.news.notify_all()

    def _read_status(self):
        for line in self._child.stdout:
            try:
                self.status = json.loads(line)
            except ValueError:
                self._tell(line=line.decode("utf-8", "replace").rstrip("\n"))
        self._child.stdout.close()

    @property
    def log(self):
        with self.news:
            return list(self._lines)

    @property
    def pid(self):
        return self._child.pid

    @property
    def returncode(self):
        """None while it runs; afterwards log and status are complete."""
        return None if self._threads[0].is_alive() or self._child is None else self._child.returncode

    def wait(self, seconds=None):
        """Waits for its end: the exit code, or None if it still runs."""
        self._threads[0].join(seconds)
        return self.returncode

    def stop(self, seconds=_PATIENCE):
        """SIGTERM, and SIGKILL if it does not end in time or at a second Ctrl-C. Returns the exit code."""
        if os.getpid() != self._owner:  # a fork of the program that has started it
            return None
        self._started.wait()
        try:
            self._signal(signal.SIGTERM)
            code = self.wait(seconds)
        except BaseException:
            self._signal(signal.SIGKILL)
            raise
        if code is None and self._child is not None:
            self._signal(signal.SIGKILL)
            code = self.wait(seconds)
        _running.discard(self)
        return code

    def _signal(self, number):
        if self._child is not None and self._threads[0].is_alive():
            self._child.send_signal(number)


def _stop_all():
    for process in list(_running):
        process.stop()


atexit.register(_stop_all)
