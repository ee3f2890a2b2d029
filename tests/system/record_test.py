# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""SigMF recordings that are made: whole, with gaps, cut short by a killed writer or a full disk."""

import os
import signal
import time
import unittest

import numpy as np

import iqd


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
        # The tone goes on through the gaps at the positions that the headers say.
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
            with self.daemon(text) as daemon:
                data = stem.with_suffix(".sigmf-data")
                ends = time.monotonic() + iqd.PATIENCE
                while not (data.exists() and data.stat().st_size) and time.monotonic() < ends:
                    time.sleep(0.005)
                time.sleep(delay)
                daemon.signal(signal.SIGKILL)
                daemon.process.wait()
            self.assertEqual(data.stat().st_size % 4, 0)
            _, x = iqd.read_recording(stem)
            messages = self.replay(stem)
            np.testing.assert_array_equal(np.concatenate([m.x for m in messages]), x)

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
                self.assertIsNotNone(reader.receive())  # streaming goes on
                self.assertEqual(daemon.stop(), 0, daemon.text)
                self.assertConserved(daemon.final[0])
                self.assertGreater(daemon.final[0]["dropped"]["refused"], 0)
                recorded, = [p for p in daemon.final[0]["ports"] if p["to"] == "file"]
                self.assertGreater(recorded["refused"], 0)
        finally:
            iqd.IQD = real
        self.assertEqual(os.path.getsize(self.folder / "r.sigmf-data"), 4096 * 1024)
        self.assertEqual(len(iqd.read_recording(self.folder / "r")[1]), 1024 * 1024)


if __name__ == "__main__":
    unittest.main()
