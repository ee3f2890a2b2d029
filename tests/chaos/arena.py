# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What faults act on: the daemon, its file and its addresses. Faults also note here what they did, so that invariants
know what to excuse."""

import contextlib
import http.client
import json
import mmap
import os
import signal
import struct
import threading
import time

FIELDS = ("disk_delay_ms", "disk_error", "thread_error", "clock_ns")


class Host:
    """The numbers that the preloaded library reads; no effect without it."""

    def __init__(self, path):
        path.write_bytes(bytes(8 * len(FIELDS)))
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)

    def set(self, field, value):
        struct.pack_into("<q", self._map, 8 * FIELDS.index(field), value)

    def mend(self):
        for field in FIELDS:
            self.set(field, 0)


class Lag:
    """How much later than requested this program wakes up: the delay of a busy machine."""

    def __init__(self):
        self._late = []  # (when, how much)
        self._ends = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while not self._ends.is_set():
            due = time.monotonic() + 0.02
            self._ends.wait(0.02)
            now = time.monotonic()
            if now - due > 0.01:
                self._late.append((now, now - due))

    def between(self, start, end):
        return sum(late for when, late in self._late if start <= when <= end + 0.02)

    def stop(self):
        self._ends.set()


class Arena:
    def __init__(self, world, path, report):
        self.world, self.plan, self.path = world, world.plan, path
        self._report = report
        self.pid = self.feed = self.http = self.server_key = None
        self.host = Host(world.folder / "host")
        self.lag = Lag()
        self.writing = threading.RLock()
        self.restarts = 0  # how often a stream may have begun again
        self.turns = 0  # how often a tone may have another phase after a gap
        self.stopping = False  # by a signal: requests need no answers any more
        self._written = world.plan.radio
        self._over = threading.Event()
        self._still, self._still_since, self._stills = 0, 0.0, []
        self._starved, self._starved_until = 0, 0.0
        self._lock = threading.Lock()

    def report(self, invariant, detail):
        self._report(invariant, detail)

    def where(self, kind):
        return self.world.where[kind]

    # Time

    def sleep(self, seconds):
        """True when faults are to end."""
        return self._over.wait(seconds)

    @property
    def over(self):
        return self._over.is_set()

    def end(self):
        self._over.set()

    @contextlib.contextmanager
    def frozen(self):
        """The process is stopped."""
        with self._lock:
            self._still += 1
            if self._still == 1:
                self._still_since = time.monotonic()
                self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            with self._lock:
                self._still -= 1
                if self._still == 0:
                    self.signal(signal.SIGCONT)
                    self._stills.append((self._still_since, time.monotonic()))

    def excused(self, start, end):
        """Seconds between these that are not the daemon's fault: it was stopped, or the machine was busy."""
        with self._lock:
            stills = self._stills + ([(self._still_since, end)] if self._still else [])
        still = sum(max(0.0, min(end, until) - max(start, since)) for since, until in stills)
        return still + self.lag.between(start, end)

    @contextlib.contextmanager
    def starved(self):
        """It has no descriptors left, so it cannot accept connections."""
        with self._lock:
            self._starved += 1
        try:
            yield
        finally:
            with self._lock:
                self._starved -= 1
                self._starved_until = time.monotonic()

    def was_starved(self, since):
        with self._lock:
            return self._starved > 0 or self._starved_until > since

    # The daemon

    def signal(self, which):
        try:
            os.kill(self.pid, which)
        except ProcessLookupError:
            pass

    def write_text(self, text):
        """Replaces the file in one step, as editors do."""
        beside = self.path.with_suffix(f".{threading.get_ident()}")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, self.path)

    def write(self, plan):
        """With another source the stream restarts, and once more if the source cannot be opened."""
        with self.writing:
            if plan.radio != self._written:
                self.restarts += 2
                self._written = plan.radio
            self.write_text(self.world.text(plan))

    def ask(self, method, path, keys=None, patience=5.0):
        """(status, body), or None if the connection was refused."""
        began = time.monotonic()
        connection = http.client.HTTPConnection(self.http.removeprefix("tcp://"), timeout=30)
        try:
            connection.request(method, path, None if keys is None else json.dumps(keys))
            answer = connection.getresponse()
            found = answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            found = None
            if not self.was_starved(began) and not self.over and not self.stopping:
                self.report("requests are answered", f"{method} {path}: {error!r} after {time.monotonic() - began:.2f} s")
        finally:
            connection.close()
        took = time.monotonic() - began
        took -= self.excused(began, time.monotonic())
        if found and took > patience and not self.was_starved(began):
            self.report("changes are answered in time", f"{method} {path}: after {took:.2f} s: {found}")
        return found
