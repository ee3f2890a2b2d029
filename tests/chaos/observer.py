# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Looks at the daemon from outside, ten times a second: status, metrics, /readyz, and the process in /proc."""

import collections
import contextlib
import http.client
import json
import os
import pathlib
import re
import threading
import time
import traceback

from invariants import Sums

SERIES = re.compile(r'([a-z_]+)(?:\{(.*)\})? (\S+)')
LABELS = re.compile(r'([a-z_]+)="([^"]*)"')
PATIENCE = 2.0  # seconds for an answer


def megabytes(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def each(folder, look):
    """What `look` finds for each entry, except for those that disappear meanwhile."""
    for entry in folder.iterdir():
        with contextlib.suppress(OSError):
            yield look(entry)


class Held:
    """Memory in MB, threads and descriptors of a process."""

    def __init__(self, pid):
        process = pathlib.Path(f"/proc/{pid}")
        self.memory = megabytes(pid)
        self.threads = collections.Counter(each(process / "task", lambda task: (task / "comm").read_text().strip()))
        self.files = collections.Counter(each(process / "fd", lambda file: re.sub(r"\d+", "", os.readlink(file))))


def series(text):
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = SERIES.fullmatch(line).groups()
            found[name, frozenset(LABELS.findall(labels or ""))] = float(value)
    return found


class Observer:
    def __init__(self, arena, patience, most_megabytes, report):
        self._arena, self._patience, self._report = arena, patience, report
        self._most = most_megabytes
        self._ends = threading.Event()
        self.sums = Sums(report, lambda: arena.restarts, self._ends.is_set)
        self.slowest = self.most_memory = 0.0
        self.looks = 0
        self.base = None  # Measured before any fault
        self._paused = threading.Event()
        self._idle = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        self._thread.start()

    def stop(self):
        """Ends the looks; one may still be running."""
        self._ends.set()

    def join(self):
        self._thread.join()

    def allow(self, megabytes):
        """Allows this much more memory."""
        self._most += megabytes

    def held(self):
        """Measured without requests, so that none of them counts."""
        self._paused.set()
        self._idle.wait(10)
        try:
            return Held(self._arena.pid)
        finally:
            self._paused.clear()

    def _run(self):
        while not self._ends.wait(0.1):
            if self._paused.is_set():
                self._idle.set()
                continue
            self._idle.clear()
            try:
                self._look()
            except (FileNotFoundError, ProcessLookupError):
                pass  # from /proc: it has exited, which is checked elsewhere
            except Exception:
                self._report("the test itself works", traceback.format_exc())
        self._idle.set()

    def _look(self):
        self.most_memory = max(self.most_memory, megabytes(self._arena.pid))
        if self.base and self.most_memory > self.base.memory + self._most:
            self._report("memory is bounded", f"{self.most_memory:.0f} MB, {self.base.memory:.0f} MB before")
            self._most = float("inf")
        if status := self.get("/api/status"):
            self.sums.look(json.loads(status[1]))
            self.looks += 1
        if metrics := self.get("/metrics"):
            self.sums.look_at_metrics(series(metrics[1]))
        self.get("/readyz")

    def get(self, path):
        """(status, body), or None if there was no answer, which has then been reported."""
        began = time.monotonic()
        connection = http.client.HTTPConnection(self._arena.http.removeprefix("tcp://"), timeout=20)
        answer = error = None
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            answer = response.status, response.read().decode()
        except (OSError, http.client.HTTPException) as e:
            error = e
        finally:
            connection.close()
        now = time.monotonic()
        took = now - began - self._arena.excused(began, now)
        if self._ends.is_set() or self._arena.was_starved(began) or not os.path.exists(f"/proc/{self._arena.pid}/exe"):
            return answer
        self.slowest = max(self.slowest, took)
        if error or took > self._patience or (answer[0] != 200 and path != "/readyz"):
            self._report("answers come in time", f"{path}: {error or answer[0]!r} after {took:.2f} s")
        return answer
