# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What tests of pools share: a server, homes, workers, and a watch over the sum of the samples."""

import http.client
import signal
import sys
import threading
import time
import unittest

import numpy as np
import yaml

import iqd
import nats
from door import Door

RATE = 400e3
BLOCK = 4096
TAPS = 501


def noise(count, channels=1, seed=7):
    r = np.random.default_rng(seed)
    x = 0.2 * (r.standard_normal((count, channels)) + 1j * r.standard_normal((count, channels)))
    return x.astype(np.complex64)[:, 0] if channels == 1 else x.astype(np.complex64)


def fir(taps=TAPS, name="fir", seed=3, **keys):
    """A filter whose results have all bits of their inputs."""
    return {"fir": {"name": name, "taps": np.random.default_rng(seed).standard_normal(taps).round(3).tolist(),
                    "method": "direct", **keys}}


class Worker(iqd.Daemon):
    """An iqd that works for a pool."""

    def __init__(self, server, folder, name, **keys):
        spec = {"work": {"servers": server.urls, "pools": ["band"], "name": name, "lanes": 1, **keys},
                "monitor": {"listen": "127.0.0.1:0"}}
        super().__init__(yaml.safe_dump(spec), folder=folder, name=f"{name}.yaml")
        self.name = name

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)


class Home(iqd.Daemon):
    """An iqd with a pool. It is watched from its first status on: the sum holds at every instant."""

    def __init__(self, spec, folder, name="home"):
        super().__init__(yaml.safe_dump(spec, sort_keys=False), folder=folder, name=f"{name}.yaml")
        self.door = None
        self.broken = []
        self.looks = 0
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)

    def watch(self):
        self.door = Door(self)
        self._watch.start()
        return self

    def _look(self):
        while not self._over.wait(0.1):
            try:
                status = self.door.status()
            except (OSError, ValueError, AssertionError, IndexError, http.client.HTTPException):
                continue
            self.looks += 1
            # What is in flight is the rest of the sum, so a sum that is too large would make it huge.
            rest = status["received"] - status["published"] - sum(status["dropped"].values())
            if rest != status["in_flight"] or not 0 <= rest < 1 << 32:
                self.broken.append(status)

    def __exit__(self, *_):
        self._over.set()
        if self._watch.ident:
            self._watch.join()
        super().__exit__()

    def status(self):
        return self.door.status()

    def until(self, condition, seconds=iqd.PATIENCE, every=0.03):
        """The first status that meets `condition`."""
        ends = time.monotonic() + seconds
        status = None
        while time.monotonic() < ends:
            try:
                status = self.status()
            except (OSError, http.client.HTTPException):
                break
            if condition(status):
                return status
            time.sleep(every)
        raise AssertionError(f"that did not happen: {status}\n{self.text}")

    def progress(self, blocks=5, **how):
        """Waits until so many more blocks have been published."""
        before = self.until(lambda _: True)["published"]
        return self.until(lambda s: s["published"] >= before + blocks * BLOCK, **how)


class PoolTest(iqd.SystemTest):
    """One server, a recording, and a pipeline `band` whose blocks go to a pool."""

    def setUp(self):
        super().setUp()
        self.server = self.serve()

    def serve(self):
        return self.enterContext(nats.Server(self.folder / "server"))

    def record(self, count, channels=1, rate=RATE):
        self.period = count
        return iqd.write_recording(self.folder / "noise", noise(count, channels), rate)

    def record_again(self):
        """A file that repeats the recording, for two periods and two blocks."""
        x = np.resize(noise(self.period), 2 * self.period + 2 * BLOCK)
        return iqd.write_recording(self.folder / "repeated", x, RATE)

    def spec(self, recording, stages=None, sink="out.npy", backend=("pool",), block=BLOCK, source=None, pool=None,
             port="fir.out", **more):
        spec = {"name": "band", "source": {"file": {"path": str(recording), **(source or {})}}, "block": block,
                "stages": stages or [fir()], "sinks": [{"port": port, "file": {"path": str(self.folder / sink)}}],
                "monitor": {"listen": "127.0.0.1:0"}, **more}
        if backend:
            spec["backend"] = list(backend)
            spec["pool"] = {"servers": self.server.urls, "name": "band", "window": "1 MiB", **(pool or {})}
        return spec

    def live(self, recording, repeat=True, **keys):
        """A source that does not wait, and does not end."""
        return self.spec(recording, source={"pace": True, "repeat": repeat}, overrun="drop", **keys)

    def worker(self, name="w1", **keys):
        return self.enterContext(Worker(self.server, self.folder, name, **keys))

    def home(self, spec, name="home", watched=True):
        home = self.enterContext(Home(spec, self.folder, name))
        return home.watch() if watched else home

    def wait_for_workers(self, *workers):
        for worker in workers:
            worker.wait_for_log("work band: for ")

    def alone(self, spec, sink="alone.npy"):
        """The array that one host makes of the same pipeline, as fast as it can."""
        spec = {key: value for key, value in spec.items() if key not in ("backend", "pool", "monitor", "overrun")}
        file = spec["source"]["file"]
        spec["source"] = {"file": {"path": str(self.record_again()) if file.get("repeat") else file["path"]}}
        spec["sinks"] = [{**spec["sinks"][0], "file": {"path": str(self.folder / sink), "overwrite": True}}]
        path = self.folder / "alone.yaml"
        path.write_text(yaml.safe_dump(spec), encoding="utf-8")
        done = iqd.command("run", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / sink)

    def end(self, home, seconds=2 * iqd.PATIENCE):
        """Waits for its end: the last status. The sum held all the time, and at the end nothing is in flight."""
        self.assertEqual(home.wait(seconds), 0, home.text)
        status = home.final[0]
        self.assertConserved(status)
        self.assertEqual(home.broken, [])
        return status

    def stop(self, home):
        home.signal()
        return self.end(home)

    def assertNoneLost(self, status, before):
        """No block that was sent; a slow machine may drop some before."""
        def lost(s):
            return {k: v for k, v in s["dropped"].items() if k not in ("lanes", "slots", "stopped")}
        self.assertEqual(lost(status), lost(before))

    def assertWhole(self, home, spec, name="out.npy", **end):
        """Nothing was dropped, and the array is that of one host, to the byte."""
        status = self.end(home, **end)
        self.assertEqual(sum(status["dropped"].values()), 0, f"{status}\n{home.text}")
        np.testing.assert_array_equal(np.load(self.folder / name), self.alone(spec))
        return status

    def assertPieces(self, status, spec, settled=TAPS, name="out.npy"):
        """Each message has the rows that one host makes at its position, except those that a gap reaches into."""
        y, messages = np.load(self.folder / name), np.load(self.folder / name.replace(".npy", ".messages.npy"))
        expected = self.alone(spec)
        period = self.period if spec["source"]["file"].get("repeat") else len(expected)
        self.assertEqual(len(y), status["published"])
        self.assertEqual(int(messages["rows"].sum()), len(y))
        since_gap = settled
        end = 0
        for m in messages:
            first, rows, sample, gap = (int(m[key]) for key in ("row", "rows", "sample", "gap"))
            self.assertEqual(sample, end + gap, "positions and gaps fit")
            end = sample + rows
            since_gap = 0 if gap else since_gap
            skip = max(0, min(rows, settled - since_gap))
            at = sample if sample < period else period + sample % period
            np.testing.assert_array_equal(y[first + skip:first + rows], expected[at + skip:at + rows])
            since_gap += rows
        return messages


def main():
    """Runs the tests of the program; ends with 77 where no server can run."""
    if why := nats.why_not():
        print(why)
        sys.exit(77)
    unittest.main()
