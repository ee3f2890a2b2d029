# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Killed with -9 again and again while it publishes and records: it always restarts, and every recording is valid."""

import json
import random
import shutil
import signal
import time
import unittest

import numpy as np

import iqd

KILLS = 20
RATE, TONE = 2e6, 123_457


class Kill(iqd.SystemTest):
    def killed_while_recording(self, text, reader, data, delay):
        """Runs until samples are published and recorded, then for another `delay` seconds."""
        reader.rest(0)
        with self.daemon(text) as daemon:
            reader.take(1)
            ends = time.monotonic() + iqd.PATIENCE
            while not (data.exists() and data.stat().st_size):
                self.assertLess(time.monotonic(), ends, daemon.text)
                self.assertIsNone(daemon.process.poll(), daemon.text)
                time.sleep(0.002)
            time.sleep(delay)
            daemon.signal(signal.SIGKILL)
            self.assertEqual(daemon.wait(), -signal.SIGKILL)

    def assertTone(self, meta, x):
        """Every segment is the tone, starting at its global index."""
        starts = [c["core:sample_start"] for c in meta["captures"]] + [len(x)]
        for capture, start, end in zip(meta["captures"], starts, starts[1:]):
            n = capture["core:global_index"] + np.arange(end - start)
            self.assertLess(np.abs(iqd.to_complex(x[start:end]) - iqd.tone(n, TONE, RATE)).max(initial=0), 1.01 / 32768)

    def lost(self, meta):
        """The samples missing between segments."""
        captures = meta["captures"]
        return sum(b["core:global_index"] - a["core:global_index"] - b["core:sample_start"] + a["core:sample_start"]
                   for a, b in zip(captures, captures[1:]))

    def test_amid_many_gaps(self):
        """Metadata cannot be written for each gap, so samples are held back: all samples on disk have known gaps."""
        where, stem = iqd.endpoint(), self.folder / "live"
        text = (f"source: {{soapy: {{args: \"driver=iqdsim,frequency={TONE},lose_every=2000,lose=100\", "
                f"rate: {RATE}}}}}\nblock: 3001\npublish: [{{port: source, topic: t, bind: \"{where}\"}}]\n"
                f"sinks: [{{port: source, file: {{path: {stem}, overwrite: true}}}}]\n")
        reader = self.reader(where, "t")
        chance = random.Random(4)
        segments = 0
        for i in range(KILLS):
            stem.with_suffix(".sigmf-data").unlink(missing_ok=True)
            self.killed_while_recording(text, reader, stem.with_suffix(".sigmf-data"), chance.uniform(0, 0.2))
            meta, x = iqd.read_recording(stem, killed=True)
            self.assertTone(meta, x)
            segments += len(meta["captures"])
        self.assertGreater(segments, 2 * KILLS)  # more with a faster machine

        kept = self.folder / "kept"
        for end in (".sigmf-meta", ".sigmf-data"):
            shutil.copy(stem.with_suffix(end), kept.with_suffix(end))
        played = f"source: {{file: {{path: {kept}}}}}\nsinks: [{{port: source, file: {{path: {self.folder}/x.npy}}}}]\n"
        with self.daemon(played) as daemon:
            self.assertEqual(daemon.wait(), 0, daemon.text)
        self.assertEqual(json.loads((self.folder / "x.json").read_text(encoding="utf-8"))["lost"], self.lost(meta))
        self.assertEqual([p.name for p in self.folder.glob("*.part")], [])

    def test_again_and_again(self):
        """One address and one file, as for a restarted service. A reader stays connected throughout."""
        where, stem = iqd.endpoint(), self.folder / "live"
        text = (f"source: {{soapy: {{args: \"driver=iqdsim,frequency={TONE},lose_every=50000,lose=100\", "
                f"rate: {RATE}}}}}\nblock: 3001\npublish: [{{port: source, topic: t, bind: \"{where}\"}}]\n"
                f"sinks: [{{port: source, file: {{path: {stem}, overwrite: true}}}}]\n")
        reader = self.reader(where, "t")
        chance = random.Random(9)
        segments = 0
        for i in range(KILLS):
            stem.with_suffix(".sigmf-data").unlink(missing_ok=True)
            self.killed_while_recording(text, reader, stem.with_suffix(".sigmf-data"), chance.uniform(0, 0.25))
            kept = self.folder / f"kept{i}"
            for end in (".sigmf-meta", ".sigmf-data"):
                shutil.copy(stem.with_suffix(end), kept.with_suffix(end))
            meta, x = iqd.read_recording(kept, killed=True)
            self.assertGreater(len(x), 0)
            self.assertTone(meta, x)
            segments += len(meta["captures"])
        self.assertGreater(segments, KILLS)
        done = iqd.command("record", self.folder / "last", "--args", "driver=iqdsim,pace=false", "--rate", "1 MS/s",
                           "--samples", 1000)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
