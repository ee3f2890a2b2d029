# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""SigMF recordings by iqd: whole, with gaps, cut short by a killed writer or a full disk."""

import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import numpy as np

import iqd


def assert_tone(test, meta, x, frequency, rate):
    """The samples are the simulated radio's at the positions in the captures."""
    starts = [c["core:sample_start"] for c in meta["captures"]] + [len(x)]
    for capture, start, end in zip(meta["captures"], starts, starts[1:]):
        n = capture["core:global_index"] + np.arange(end - start)
        off = np.abs(iqd.to_complex(x[start:end]) - iqd.tone(n, frequency, rate)).max(initial=0)
        test.assertLess(off, 1.01 / 32768, capture)


def kill_while_it_records(test, text, stem, delay):
    """Kills iqd `delay` seconds after the first sample is on disk; returns the data's path."""
    data = stem.with_suffix(".sigmf-data")
    with test.daemon(text) as daemon:
        ends = time.monotonic() + iqd.PATIENCE
        while not (data.exists() and data.stat().st_size) and time.monotonic() < ends:
            time.sleep(0.005)
        time.sleep(delay)
        daemon.signal(signal.SIGKILL)
        daemon.process.wait()
    return data


@contextlib.contextmanager
def held(pid, name):
    """Stops a process's threads of this name, as if the disk that they write to hung."""
    libc = ctypes.CDLL(None, use_errno=True)
    seize, interrupt, detach, wall = 0x4206, 0x4207, 17, 0x40000000
    threads = [int(task.name) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
               if (task / "comm").read_text(encoding="utf-8").strip() == name]
    held_ones = []
    try:
        for thread in threads:
            if libc.ptrace(seize, thread, None, None):
                raise unittest.SkipTest(f"NOT TESTED: ptrace: {os.strerror(ctypes.get_errno())}")
            libc.ptrace(interrupt, thread, None, None)
            os.waitpid(thread, wall)
            held_ones.append(thread)
        yield len(threads)
    finally:
        for thread in held_ones:
            libc.ptrace(detach, thread, None, None)


class Record(iqd.SystemTest):
    def replay(self, stem):
        where = iqd.endpoint()
        reader = self.reader(where, "t")
        text = f"source: {{file: {{path: {stem}}}}}\npublish: [{{port: source, topic: t, bind: \"{where}\"}}]\n"
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = reader.take(1)
            self.assertEqual(daemon.wait(), 0, daemon.text)
        return messages + reader.rest()

    def test_a_radio(self):
        stem = self.folder / "r"
        done = iqd.command("record", stem, "--args", "driver=iqdsim,frequency=21e3,pace=false", "--rate", "400 kS/s",
                           "--frequency", "1.4515 GHz", "--samples", 123_457, "--author", "somebody")
        self.assertEqual(done.returncode, 0, done.stderr)
        meta, x = iqd.read_recording(stem)
        self.assertEqual(x.shape, (123_457, 2))
        self.assertEqual(meta["global"]["core:sample_rate"], 400e3)
        self.assertEqual(meta["global"]["core:author"], "somebody")
        self.assertEqual(meta["captures"][0]["core:frequency"], 1.4515e9)
        ideal = iqd.tone(np.arange(len(x)), 21e3, 400e3)
        self.assertLess(np.abs(iqd.to_complex(x) - ideal).max(), 1.01 / 32768)
        messages = self.replay(stem)
        np.testing.assert_array_equal(np.concatenate([m.x for m in messages]), x)
        self.assertEqual(messages[0].frequency, 1.4515e9)

    def test_gaps_come_back(self):
        stem = self.folder / "r"
        done = iqd.command("record", stem, "--args", "driver=iqdsim,pace=false,lose_every=10000,lose=700", "--rate",
                           "1 MS/s", "--samples", 50_000)
        self.assertEqual(done.returncode, 0, done.stderr)
        meta, x = iqd.read_recording(stem)
        self.assertGreater(len(meta["captures"]), 3)
        messages = self.replay(stem)
        np.testing.assert_array_equal(np.concatenate([m.x for m in messages]), x)
        gaps = [m.gap for m in messages if m.gap]
        self.assertEqual(gaps, [700] * (len(meta["captures"]) - 1))
        # The tone's phase follows the positions in the headers through the gaps.
        for m in messages:
            n = m.sample + np.arange(len(m.x))
            self.assertLess(np.abs(m.samples - iqd.tone(n, 125e3, 1e6)).max(), 1.01 / 32768)

    def test_a_recording_is_not_overwritten(self):
        stem = iqd.write_recording(self.folder / "r", np.ones(10, np.complex64))
        before = stem.read_text(encoding="utf-8")
        arguments = ["record", stem, "--args", "driver=iqdsim,pace=false", "--rate", "1 MS/s", "--samples", 100]
        done = iqd.command(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("overwrite", done.stderr)
        self.assertEqual(stem.read_text(encoding="utf-8"), before)
        self.assertEqual(iqd.command(*arguments, "--overwrite").returncode, 0)
        self.assertEqual(len(iqd.read_recording(stem)[1]), 100)

    def test_killed_at_any_moment_it_is_valid(self):
        for i, delay in enumerate((0.0, 0.05, 0.3)):
            stem = self.folder / f"killed{i}"
            text = (f"source: {{soapy: {{args: \"driver=iqdsim,lose_every=5000,lose=100\", rate: 2e6}}}}\nblock: 3001\n"
                    f"sinks: [{{port: source, file: {{path: {stem}}}}}]\n")
            data = kill_while_it_records(self, text, stem, delay)
            self.assertEqual(data.stat().st_size % 4, 0)
            _, x = iqd.read_recording(stem, killed=True)
            messages = self.replay(stem)
            np.testing.assert_array_equal(np.concatenate([m.x for m in messages]), x)

    def assertRefusedWhole(self, sink, final):
        """What a sink refused are blocks, but for short ones: the last, and those beside a loss on a busy machine."""
        short = 1 + 2 * final["overflows"]
        self.assertLess(4096 * sink["refused"] - final["dropped"]["refused"], 4096 * short)

    def test_a_full_disk_ends_the_recording_only(self):
        where = iqd.endpoint()
        text = (f"source: {{soapy: {{args: driver=iqdsim, rate: 4e6}}}}\nblock: 4096\n"
                f"publish: [{{port: source, topic: t, bind: \"{where}\"}}]\n"
                f"sinks: [{{port: source, file: {{path: {self.folder}/r}}}}]\n")
        path = self.folder / "limited.sh"
        path.write_text("#!/bin/bash\nulimit -f 4096\nexec \"$REAL_IQD\" \"$@\"\n", encoding="utf-8")
        path.chmod(0o755)
        real, iqd.IQD = iqd.IQD, str(path)
        try:
            with self.daemon(text, environment={"REAL_IQD": real}) as daemon:
                reader = self.reader(where, "t")
                daemon.wait_for_log("recording has stopped")
                reader.rest(0)
                self.assertIsNotNone(reader.receive())  # streaming continues
                self.assertEqual(daemon.stop(), 0, daemon.text)
                self.assertConserved(daemon.final[0])
                self.assertGreater(daemon.final[0]["dropped"]["refused"], 0)
                recorded, = [p for p in daemon.final[0]["ports"] if p["to"] == "file"]
                # The messages that fitted whole; messages queued when the disk was full are refused too.
                self.assertEqual(recorded["messages"], 1024 * 1024 // 4096)
                self.assertRefusedWhole(recorded, daemon.final[0])
        finally:
            iqd.IQD = real
        self.assertEqual(os.path.getsize(self.folder / "r.sigmf-data"), 4096 * 1024)
        self.assertEqual(len(iqd.read_recording(self.folder / "r")[1]), 1024 * 1024)

    def test_a_disk_that_stands_still(self):
        """With a buffer no samples are lost; without one some are, and the recording says where."""
        text = (f"source: {{soapy: {{args: \"driver=iqdsim,frequency=100e3\", rate: 4e6}}}}\nblock: 4096\nsinks:\n"
                f"  - {{port: source, file: {{path: {self.folder}/r}}}}\n"
                f"  - {{port: source, file: {{path: {self.folder}/without, buffer: 0}}}}\n")
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: p["received"] > 1_000_000)
            with held(daemon.process.pid, "iqd-sink") as sinks:
                self.assertEqual(sinks, 2)
                still = daemon.wait_for(lambda p: p["dropped"]["refused"] > 0)["received"]
                after = daemon.wait_for(lambda p: p["received"] > still + 3_000_000)["received"]
            daemon.wait_for(lambda p: p["received"] > after + 1_000_000)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            final = daemon.final[0]
        self.assertConserved(final)
        kept, lost = (p for p in final["ports"] if p["to"] == "file")
        self.assertEqual(kept["refused"], 0)
        self.assertGreater(4096 * lost["refused"], 2_000_000)
        self.assertRefusedWhole(lost, final)
        before = final["received"] - sum(final["dropped"].values()) + final["dropped"]["refused"]
        for stem, samples in (("r", before), ("without", before - final["dropped"]["refused"])):
            meta, x = iqd.read_recording(self.folder / stem)
            self.assertEqual(len(x), samples, stem)
            assert_tone(self, meta, x, 100e3, 4e6)

    def test_a_disk_that_is_full(self):
        """A file system of 2 MB in the daemon's own mount namespace."""
        if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
            self.skipTest("unshare -rm is not allowed here")
        disk = self.folder / "disk"
        disk.mkdir()
        path = self.folder / "small.sh"
        path.write_text(f"#!/bin/sh\nexec unshare -rm sh -c 'mount -t tmpfs -o size=2m none {disk} && exec \"$REAL_IQD\" "
                        "\"$@\"' iqd \"$@\"\n", encoding="utf-8")
        path.chmod(0o755)
        text = (f"source: {{soapy: {{args: \"driver=iqdsim,frequency=100e3,lose_every=70000,lose=500\", rate: 2e6}}}}\nblock: 4096\n"
                f"sinks: [{{port: source, file: {{path: {disk}/r}}}}]\n")
        real, iqd.IQD = iqd.IQD, str(path)
        try:
            with self.daemon(text, environment={"REAL_IQD": real}) as daemon:
                daemon.wait_for_log("No space left on device")
                daemon.wait_for(lambda p: p["dropped"]["refused"] > 0)
                for end in ("meta", "data"):
                    shutil.copy(f"/proc/{daemon.process.pid}/root{disk}/r.sigmf-{end}", self.folder)
                self.assertEqual(daemon.stop(), 0, daemon.text)
                self.assertConserved(daemon.final[0])
        finally:
            iqd.IQD = real
        meta, x = iqd.read_recording(self.folder / "r")
        self.assertGreater(4 * len(x), 1.5e6)
        assert_tone(self, meta, x, 100e3, 2e6)


class Trigger(iqd.SystemTest):
    """Triggered recordings of a file that is played, so that every sample is known."""

    RATE = 1e6
    SAMPLES = 400_000
    BURST = 200_300  # a tone starts here; LENGTH is how long it lasts
    LENGTH = 5_000

    def setUp(self):
        super().setUp()
        n = np.arange(self.SAMPLES)
        self.x = (1e-3 * np.exp(2j * np.pi * n / 7)).astype(np.complex64)
        burst = slice(self.BURST, self.BURST + self.LENGTH)
        self.x[burst] = 0.5 * np.exp(2j * np.pi * n[burst] / 11)
        self.played = iqd.write_recording(self.folder / "played", self.x, self.RATE, captures=[
            {"core:sample_start": 0, "core:datetime": "2026-03-31T12:00:00.000000000Z"}])

    def pipeline(self, sinks, stages="", **more):
        """Plays the recording; `more` are keys of the source."""
        keys = "".join(f", {key}: {value}" for key, value in more.items())
        return (f"name: p\nsource: {{file: {{path: {self.played}{keys}}}}}\nblock: 4096\n{stages}sinks:\n" +
                "".join(f"  - {s}\n" for s in sinks))

    def record(self, *arguments, pipeline=None, code=0):
        path = self.folder / "p.yaml"
        path.write_text(pipeline or self.pipeline([]).replace("sinks:\n", ""), encoding="utf-8")
        done = iqd.command("record", path, self.folder / "r", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def expect(self, *stretches):
        """The recording consists of these stretches, each in its own capture with the right time."""
        meta, x = iqd.read_recording(self.folder / "r")
        np.testing.assert_array_equal(x, np.concatenate([self.x[a:b] for a, b in stretches]))
        self.assertEqual([c["core:global_index"] for c in meta["captures"]], [a for a, _ in stretches])
        for capture, (a, _) in zip(meta["captures"], stretches):
            us = round(a * 1e6 / self.RATE)
            self.assertEqual(capture["core:datetime"], f"2026-03-31T12:00:00.{us:06}000Z")
        return [(a["core:sample_start"], a["core:sample_count"], a["core:label"], a["core:comment"])
                for a in meta["annotations"]]

    def test_level_with_pre_roll(self):
        # A window of 1 ms that is half in the burst already exceeds the level.
        self.record("--trigger", "level > -12 dB", "--pre", "30 ms", "--post", "20ms")
        annotations = self.expect((200_000 - 30_000, 200_000 + 20_000))
        self.assertEqual(annotations, [(30_000, 1000, "level > -12 dB", "trigger 1 at 2026-03-31T12:00:00.200000000Z")])

    def test_a_time(self):
        self.record("--trigger", "time > 2026-03-31T12:00:00.1234Z", "--pre", "0.01", "--post", "0.05")
        self.expect((113_400, 173_400))

    def test_several_and_no_more_than_were_asked_for(self):
        self.record("--trigger", "level < -12 dB", "--post", "1500 us", "--count", 2)
        annotations = self.expect((0, 3000))  # the condition stays true: the second follows the first
        self.assertEqual([a[:2] for a in annotations], [(0, 1000), (1500, 1000)])

    def test_recorded_until_the_end_of_the_file(self):
        self.record("--trigger", "level > -12 dB", "--pre", "1 ms", "--post", "1 ms", "--count", 0)
        self.expect((199_000, 206_000))

    def test_a_limit_holds_as_well(self):
        self.record("--trigger", "level > -12 dB", "--pre", "1 ms", "--post", "1 s", "--samples", 1234)
        self.assertEqual([a[:2] for a in self.expect((199_000, 200_234))], [(1000, 234)])

    def test_nothing_came(self):
        done = self.record("--trigger", "level > 10 dB", code=1)
        self.assertIn("0 samples recorded", done.stderr)
        self.assertEqual(len(iqd.read_recording(self.folder / "r")[1]), 0)

    def test_what_is_wrong_is_said(self):
        for arguments, words in ((["--trigger", "loud > 3"], "expected one of level"),
                                 (["--trigger", "value > 3"], "use `level` or `peak`"),
                                 (["--trigger", "gap > 0", "--post", "soon"], "--post soon"),
                                 (["--trigger", "gap > 0", "--count", -1], "--count")):
            self.assertIn(words, self.record(*arguments, code=2).stderr)
        text = self.pipeline([f"{{port: source, file: {{path: {self.folder}/r, trigger: {{post: 1}}}}}}"])
        done = iqd.command("check", self.write(text))
        self.assertEqual(done.returncode, 2)
        self.assertIn("needs `when`", done.stderr)

    def write(self, text):
        path = self.folder / "p.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    def test_an_event_of_another_port(self):
        text = self.pipeline(
            ["{port: complex_to_mag.out, trigger: {name: found, when: value > 0.4}}",
             f"{{port: source, file: {{path: {self.folder}/r, trigger: {{name: found, pre: 2 ms, post: 10 ms, count: 1}}}}}}"],
            "stages:\n  - complex_to_mag: {}\n", pace="true")
        with self.daemon(text) as daemon:
            self.assertEqual(daemon.wait(), 0, daemon.text)
        annotations = self.expect((self.BURST - 2000, self.BURST + 10_000))
        self.assertEqual([a[:3] for a in annotations], [(2000, 1, "found")])

    def test_a_request_and_a_signal(self):
        port = iqd.free_port()
        where = f"http://127.0.0.1:{port}/api/triggers/"
        text = self.pipeline(
            [f"{{port: source, file: {{path: {self.folder}/r, trigger: {{name: now, pre: 5 ms, post: 5 ms}}}}}}"],
            pace="true", repeat="true") + f"monitor: {{listen: \"127.0.0.1:{port}\"}}\n"
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: p["received"] > 50_000)
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(where + "never", method="POST"))
            self.assertEqual(refused.exception.code, 404)
            refused.exception.close()
            self.assertEqual(len(iqd.read_recording(self.folder / "r")[1]), 0)
            with urllib.request.urlopen(urllib.request.Request(where + "now", method="POST")) as answer:
                self.assertEqual(json.load(answer), {"applied": ["now: 1 sink(s)"]})
            self.wait_for_samples(10_000)
            daemon.signal(signal.SIGUSR1)
            self.wait_for_samples(20_000)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertGreaterEqual(len(iqd.read_recording(self.folder / "r")[0]["captures"]), 2)

    def wait_for_samples(self, count):
        data = (self.folder / "r.sigmf-data")
        ends = time.monotonic() + iqd.PATIENCE
        while data.stat().st_size < 8 * count and time.monotonic() < ends:
            time.sleep(0.02)
        self.assertEqual(data.stat().st_size, 8 * count)

    def test_killed_at_any_moment_it_is_valid(self):
        for i, delay in enumerate((0.0, 0.1)):
            stem = self.folder / f"killed{i}"
            text = (f"source: {{soapy: {{args: \"driver=iqdsim,frequency=100e3,lose_every=5000,lose=100\", "
                    f"rate: 2e6}}}}\nblock: 3001\n"
                    f"sinks: [{{port: source, file: {{path: {stem}, trigger: {{when: gap > 0, pre: 200 us, post: 300 us}}}}}}]\n")
            kill_while_it_records(self, text, stem, delay)
            meta, x = iqd.read_recording(stem, killed=True)
            self.assertGreater(len(x), 0)
            assert_tone(self, meta, x, 100e3, 2e6)


if __name__ == "__main__":
    unittest.main()
