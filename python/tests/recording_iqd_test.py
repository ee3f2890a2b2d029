# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.Recording and iqd.write against the program: it reads what they write, and they read as it does."""

import os
import subprocess
import tempfile
import unittest

import numpy as np

import iqd
from iqd._datatypes import Datatype
from recording_test import RecordingTest, metadata

PATIENCE = 30.0
NUMBERS = ("f16", "f32", "f64", "i8", "i16", "i24", "i32", "u8", "u16", "u32")


class AgainstIqd(RecordingTest):
    def convert(self, path):
        """The samples as the file source has them, by `iqd convert` into an array: [channel][n]."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            out = os.path.join(folder, "out.npy")
            done = subprocess.run([os.environ["IQD"], "convert", str(path), out], capture_output=True, text=True,
                                  check=False, timeout=PATIENCE)
            self.assertEqual(done.returncode, 0, done.stderr)
            x = np.load(out)
        if x.dtype == np.int16:
            x = (x[..., 0] + 1j * x[..., 1]) / 32768
        return x.T if x.ndim > 1 else x

    def test_every_type_has_the_same_values(self):
        rng = np.random.default_rng(3)
        for name in [f"{c}{number}_{order}" for c in "cr" for number in NUMBERS for order in ("le", "be")]:
            datatype = Datatype(name)
            for channels in (1, 3):
                count = 50 * channels * datatype.parts
                raw = (rng.normal(size=count).astype(datatype.part).tobytes() if datatype.kind == "f"
                       else rng.bytes(count * datatype.bits // 8))
                path = self.store(raw, metadata(datatype.name, num_channels=channels))
                rec = iqd.Recording(path)
                np.testing.assert_array_equal(rec[:], self.convert(path), name)
                if name[1:4] in ("f16", "i24"):  # not of SigMF
                    continue
                again = iqd.write(self.folder / "again", rec.raw[:], rate=1000, datatype=datatype.name, overwrite=True)
                self.assertEqual((self.folder / "again.sigmf-data").read_bytes(), raw, name)
                if datatype.kind != "f" and datatype.bits < 32:  # a float32 holds these numbers exactly
                    again = iqd.write(self.folder / "again", rec[:], rate=1000, datatype=datatype.name, overwrite=True)
                    self.assertEqual((self.folder / "again.sigmf-data").read_bytes(), raw, name)
                self.assertEqual(again.datatype, datatype.name)

    def random_captures(self, rng, samples):
        starts = sorted({0, *map(int, rng.integers(1, samples, 4))})
        captures, position = [], 0
        for before, start in zip([0, *starts], starts):
            position += start - before + (int(rng.integers(0, 3)) * 500 if start else 0)
            capture = {"core:sample_start": start}
            if rng.random() < 0.6:
                capture["core:global_index"] = position + 7
            if rng.random() < 0.6:
                capture["core:datetime"] = f"2026-01-01T00:00:{position / 1000:012.9f}Z"
            if rng.random() < 0.6:
                capture["core:frequency"] = float(rng.integers(1, 5)) * 1e8
            captures.append(capture)
        return captures

    def test_gaps_times_and_frequencies_are_those_that_iqd_plays(self):
        rng = np.random.default_rng(5)
        x = np.arange(3000, dtype=np.float32)
        for _ in range(25):
            path = self.store(x, metadata("rf32_le", self.random_captures(rng, len(x))))
            where = f"ipc://{self.folder}/x"
            pipeline = {"source": {"file": {"path": str(path)}}, "block": 200,
                        "publish": [{"port": "source", "topic": "x", "bind": where}]}
            with iqd.run(pipeline, wait_subscribers=1, timeout=PATIENCE) as d:
                played = list(iqd.subscribe(where, timeout=PATIENCE, reconnect=0))
                self.assertEqual(d.wait(PATIENCE), 0)
            rec, at = iqd.Recording(path), 0
            gaps = [(m.data[0], m.gap) for m in played if m.gap]
            self.assertEqual(gaps, [gap for gap in rec.gaps if gap[0] < len(x)], rec.captures)
            for m in played:
                capture = [c for c in rec.captures if c.start <= at][-1]
                self.assertEqual(m.sample, capture.position + at - capture.start)
                if rec.time_ns is not None:
                    self.assertLessEqual(abs(capture.time_ns + (at - capture.start) * 1_000_000 - m.time_ns), 2)
                np.testing.assert_array_equal(m.data, rec[at:at + len(m.data)])
                at += len(m.data)
            self.assertEqual(at, len(x))

    def test_recordings_of_iqd(self):
        path = self.folder / "own"
        pipeline = {"source": {"soapy": {"args": "driver=iqdsim", "rate": "1 MS/s", "frequency": "433 MHz",
                                         "channels": [0, 1]}},
                    "sinks": [{"port": "source", "file": {"path": str(path)}}]}
        with iqd.run(pipeline, seconds=0.3, timeout=PATIENCE) as d:
            self.assertEqual(d.wait(PATIENCE), 0)
        rec = iqd.Recording(path)
        self.assertEqual((rec.channels, rec.rate, rec.frequency, rec.datatype), (2, 1e6, 433e6, "ci16_le"))
        self.assertEqual(len(rec), d.final["pipelines"][0]["published"])
        self.assertEqual(rec[:0.01].shape, (2, 10_000))
        np.testing.assert_array_equal(rec[:], self.convert(f"{path}.sigmf-meta"))
        self.assertGreater(rec.time, 1.7e9)


if __name__ == "__main__":
    unittest.main()
