# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""One seed: a daemon, its readers, a schedule of faults; then whether all is well again, and how it ends."""

import dataclasses
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

import callers  # noqa: F401  (these four register faults)
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
from world import World

SECONDS_TO_END = 5.0  # after SIGTERM
SECONDS_TO_RECOVER = 5.0
MEGABYTES = 64.0  # above what it takes without peers
OF_A_CHANGE = 150.0  # megabytes that plans may take besides, where the schedule changes any
DEADLY = ("Assertion", "terminate called", "Sanitizer", "runtime error", "Segmentation", "what():")


@dataclasses.dataclass
class Options:
    seconds: float = 2.5  # of faults
    only: tuple = ()  # prefixes of faults
    keep: tuple = ()  # numbers of a schedule's entries
    preload: str = ""  # host_faults.c, compiled
    slowness: float = 1.0  # factor of all times that are asserted
    memory: bool = True  # whether memory is looked at


class Reader:
    """A quick reader of a tracked topic, in a thread of its own."""

    def __init__(self, context, where, stream, kind=zmq.SUB, keys=None):
        self.stream, self._where = stream, where
        self._socket = context.socket(kind)
        self._socket.setsockopt(zmq.RCVHWM, 0)
        self._socket.setsockopt(zmq.LINGER, 0)
        if kind == zmq.SUB:
            self._socket.setsockopt(zmq.RECONNECT_IVL, 5)
            self._socket.setsockopt(zmq.SUBSCRIBE, b"t ")
        if keys:
            self._socket.curve_serverkey, self._socket.curve_publickey, self._socket.curve_secretkey = keys
        self._ends = threading.Event()
        self._quiet = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self._socket.connect(where)
        self.thread.start()

    def _run(self):
        while not self._ends.is_set():
            if self._socket.poll(100):
                self._quiet.clear()
                self.stream.take(self._socket.recv_multipart())
            else:
                self._quiet.set()
        self._socket.close()

    def finish(self):
        """What has arrived is read; nothing more will come."""
        self._quiet.clear()
        self._quiet.wait(20)
        self._ends.set()
        self.thread.join()


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
            except Exception:  # a mistake here must not look like a seed that is well
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

    def schedule(self):
        """As a person reads it."""
        lines = [self.world.summary()] + [f"{i:3} {entry}" for i, entry in enumerate(self.entries)]
        end = self.ending if self.ending == "recover" else f"{self.ending} after {self.ends_after} s"
        return "\n".join(lines + [f"    then: {end}"])

    # The daemon and its readers

    def _live(self):
        self._context = zmq.Context()
        self._readers, self._feed = [], None
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
        for kind in self.world.kinds:
            self._read(kind, self.world.where[kind], is_shared=kind == "push", is_absolute=self.world.source == "radio")
        if self.world.has_relay:
            self._read("relay", self.world.where["relay"], is_absolute=False)
        self.daemon.wait_for_log("http: listening on ")
        self.arena.http = "tcp://" + self.daemon.text.split("http: listening on ")[1].split()[0]

    def _read(self, kind, where, **options):
        stream = Stream(kind, self.world.tone, self.report, lambda: self.arena.restarts, **options)
        self._readers.append(Reader(self._context, where, stream, zmq.PULL if kind == "push" else zmq.SUB,
                                    self._keys if kind == "curve" else None))

    def _is_running(self):
        return self.daemon.process.poll() is None

    def _is_well(self, seconds):
        """Whether samples come to every reader, each a new one."""
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
        threads = [threading.Thread(target=self._perform, args=(entry, began), daemon=True) for entry in self.entries]
        for thread in threads:
            thread.start()
        end = began + (self.options.seconds if self.ending == "recover" else self.ends_after)
        while time.monotonic() < end and self._is_running():
            time.sleep(0.02)
        if self.ending != "recover":
            return
        self.arena.end()
        for thread in threads:
            thread.join(30)
            if thread.is_alive():
                self.report("the test itself works", "a fault does not end")

    def _perform(self, entry, began):
        if self.arena.sleep(max(0.0, began + entry.at - time.monotonic())):
            return
        try:
            schedule.FAULTS[entry.name].act(self.arena, **entry.parameters)
        except (ProcessLookupError, FileNotFoundError):
            pass  # it has ended
        except Exception:
            if self._is_running():
                self.report("the test itself works", traceback.format_exc())

    def _recover(self):
        """All faults are over: is it as before, and soon?"""
        self.arena.host.mend()
        (self.folder / "disk").mkdir(exist_ok=True)
        # A recording that has ended goes on under another name.
        self.arena.write(control.changed(self.arena.plan, {"recording": 1001 if self.world.plan.recording else 0}))
        self.observer.allow(OF_A_CHANGE)
        began = time.monotonic()
        while (answer := self.arena.ask("POST", "/api/reload")) is None or answer[0] == 503:
            if time.monotonic() - began > 10 * self.options.slowness:
                break
            time.sleep(0.1)
        if self._is_running() and (answer is None or answer[0] != 200):
            self.report("a reload is possible again", answer)
        patience = SECONDS_TO_RECOVER * self.options.slowness + self._longest_absence()
        if not self._is_well(patience):
            self.report("it recovers", self._silent() if self._is_running() else "it has ended")
        elif (ready := self._until_ready(patience)) is not True:
            self.report("it recovers", f"/readyz: {ready}")
        self.figures["recovery"] = time.monotonic() - began
        if self._is_running():
            self._compare_held()

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
        """Threads and descriptors, when what is on its way has had time to go."""
        base, began = self.observer.base, time.monotonic()
        while True:
            now = self.observer.held()
            more = now.files - base.files
            threads = now.threads.total() - base.threads.total()
            if (threads == 0 and not more) or time.monotonic() - began > 5 * self.options.slowness:
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
            self.report("it never ends by itself", f"code {died}: {self.daemon.text[-1500:]}")
        self.arena.stopping = True
        began = time.monotonic()
        self.arena.signal(signal.SIGKILL if self.ending == "SIGKILL" else signal.SIGTERM)
        try:
            code = self.daemon.wait(60)
        except Exception:
            code = None
        took = time.monotonic() - began - self.arena.excused(began, time.monotonic())
        self.arena.end()
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
        self._look_back(code)

    def _look_back(self, code):
        self.figures.update(looks=self.observer.looks, slowest=self.observer.slowest,
                            messages=sum(r.stream.messages for r in self._readers))
        if self.observer.base:
            self.figures["memory"] = self.observer.most_memory - self.observer.base.memory
        for words in DEADLY:
            if words in self.daemon.text:
                self.report("its log is clean", self.daemon.text[max(0, self.daemon.text.index(words) - 500):][:2000])
        if code == 0 and self.ending != "SIGKILL":
            self._look_at_final()
            for left in [*self.folder.rglob("*.part"), *self.folder.glob("socket")]:
                self.report("nothing is left behind", left.name)
        self._look_at_turns()
        self._look_at_recordings()

    def _look_at_final(self):
        if not self.daemon.statuses or not self.daemon.statuses[-1]["final"]:
            self.report("there is a last status", self.daemon.text[-500:])
            return
        status = self.daemon.statuses[-1]
        self.observer.sums.look(status)
        for pipeline in status["pipelines"]:
            if pipeline["in_flight"] != 0:
                self.report("nothing is in flight at the end", pipeline)
        main = self.observer.sums.last("main")
        for reader in self._readers:
            if reader.stream.name in ("pub", "ipc", "curve"):
                self._look_at_total(reader.stream, main)

    def _look_at_total(self, stream, main):
        """A reader that was there all the time has every sample that counts as published."""
        if self.arena.restarts or stream.missed or stream.first is None or stream.first["seq"] != 0:
            return
        if not main["published"] <= stream.samples <= main["published"] + main["dropped"]["refused"]:
            self.report("what is published arrives", f"{stream.name}: {stream.samples} samples came: "
                        f"{self.observer.sums.said('main')}")
        missing = main["lost"] + sum(main["dropped"].values())
        if stream.last["dropped"] > missing:
            self.report("headers and status agree", f"{stream.name}: {stream.last} tells of more than {missing}")

    def _look_at_turns(self):
        """A tone may have another phase behind a radio that was opened again."""
        most = self.arena.turns + self.arena.restarts + self.observer.sums.reconnects()
        for reader in self._readers:
            if reader.stream.turns > most:
                self.report("the tone is in its place behind gaps", f"{reader.stream.name}: {reader.stream.turns} turns, "
                            f"{most} may be")

    def _look_at_recordings(self):
        for meta in (self.folder / "disk").glob("*.sigmf-meta"):
            try:
                facts, x = iqd.read_recording(meta)
            except Exception as error:
                self.report("recordings are valid", f"{meta.name}: {error!r}")
                continue
            starts = [c["core:sample_start"] for c in facts["captures"]] + [len(x)]
            x = iqd.to_complex(x)
            for capture, start, end in zip(facts["captures"], starts, starts[1:]):
                self._look_at_capture(meta.name, capture, x[start:end])

    def _look_at_capture(self, name, capture, x):
        rate, tone = self.world.rate, self.world.tone
        cycles = (np.arange(len(x)) * tone % rate) / rate
        along = np.vdot(np.exp(2j * np.pi * cycles), x)
        if len(x) and abs(along) ** 2 < 0.999 * len(x) * np.vdot(x, x).real:
            self.report("recordings hold what came", f"{name}: {capture}: {len(x)} samples")

    def _close(self):
        self.arena.end()
        self.arena.lag.stop()
        for reader in self._readers:
            reader._ends.set()
            reader.thread.join(5)
        if self._feed:
            self._feed.stop()
        self._context.destroy(0)
        for claim in iqd._claims:
            claim.close()
        iqd._claims.clear()
