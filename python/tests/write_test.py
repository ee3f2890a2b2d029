# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.write: recordings of arrays."""

import datetime
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock
import warnings

import numpy as np

import iqd
from iqd._message import Message

SUPPORT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "support"


class Write(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="iqd-test-"))
        self.path = os.path.join(self.folder, "w.sigmf-meta")

    def write(self, x, **options):
        return iqd.write(self.path, x, **{"rate": 2e6, "overwrite": True, **options})

    def refused(self, words, x=(1j, 2j), kind=iqd.ConfigError, **options):
        with self.assertRaises(kind) as caught:
            self.write(x, **options)
        self.assertIn(words, str(caught.exception))
        self.assertEqual(sorted(os.listdir(self.folder)), self.before)

    def test_the_array_decides_the_type(self):
        for dtype, name in (("c8", "cf32_le"), ("c16", "cf64_le"), ("f4", "rf32_le"), ("f8", "rf64_le"),
                            ("f2", "rf32_le"), (">c8", "cf32_le"), ("i1", "ri8"), ("u1", "ru8"), ("i2", "ri16_le"),
                            ("u2", "ru16_le"),
                            ("i4", "ri32_le"), (">u4", "ru32_le")):
            x = np.arange(100).astype(dtype)
            rec = self.write(x)
            self.assertEqual(rec.datatype, name)
            np.testing.assert_array_equal(rec.raw[:], x)
        for dtype, name in (("i1", "ci8"), ("u1", "cu8"), ("i2", "ci16_le"), ("u2", "cu16_le"), ("i4", "ci32_le")):
            x = np.arange(100).astype(dtype).reshape(-1, 2)
            rec = self.write(x)
            self.assertEqual((rec.datatype, len(rec)), (name, 50))
            np.testing.assert_array_equal(rec.raw[:], x)

    def test_channels(self):
        x = np.arange(30).reshape(3, 10) + 1j
        rec = self.write(x)
        self.assertEqual((rec.channels, len(rec)), (3, 10))
        np.testing.assert_array_equal(rec[:], x)
        pairs = np.arange(60, dtype=np.int16).reshape(3, 10, 2)
        rec = self.write(pairs)
        self.assertEqual((rec.channels, rec.datatype), (3, "ci16_le"))
        np.testing.assert_array_equal(rec.raw[:], pairs)
        two = np.arange(20, dtype=np.int16).reshape(10, 2)
        rec = self.write(two, datatype="ri16_le")
        self.assertEqual((rec.channels, len(rec)), (10, 2))
        np.testing.assert_array_equal(rec.raw[:], two)

    def test_strides_and_orders(self):
        x = (np.arange(4000) * (1 - 0.5j)).astype(np.complex64).reshape(2, 2000)
        for view in (x[:, ::3], x[::-1, ::-1], np.asfortranarray(x), x.T.copy().T, x[0, 1::2]):
            np.testing.assert_array_equal(self.write(view)[:], view)

    def test_more_than_is_converted_at_once(self):
        x = np.random.default_rng(2).normal(size=(2, 600_000)).astype(np.float32)
        np.testing.assert_array_equal(self.write(x)[:], x)

    def test_another_type_scales_rounds_and_clips(self):
        x = np.array([0, 0.5, -1, 1.2, -3, np.nan, 0.25 + 2**-17])
        with self.assertWarnsRegex(iqd.ConversionWarning, "^3 numbers are beyond full scale"):
            rec = self.write(x, datatype="ri16_le")
        self.assertEqual(rec.raw[:].tolist(), [0, 16384, -32768, 32767, -32768, 0, 8192])
        with self.assertWarns(iqd.ConversionWarning):
            self.assertEqual(self.write(x[:4], datatype="ru8").raw[:].tolist(), [128, 192, 0, 255])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rec = self.write(np.array([[1, -2], [3, 4]], np.int16), datatype="cf32_le")
            np.testing.assert_array_equal(rec[:] * 32768, [1 - 2j, 3 + 4j])
            self.assertEqual(self.write(np.array([0.5 - 1j]), datatype="ci16_be").raw[:].tolist(), [[16384, -32768]])

    def test_what_is_known_of_the_samples(self):
        when = datetime.datetime(2026, 3, 31, 12, 0, 0, 250_000, datetime.timezone.utc)
        for time in (when, when.timestamp(), "2026-03-31T12:00:00.25Z", np.datetime64("2026-03-31T12:00:00.25"),
                     when.replace(tzinfo=None)):
            rec = self.write(np.zeros(10, np.complex64), frequency=433.92e6, time=time, author="me", description="d",
                             hardware="none")
            self.assertEqual((rec.frequency, rec.time, rec.rate), (433.92e6, when.timestamp(), 2e6))
        facts = rec.meta["global"]
        self.assertEqual((facts["core:author"], facts["core:description"], facts["core:hw"]), ("me", "d", "none"))
        self.assertEqual(rec.captures[0]["core:datetime"], "2026-03-31T12:00:00.250000000Z")

    def test_annotations_and_captures(self):
        notes = [{"start": 0.5, "stop": 0.75, "label": "burst", "low": np.float32(1e6), "high": 2e6},
                 {"core:sample_start": 3, "core:sample_count": 4, "core:comment": "c"}, {"start": np.int64(9)}]
        captures = [{"start": 0, "frequency": 1e8, "index": 5}, {"start": 50, "frequency": 2e8, "index": 65,
                                                                 "time": "2026-01-01T00:00:00Z"}]
        rec = self.write(np.zeros(100, np.float32), rate=100, annotations=notes, captures=captures)
        self.assertEqual([(a.start, a.stop, a.label, a.comment, a.low) for a in rec.annotations],
                         [(3, 7, "", "c", None), (9, 9, "", "", None), (50, 75, "burst", "", 1e6)])
        self.assertEqual([(c.start, c.gap, c.frequency) for c in rec.captures], [(0, 0, 1e8), (50, 10, 2e8)])
        again = self.write(rec, annotations=rec.annotations, captures=rec.captures)
        self.assertEqual((again.gaps, again.annotations, again.rate), (rec.gaps, rec.annotations, 2e6))

    def test_messages_and_recordings_bring_their_own_facts(self):
        header = {"sample_rate": 1e6, "frequency": 5e6, "time_ns": 10**18, "dims": ["n", "iq"], "datatype": "ci16_le"}
        m = Message("iq", header, np.ones((4, 2), np.int16), "", 0)
        rec = iqd.write(self.path, m)
        self.assertEqual((rec.rate, rec.frequency, rec.time_ns, rec.datatype), (1e6, 5e6, 10**18, "ci16_le"))
        other = iqd.write(os.path.join(self.folder, "other"), rec)
        self.assertEqual((other.rate, other.frequency, other.time_ns, other.datatype), (1e6, 5e6, 10**18, "cf32_le"))
        np.testing.assert_array_equal(other[:], m.samples)

    def test_archives(self):
        path = os.path.join(self.folder, "a.b.sigmf")
        rec = iqd.write(path, np.arange(5) + 0j, rate=1)
        np.testing.assert_array_equal(rec[:], np.arange(5))
        with tarfile.open(path) as tar:
            self.assertEqual(tar.getnames(), ["a.b.sigmf-meta", "a.b.sigmf-data"])
        self.assertEqual(os.listdir(self.folder), ["a.b.sigmf"])

    def test_an_existing_recording_stays_unless_it_may_be_replaced(self):
        rec = self.write(np.zeros(10, np.float32))
        self.before = sorted(os.listdir(self.folder))
        self.refused("already exists; give overwrite=True", kind=iqd.Error, overwrite=False)
        self.assertEqual(len(iqd.Recording(rec.path)), 10)

    def test_bad_input_changes_nothing(self):
        self.write(np.zeros(3, np.float32))
        self.before = sorted(os.listdir(self.folder))
        for x in (np.zeros(3, np.int64), np.zeros(3, bool), np.array(["a"]), np.array(1.0), np.zeros((2, 3, 4)),
                  [None]):
            self.refused("", x)
        for options, words in (({"rate": None}, "rate must be a number"), ({"rate": float("nan")}, "rate must be"),
                               ({"rate": 0}, "rate must be"), ({"frequency": float("inf")}, "frequency must be"),
                               ({"time": "soon"}, "is none: give seconds"), ({"time": float("nan")}, "is none"),
                               ({"datatype": "cf31"}, "is not a data type"),
                               ({"datatype": "rf32_le"}, "cannot be written"),
                               ({"annotations": [{"start": -1}]}, "is no place"), ({"annotations": [5]}, "is no dict"),
                               ({"annotations": [{"start": float("nan")}]}, "is no place"),
                               ({"annotations": [{"start": 1, "count": 2}]}, "are not all in the 2 samples"),
                               ({"annotations": [{"start": 1, "low": float("nan")}]}, "captures or annotations"),
                               ({"captures": [{"start": 3}]}, "are not all in the 2 samples")):
            self.refused(words, **options)
        self.refused("cannot be written as ri16_le, which is real", np.zeros((2, 3, 2), np.int16), datatype="ri16_le")
        self.assertEqual(iqd.Recording(self.path).datatype, "rf32_le")
        with self.assertRaisesRegex(iqd.Error, "cannot be written: No such file"):
            iqd.write("/no/where", np.zeros(3), rate=1)

    def test_ctrl_c_leaves_nothing_behind(self):
        self.write(np.zeros(3, np.float32))
        self.before = sorted(os.listdir(self.folder))
        for path in (self.path, os.path.join(self.folder, "w.sigmf")):
            with unittest.mock.patch("iqd._write._write_text", side_effect=KeyboardInterrupt):
                self.assertRaises(KeyboardInterrupt, iqd.write, path, np.zeros(5), rate=1, overwrite=True)
            self.assertEqual(sorted(os.listdir(self.folder)), self.before)
        self.assertEqual(len(iqd.Recording(self.path)), 3)

    def test_others_accept_it(self):
        """By the check that iqd's own recordings have to pass."""
        for x in (np.zeros(10, np.complex64), np.zeros((3, 7, 2), np.int16), np.zeros(5, np.uint8)):
            self.write(x, frequency=1e6, time=1.75e9, annotations=[{"start": 1, "count": 2, "label": "l"}], author="a")
            done = subprocess.run([sys.executable, "-B", SUPPORT / "sigmf_check.py", self.path], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(json.loads(pathlib.Path(self.path).read_text(encoding="utf-8")))


if __name__ == "__main__":
    unittest.main()
