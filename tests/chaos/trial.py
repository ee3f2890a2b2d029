# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""One seed: a daemon, its readers, a schedule of faults; then checks of its recovery and its exit."""

import dataclasses
import json
import os
import pathlib
import random
import signal
import tempfile
import threading
import time
import traceback

import numpy as np
import zmq

import aftermath
import callers  # noqa: F401  (these five register faults)
import control  # noqa: F401
import host  # noqa: F401
import iqd
import peers  # noqa: F401
import radio  # noqa: F401
import schedule
from arena import Arena
from feed import Feed
from invariants import Stream
from observer import Observer
from reader import Reader
from world import World

SECONDS_TO_END = 5.0  # after SIGTERM
SECONDS_TO_RECOVER = 5.0
SECONDS_TO_CLOSE = 20.0  # 5 were too few for sockets of peers that vanished, now and then
MEGABYTES = 64.0  # above its use without peers
OF_A_CHANGE = 150.0  # extra megabytes for plans, if the schedule changes any


@dataclasses.dataclass
class Options:
    seconds: float = 2.5  # of faults
    only: tuple = ()  # prefixes of faults
    keep: tuple = ()  # numbers of a schedule's entries
    preload: str = ""  # host_faults.c, compiled
    slowness: float = 1.0  # factor for all asserted times
    memory: bool = True  # whether memory is checked


class Trial:
    def __init__(self, seed, options):
        self.seed, self.options = seed, options
        self.broken = []  # (seconds, invariant, detail)
        self.figures = {}
        self._began = time.monotonic()
        self._counts = {}
        self._lock = threading.Lock()

    def report(self, invariant, detail):
        with self._lock:
            self._counts[invariant] = self._counts.get(invariant, 0) + 1
            if self._counts[invariant] <= 3:
                self.broken.append((round(time.monotonic() - self._began, 3), invariant, str(detail)[:2000]))

    def run(self):
        with tempfile.TemporaryDirectory(prefix="iqd-chaos-") as folder:
            self.folder = pathlib.Path(folder)
            (self.folder / "disk").mkdir()
            self._draw()
            try:
                self._live()
            except Exception:  # a mistake in the test must not look like a good seed
                self.report("the test itself works", traceback.format_exc())
            finally:
                self._close()
        self.figures["took"] = time.monotonic() - self._began
        return self

    def _draw(self):
        chance = random.Random(self.seed)
        self.world = World(chance, self.folder)
        self.entries = schedule.draw(chance, self.world, self.options.seconds, self.options.only)
        self.ending = chance.choices(("recover", "SIGTERM", "SIGKILL"), (75, 17, 8))[0]
        self.ends_after = round(chance.uniform(0.2, 1) * self.options.seconds, 3)
        if self.options.keep:
            for i, entry in enumerate(self.entries):
                if i not in self.options.keep and entry.name.startswith("radio."):
                    for key in entry.parameters:
                        self.world.plan.radio.pop(key, None)
            self.entries = [self.entries[i] for i in self.options.keep]

    def streams(self):
        return [reader.stream for reader in self._readers]

    def schedule(self):
        """The seed as readable text."""
        lines = [self.world.summary()] + [f"{i:3} {entry}" for i, entry in enumerate(self.entries)]
        end = self.ending if self.ending == "recover" else f"{self.ending} after {self.ends_after} s"
        return "\n".join(lines + [f"    then: {end}"])

    # The daemon and its readers

    def _live(self):
        self._context = zmq.Context()
        self._readers, self._feed, self._faults = [], None, []
        self.world.open()
        self.arena = Arena(self.world, self.folder / "pipeline.yaml", self.report)
        self._make_files()
        with self._daemon() as self.daemon:
            self.arena.pid = self.daemon.process.pid
            self._attach()
            if not self._is_well(30):
                self.report("it starts", self.daemon.text[-2000:])
                return
            self._observe()
            self._act()
            if self.ending == "recover" and self._is_running():
                self._recover()
            self._stop()

    def _daemon(self):
        environment = {}
        if self.options.preload:
            environment = {"LD_PRELOAD": self.options.preload, "IQD_HOST_FAULTS": str(self.folder / "host")}
        if "ASAN_OPTIONS" in os.environ:  # a copy of the stack ends the process where memory is short
            environment["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"] + ":detect_stack_use_after_return=0"
        subscribers = sum(kind != "push" for kind in self.world.kinds) + 2 * self.world.has_relay
        return iqd.Daemon(self.world.text(self.world.plan), "--wait-subscribers", subscribers, folder=self.folder,
                          environment=environment)

    def _make_files(self):
        if self.world.source == "recording":
            n = np.arange(self.world.rate)
            x = np.round(iqd.tone(n, self.world.tone, self.world.rate) * 32768)
            iqd.write_recording(self.folder / "played", np.stack([x.real, x.imag], axis=-1).astype(np.int16),
                                self.world.rate)
        if "curve" in self.world.kinds:
            public, secret = zmq.curve_keypair()
            mine = zmq.curve_keypair()
            for name, key, mode in (("lab.secret", b"secret " + secret, 0o600), ("list", mine[0], 0o644)):
                path = self.folder / name
                path.write_text(f"{key.decode()} chaos\n", encoding="ascii")
                path.chmod(mode)
            self.arena.server_key = public
            self._keys = (public, *mine)

    def _attach(self):
        if self.world.source == "feed":
            self._feed = self.arena.feed = Feed(self.world.where["feed"], self.world.rate, self.world.tone)
            self._feed.start()
        for kind in self.world.readable:
            self._read(kind, kind, is_absolute=self.world.source == "radio" and kind != "relay")
        self.daemon.wait_for_log("http: listening on ")
        self.arena.http = "tcp://" + self.daemon.text.split("http: listening on ")[1].split()[0]

    def _read(self, name, kind, **options):
        stream = Stream(name, self.world.tone, self.report, lambda: self.arena.restarts, is_shared=kind == "push", **options)
        self._readers.append(Reader(self._context, self.world.where[kind], stream, zmq.PULL if kind == "push" else zmq.SUB,
                                    self._keys if kind == "curve" else None))
        return self._readers[-1]

    def _is_running(self):
        return self.daemon.process.poll() is None

    def _is_well(self, seconds):
        """Whether every reader gets samples, with new readers."""
        before = [reader.stream.messages for reader in self._readers]
        began = time.monotonic()
        while time.monotonic() - began < seconds + self.arena.excused(began, time.monotonic()):
            if all(r.stream.messages > count for r, count in zip(self._readers, before)):
                return True
            if not self._is_running():
                return False
            time.sleep(0.01)
        return False

    # Faults

    def _observe(self):
        changes = any(e.name.startswith(("control.", "host.descriptors", "host.memory", "host.threads"))
                      for e in self.entries)
        most = MEGABYTES + OF_A_CHANGE * changes if self.options.memory else float("inf")
        self.observer = Observer(self.arena, 2.0 * self.options.slowness, most, self.report)
        self.observer.start()
        time.sleep(0.3)
        self.observer.base = self.observer.held()

    def _act(self):
        began = time.monotonic()
        self._faults = [threading.Thread(target=self._perform, args=(entry, began), daemon=True) for entry in self.entries]
        for thread in self._faults:
            thread.start()
        end = began + (self.options.seconds if self.ending == "recover" else self.ends_after)
        while time.monotonic() < end and self._is_running():
            time.sleep(0.02)
        if self.ending == "recover":
            self._end_faults()

    def _end_faults(self):
        self.arena.end()
        for thread in self._faults:
            thread.join(30)
            if thread.is_alive():
                self.report("the test itself works", "a fault does not end")

    def _perform(self, entry, began):
        if self.arena.sleep(max(0.0, began + entry.at - time.monotonic())):
            return
        try:
            schedule.FAULTS[entry.name].act(self.arena, **entry.parameters)
        except (ProcessLookupError, FileNotFoundError):
            pass  # it has exited
        except Exception:
            if self._is_running():
                self.report("the test itself works", traceback.format_exc())

    def _recover(self):
        """All faults are over: checks that it soon recovers."""
        self.arena.host.mend()
        (self.folder / "disk").mkdir(exist_ok=True)
        # A recording that has ended continues under another name.
        self.arena.write(control.changed(self.arena.plan, {"recording": 1001 if self.world.plan.recording else 0}))
        self.observer.allow(OF_A_CHANGE)
        began = time.monotonic()
        while (answer := self.arena.ask("POST", "/api/reload")) is None or answer[0] == 503:
            if time.monotonic() - began > 10 * self.options.slowness:
                break
            time.sleep(0.1)
        if self._is_running() and (answer is None or answer[0] != 200):
            self.report("a reload is possible again", answer)
        waited = self._until_nobody_is_refused()
        newcomers = [self._read(f"{kind}, new", kind, is_absolute=False) for kind in self.world.readable if kind != "push"]
        patience = SECONDS_TO_RECOVER * self.options.slowness + self._longest_absence()
        if not self._is_well(patience):
            self.report("it recovers", self._silent() if self._is_running() else "it has exited")
        elif (ready := self._until_ready(patience)) is not True:
            self.report("it recovers", f"/readyz: {ready}")
        self.figures["recovery"] = time.monotonic() - began - waited
        for reader in newcomers:
            reader.close()
        if self._is_running():
            self._compare_held()

    def _until_nobody_is_refused(self):
        """After a peer was cut off, its host is refused for a second; on a busy machine only after the first messages."""
        answer = self.arena.ask("GET", "/api/status")
        pipelines = json.loads(answer[1])["pipelines"] if answer and answer[0] == 200 else []
        pause = 1.2 if any(e["cut_off"] for pipeline in pipelines for e in pipeline["endpoints"]) else 0.0
        time.sleep(pause)
        return pause

    def _longest_absence(self):
        return 2 * self.world.plan.radio.get("disconnect_for", 0) + self.world.plan.radio.get("stall_for", 0)

    def _silent(self):
        counts = {r.stream.name: r.stream.messages for r in self._readers}
        time.sleep(0.5)
        silent = [r.stream.name for r in self._readers if r.stream.messages == counts[r.stream.name]]
        return f"no samples at {silent}; {self.observer.sums.said('main')}"

    def _until_ready(self, patience):
        began = time.monotonic()
        answer = None
        while time.monotonic() - began < patience:
            answer = self.arena.ask("GET", "/readyz")
            if answer and answer[0] == 200:
                return True
            time.sleep(0.05)
        return answer

    def _compare_held(self):
        """Threads and descriptors, after a time for the rest to close."""
        base, began = self.observer.base, time.monotonic()
        while True:
            now = self.observer.held()
            more = now.files - base.files
            threads = now.threads.total() - base.threads.total()
            if (threads == 0 and not more) or time.monotonic() - began > SECONDS_TO_CLOSE * self.options.slowness:
                break
            time.sleep(0.1)
        if threads:
            self.report("threads are as before", f"{threads:+}: more {now.threads - base.threads}, "
                        f"less {base.threads - now.threads}")
        if more:
            self.report("descriptors are as before", f"more {more}; before: {base.files}")

    # The end

    def _stop(self):
        self.observer.stop()
        died = self.daemon.process.poll()
        if died is not None:
            self.report("it never exits on its own", f"code {died}: {self.daemon.text[-1500:]}")
        self.arena.stopping = True
        began = time.monotonic()
        self.arena.signal(signal.SIGKILL if self.ending == "SIGKILL" else signal.SIGTERM)
        try:
            code = self.daemon.wait(60)
        except Exception:
            code = None
        took = time.monotonic() - began - self.arena.excused(began, time.monotonic())
        self._end_faults()
        self.observer.join()
        if died is None and self.ending != "SIGKILL":
            self.figures["stop"] = took
            if took > SECONDS_TO_END * self.options.slowness:
                self.report("SIGTERM ends it in time", f"{took:.2f} s: {self.daemon.text[-500:]}")
            if code != 0:
                self.report("it ends with 0", f"{code}: {self.daemon.text[-1000:]}")
        for reader in self._readers:
            reader.finish()
        if self._feed:
            self._feed.stop()
        self.figures.update(slowest=self.observer.slowest)
        if self.observer.base:
            self.figures["memory"] = self.observer.most_memory - self.observer.base.memory
        aftermath.look_back(self, code)

    def _close(self):
        self.arena.end()
        self.arena.lag.stop()
        for reader in self._readers:
            reader.close()
        if self._feed:
            self._feed.stop()
        self._context.destroy(0)
        for claim in iqd._claims:
            claim.close()
        iqd._claims.clear()
