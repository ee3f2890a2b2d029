# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`iqd map --slurm` on a cluster of Slurm: whatever dies on the way, the files are those of one run.

Skips, with 77, where Slurm is not installed, or without root."""

import os
import signal
import subprocess
import sys
import time
import unittest

import iqd
import slurm
from map_case import MapTest

WINDOWS = 6


class MapSlurm(MapTest):
    not_started = ""

    def setUp(self):
        super().setUp()
        if self.not_started:
            self.skipTest(self.not_started)
        try:
            self.cluster = self.enterContext(slurm.Cluster(self.folder / "cluster"))
        except slurm.NotStarted as why:
            type(self).not_started = str(why)
            self.skipTest(str(why))

    def begin(self, *more, pipeline=None, into="out"):
        command = [iqd.IQD, "map", pipeline or self.pipeline, self.recording, "--slurm", "--windows", WINDOWS,
                   "--into", self.folder / into, *more]
        return subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True,
                                env=self.cluster.environment, cwd=self.folder)

    def wait_until(self, condition):
        ends = time.monotonic() + iqd.PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.05)

    def end(self, process, code=0):
        text = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, code, text)
        return text

    def test_equal_to_one_run(self):
        into = "it's $HOME"
        process = self.begin("--sbatch=--cpus-per-task=1", "--sbatch=--comment=lab test", into=into)
        self.assertIn("windows 0-5", self.end(process))
        self.assertWhole(into)

    def test_windows_are_killed(self):
        """Slurm does not run a killed task again, so iqd does."""
        process = self.begin(pipeline=self.slow())
        self.wait_until(lambda: self.pkill("-9", "--window"))
        self.assertRegex(self.end(process), r"again: windows [0-9]")
        self.assertWhole()

    def test_the_controller_is_killed(self):
        """It remembers the job, or has forgotten it: then iqd hands it in again."""
        process = self.begin("--sbatch=--begin=now+4")
        self.wait_until(lambda: "PD" in self.cluster.ask("squeue", "--noheader", "--format=%t"))
        self.cluster.kill("slurmctld")
        time.sleep(2)
        self.cluster.start_controller()
        self.end(process)
        self.assertWhole()

    def test_stopped(self):
        process = self.begin("--sbatch=--begin=now+1hour")
        self.wait_until(lambda: "PD" in self.cluster.ask("squeue", "--noheader", "--format=%t"))
        process.send_signal(signal.SIGINT)
        self.assertIn("the same command continues", self.end(process, 1))
        self.wait_until(lambda: not self.cluster.ask("squeue", "--noheader"))

    def test_what_slurm_refuses(self):
        self.assertIn("sbatch: ", self.end(self.begin("--sbatch=--partition=none"), 1))
        done = iqd.command("map", self.pipeline, self.recording, "--slurm", "--windows", 2, cwd=self.folder,
                           env={**os.environ, "PATH": str(self.folder)})
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no sbatch", done.stderr)


if __name__ == "__main__":
    if why := slurm.why_not():
        print(why)
        sys.exit(77)
    unittest.main()
