# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`iqd map`: a pipeline over a recording, in windows, gives the files of one run, whatever fails on the way."""

import os
import shutil
import signal
import subprocess
import time
import unittest

import numpy as np

import iqd
from map_case import PIPELINE, MapTest

WINDOWS = 7


class Map(MapTest):
    def test_equal_to_one_run(self):
        for windows, jobs in ((1, 1), (WINDOWS, 3)):
            with self.subTest(windows=windows):
                done = self.map("--windows", windows, "--jobs", jobs, "--overwrite")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertWhole()
        self.assertIn("exists; --overwrite replaces it", self.map("--windows", WINDOWS).stderr)

    def test_the_files_own_recording(self):
        spec = {"source": {"file": {"path": f"../{self.recording.name}", "pace": True}}, **PIPELINE}
        done = iqd.command("map", self.write(spec, "own.yaml"), "--into", self.folder / "out", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertWhole()

    def test_what_is_wrong(self):
        soapy = {"source": {"soapy": {"args": "driver=nothing", "rate": "1 MS/s"}}}
        loop = {"clock_recovery": {"samples_per_symbol": 4, "from": "fir.out"}}
        topic = {"port": "clock_recovery.out", "topic": "a", "bind": "tcp://127.0.0.1:5555"}
        twice = {"port": "fir.out", "file": {"path": "x/level.npy"}}
        for spec, why in ((soapy, "neither topics nor sinks"),
                          ({**soapy, **PIPELINE, "stages": [{"rotatt": {}}]}, "did you mean"),
                          ({**soapy, **PIPELINE, "stages": [*PIPELINE["stages"], loop], "publish": [topic]}, "warm"),
                          ({**soapy, **PIPELINE, "sinks": [*PIPELINE["sinks"], twice]}, "two sinks write 'level.npy'"),
                          ({**soapy, "publish": [{"port": ["a"]}, 3], "sinks": "x"}, "neither topics nor sinks"),
                          ({"source": 3, "sinks": [{"port": 3, "file": None}]}, "wrong.yaml"),
                          ({"pipelines": 3}, "choose a --pipeline"),
                          ({"pipelines": [{"name": "a", **soapy}, {"name": "b", **soapy}]},
                           "choose a --pipeline: a, b")):
            with self.subTest(why):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                done = self.map("--windows", 2, pipeline=self.write(spec, "wrong.yaml"))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(why, done.stderr)
        done = iqd.command("map", self.pipeline, "--into", self.folder / "out")
        self.assertEqual((done.returncode, "name a recording" in done.stderr), (2, True), done.stderr)
        self.assertEqual(self.map("--slurm").returncode, 2)

    def test_windows_that_fail(self):
        """The same command continues with them."""
        mark = self.folder / "mark"
        pipeline = self.with_python(f"""import pathlib
def f(x, meta):
    if meta.sample >= 40_000 and not pathlib.Path({str(mark)!r}).exists():
        raise ValueError("not yet")
    return x
""", "fails")
        done = self.map("--windows", 4, "--tries", 2, pipeline=pipeline)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("after 2 tries, windows 2-3 are missing or lost samples", done.stderr)
        mark.touch()
        done = self.map("--windows", 4, pipeline=pipeline)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertWhole()

    def begin_slow(self):
        """Starts a map, and returns when its first window runs."""
        path = self.slow()
        command = [iqd.IQD, "map", str(path), "--into", str(self.folder / "out"), "--windows", "4", "--jobs", "2"]
        process = self.enterContext(subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=self.folder))
        ends = time.monotonic() + iqd.PATIENCE
        while not self.pkill("-0", "--window 0/4"):
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.02)
        return process, command

    def test_a_run_is_killed(self):
        process, _ = self.begin_slow()
        self.assertTrue(self.pkill("-9", "--window 0/4"))
        text = process.communicate(timeout=iqd.PATIENCE)[1]
        self.assertEqual(process.returncode, 0, text)
        self.assertIn("window 0: signal 9", text)
        self.assertIn("again: windows 0\n", text)
        self.assertWhole()

    def test_another_map_in_the_folder(self):
        self.assertEqual(self.map("--windows", 3, "--keep").returncode, 0)
        self.assertEqual(self.map("--windows", 3, "--keep").returncode, 0, "the same one joins again")
        other = self.write({"source": {"file": {"path": "x"}}, **PIPELINE, "block": 500}, "other.yaml")
        before = self.files()
        for more in (("--windows", 3, "--warm", "1 ms"), ("--windows", 2)):
            self.assertIn("has windows of something else", self.map(*more).stderr)
        self.assertIn("has windows of something else", self.map("--windows", 3, pipeline=other).stderr)
        wrong = self.write({"source": {"file": {"path": "x"}}, **PIPELINE, "block": "x"}, "wrong.yaml")
        self.assertEqual(self.map("--windows", 3, "--overwrite", pipeline=wrong).returncode, 2)
        self.assertEqual(self.files(), before)
        self.assertEqual(self.map("--windows", 2, "--overwrite", pipeline=other).returncode, 0)
        self.assertEqual([name for name in os.listdir(self.folder / "out") if "-of-" in name or "map" in name], [])

    def test_another_recording_of_this_name(self):
        self.assertEqual(self.map("--windows", 3, "--keep").returncode, 0)
        data = self.recording.with_suffix(".sigmf-data")
        x = np.fromfile(data, np.complex64)
        (2 * x).tofile(data)
        self.assertIn("has windows of something else", self.map("--windows", 3).stderr)
        self.assertEqual(self.map("--windows", 3, "--overwrite").returncode, 0)
        self.assertWhole()

    def test_the_folder_keeps_what_is_not_its_own(self):
        (self.folder / "out").mkdir()
        others = {"backup.1-of-3.rar", "best-of-1990.npy", "map.yaml"}
        for name in others:
            (self.folder / "out" / name).touch()
        self.assertEqual(self.map("--windows", 3).returncode, 0)
        self.assertLessEqual(others, set(self.files()))

    def test_stopped(self):
        """Windows end with it, and the same command continues."""
        process, command = self.begin_slow()
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=iqd.PATIENCE)[1]
        self.assertEqual(process.returncode, 1, text)
        self.assertIn("the same command continues", text)
        self.assertFalse(self.pkill("-0", "--window"))
        done = iqd.command(*command[1:], "--overwrite", cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertWhole()


if __name__ == "__main__":
    unittest.main()
