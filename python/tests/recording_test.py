# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.Recording: what it reads, and what it refuses."""

import json
import os
import pathlib
import resource
import tarfile
import tempfile
import unittest

import numpy as np

import iqd

RATE = 1000.0


def metadata(datatype="cf32_le", captures=None, annotations=(), **more):
    return {"global": {"core:datatype": datatype, "core:version": "1.2.5", "core:sample_rate": RATE,
                       **{f"core:{key}": value for key, value in more.items()}},
            "captures": [{"core:sample_start": 0}] if captures is None else captures, "annotations": list(annotations)}


class RecordingTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="iqd-test-")))

    def store(self, x, meta=None, name="r"):
        """Writes both files; returns the path of the metadata."""
        (self.folder / f"{name}.sigmf-data").write_bytes(x if isinstance(x, bytes) else np.asarray(x).tobytes())
        path = self.folder / f"{name}.sigmf-meta"
        path.write_text(meta if isinstance(meta, str) else json.dumps(meta or metadata()), encoding="utf-8")
        return path

    def refused(self, words, path):
        with self.assertRaises(iqd.ConfigError) as caught:
            iqd.Recording(path)
        self.assertIn(words, str(caught.exception))
        return caught.exception.problems


class Samples(RecordingTest):
    def setUp(self):
        super().setUp()
        self.x = (np.arange(2000) + 1j).astype(np.complex64)
        self.rec = iqd.Recording(self.store(self.x))

    def test_the_usual_facts(self):
        self.assertEqual((len(self.rec), self.rec.rate, self.rec.datatype, self.rec.channels, self.rec.frequency),
                         (2000, RATE, "cf32_le", 1, None))
        self.assertEqual((self.rec.duration, self.rec.time, self.rec.gaps, self.rec.annotations), (2, None, [], []))
        self.assertEqual(self.rec.meta["global"]["core:version"], "1.2.5")
        self.assertIn("2000 samples of cf32_le at 1 kS/s, 0 annotations", repr(self.rec))
        np.testing.assert_array_equal(np.asarray(self.rec), self.x)

    def test_slices_in_samples(self):
        for key in (slice(None), slice(10, 20), slice(-5, None), slice(5000), slice(20, 10), slice(None, None, 7),
                    slice(3, 90, 10), slice(None, None, -1), slice(50, 10, -3), slice(-10**9, 10**9)):
            np.testing.assert_array_equal(self.rec[key], self.x[key], str(key))
            np.testing.assert_array_equal(self.rec.raw[key], self.x[key], str(key))
        self.assertEqual((self.rec[3], self.rec[-1], self.rec[np.int32(7)]), (self.x[3], self.x[-1], self.x[7]))
        for key in (2000, -2001):
            self.assertRaises(IndexError, lambda k=key: self.rec[k])
        for key in ((1, 2), "a", slice("a", None), slice(0, 5, 0.5)):
            self.assertRaises(TypeError, lambda k=key: self.rec[k])

    def test_slices_in_seconds(self):
        for key, same in ((slice(1.5, 2.0), slice(1500, 2000)), (slice(0.0, 0.0101), slice(0, 10)),
                          (slice(-0.5, None), slice(1500, None)), (slice(None, 99.0), slice(None)), (1.25, 1250),
                          (slice(1, 0.01), slice(1, 10)), (slice(np.float32(0.5), 600), slice(500, 600))):
            np.testing.assert_array_equal(self.rec[key], self.x[same], str(key))
        for nowhere in (float("nan"), float("inf")):
            with self.assertRaisesRegex(iqd.ConfigError, "is no time"):
                self.rec[nowhere:]

    def test_slices_know_their_rate(self):
        part = self.rec[1.5:]
        self.assertIsInstance(part, iqd.Array)
        self.assertEqual((part.rate, part.frequency), (RATE, 0))
        np.testing.assert_allclose(part.axes["n"], 1.5 + np.arange(500) / RATE)
        self.assertEqual((part[10:][::2].rate, part[10:][::2].axes["n"][1]), (RATE / 2, 1.5 + 12 / RATE))
        thin = self.rec[4::10]
        self.assertEqual((thin.rate, thin.axes["n"].tolist()[:2]), (RATE / 10, [0.004, 0.014]))
        for plain in (self.rec[::-1], self.rec[5:5], self.rec.raw[:], self.rec[3], np.abs(part)):
            self.assertNotIsInstance(plain, iqd.Array)
        without = metadata()
        del without["global"]["core:sample_rate"]
        self.assertNotIsInstance(iqd.Recording(self.store(self.x, without, "no"))[:], iqd.Array)

    def test_views_of_the_file_are_read_only(self):
        part = self.rec[10:20]
        self.assertFalse(part.flags.owndata or part.flags.writeable)
        pairs = iqd.Recording(self.store(np.ones((10, 2), np.int16), metadata("ci16_le"), "i"))
        self.assertFalse(pairs.raw[:].flags.owndata)
        self.assertEqual((pairs.raw[2:5].shape, pairs.raw[0].tolist(), pairs[0]), ((3, 2), [1, 1], (1 + 1j) / 32768))

    def test_only_what_is_asked_for_is_read(self):
        path = self.store(b"", name="large")
        os.truncate(self.folder / "large.sigmf-data", 8 << 34)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rec = iqd.Recording(path)
        self.assertEqual(len(rec), 1 << 34)
        self.assertEqual(rec[1 << 33:(1 << 33) + 1000].tolist(), [0] * 1000)
        self.assertEqual(sum(m.data.size for m in rec.blocks(4096, stop=100_000)), 100_000)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 65536, "KiB")

    def test_channels(self):
        x = np.arange(60, dtype=np.int16).reshape(10, 3, 2)
        rec = iqd.Recording(self.store(x, metadata("ci16_le", num_channels=3)))
        self.assertEqual((len(rec), rec.channels, rec[:].shape, rec.raw[:].shape), (10, 3, (3, 10), (3, 10, 2)))
        np.testing.assert_array_equal(rec.raw[2:4], np.swapaxes(x[2:4], 0, 1))
        np.testing.assert_array_equal(rec[:] * 32768, (x[..., 0] + 1j * x[..., 1]).T)
        np.testing.assert_array_equal(rec[4] * 32768, x[4, :, 0] + 1j * x[4, :, 1])
        self.assertTrue(rec[:].flags.c_contiguous)

    def test_scaling(self):
        for datatype, numbers, values in (
                ("ri16_le", [-32768, 0, 16384], [-1, 0, 0.5]), ("ri8", [-128, 127], [-1, 127 / 128]),
                ("ru8", [0, 127, 255], [-127.5 / 128, -0.5 / 128, 127.5 / 128]),
                ("ru16_be", [0, 65535], [-65535 / 65536, 65535 / 65536]), ("ri32_be", [-2**31, 2**30], [-1, 0.5]),
                ("rf64_le", [0.1, np.nan], [np.float32(0.1), np.nan]), ("rf32_be", [0.5, -np.inf], [0.5, -np.inf])):
            kind = datatype[1:].partition("_")
            dtype = np.dtype((">" if kind[2] == "be" else "<") + kind[0][0] + str(int(kind[0][1:]) // 8))
            rec = iqd.Recording(self.store(np.array(numbers, dtype), metadata(datatype)))
            np.testing.assert_array_equal(rec[:], np.array(values, np.float32), datatype)
            np.testing.assert_array_equal(rec.raw[:], np.array(numbers, dtype))
            self.assertEqual(rec.datatype, datatype)


class Structure(RecordingTest):
    CAPTURES = [{"core:sample_start": 0, "core:global_index": 50, "core:frequency": 1e8,
                 "core:datetime": "2026-01-01T00:00:00Z"},
                {"core:sample_start": 100, "core:global_index": 190}, {"core:sample_start": 150, "core:frequency": 2e8}]

    def test_gaps_and_times(self):
        rec = iqd.Recording(self.store(np.arange(200, dtype=np.float32), metadata("rf32_le", self.CAPTURES)))
        self.assertEqual([(c.start, c.stop, c.gap, c.position, c.frequency) for c in rec.captures],
                         [(0, 100, 0, 0, 1e8), (100, 150, 40, 140, None), (150, 200, 0, 190, 2e8)])
        self.assertEqual([c.time_ns - rec.time_ns for c in rec.captures], [0, 140_000_000, 190_000_000])
        self.assertEqual(rec.captures[0]["core:global_index"], 50)
        self.assertEqual((rec.gaps, rec.duration, rec.frequency), ([(100, 40)], 0.24, 1e8))
        # Seconds count what is missing, integers do not.
        np.testing.assert_array_equal(rec[0.09:0.15], np.arange(90, 110))
        np.testing.assert_array_equal(rec[0.11:0.13], [])
        np.testing.assert_array_equal(rec[90:110], np.arange(90, 110))
        np.testing.assert_array_equal(rec[-0.05:], np.arange(150, 200))

    def test_blocks_end_at_gaps_and_say_where_they_are(self):
        rec = iqd.Recording(self.store(np.arange(200, dtype=np.float32), metadata("rf32_le", self.CAPTURES)))
        blocks = list(rec.blocks(64))
        self.assertEqual([(m.seq, m.sample, m.gap, len(m.data), m.frequency) for m in blocks],
                         [(0, 0, 0, 64, 1e8), (1, 64, 0, 36, 1e8), (2, 140, 40, 50, None), (3, 190, 0, 50, 2e8)])
        self.assertEqual([m.time_ns - rec.time_ns for m in blocks], [0, 64_000_000, 140_000_000, 190_000_000])
        self.assertEqual((blocks[2].rate, blocks[2].dims, blocks[2].latency), (RATE, ("n",), None))
        np.testing.assert_array_equal(np.concatenate([m.data for m in blocks]), rec[:])
        self.assertEqual([len(m.data) for m in rec.blocks(0.03, start=0.05, stop=110)], [30, 20, 10])
        for n in (0, -1, 0.0001):
            self.assertRaises(iqd.ConfigError, lambda n=n: next(rec.blocks(n)))

    def test_slices_across_a_gap_have_no_times(self):
        rec = iqd.Recording(self.store(np.arange(200, dtype=np.float32), metadata("rf32_le", self.CAPTURES)))
        self.assertEqual((rec[90:100].rate, rec[90:100].frequency, rec[90:100].axes["n"][0]), (RATE, 1e8, 0.09))
        self.assertEqual((rec[100:150].frequency, rec[150:].frequency, rec[150:].axes["n"][0]), (0, 2e8, 0.19))
        self.assertEqual((rec[90:110].rate, rec[90:110].frequency, rec[90:110].axes), (RATE, 1e8, {}))
        self.assertNotIsInstance(rec[90:110:2], iqd.Array)

    def test_a_gap_by_time_exceeds_the_resolution(self):
        for text, gap in (("00:00:00.101Z", 1), ("00:00:00.15Z", 50), ("00:00:00.1Z", 0), ("00:00:01Z", 0),
                          ("00:00:02Z", 1900), ("00:00:00Z", 0), ("01:00:00.150+01:00", 50)):
            captures = [{"core:sample_start": 0, "core:datetime": "2026-01-01T00:00:00.000Z"},
                        {"core:sample_start": 100, "core:datetime": "2026-01-01T" + text}]
            rec = iqd.Recording(self.store(np.zeros(200, np.float32), metadata("rf32_le", captures)))
            self.assertEqual(rec.captures[1].gap, gap, text)

    def test_annotations(self):
        notes = [{"core:sample_start": 10, "core:sample_count": 5, "core:label": "burst", "core:comment": "c",
                  "core:freq_lower_edge": 1e6, "core:freq_upper_edge": 2e6}, {"core:sample_start": 3}, {"x": 1}, 7]
        rec = iqd.Recording(self.store(np.arange(50, dtype=np.float32), metadata("rf32_le", None, notes)))
        a, b = rec.annotations
        self.assertEqual((a.start, a.stop, a.label, a.comment, a.low, a.high), (10, 15, "burst", "c", 1e6, 2e6))
        self.assertEqual((b.start, b.stop, b.label, a["core:label"]), (3, 3, "", "burst"))
        np.testing.assert_array_equal(rec[a.start:a.stop], np.arange(10, 15))
        self.assertEqual(repr(b), "Annotation(start=3, stop=3)")
        self.assertEqual(repr(rec.captures), "[Capture(start=0, stop=50, gap=0)]")

    def test_datasets_that_do_not_conform(self):
        """Headers before captures, bytes behind the samples, an offset, and a file of another name."""
        x = np.arange(30, dtype=np.float32)
        captures = [{"core:sample_start": 1000, "core:header_bytes": 3},
                    {"core:sample_start": 1010, "core:header_bytes": 8}]
        meta = metadata("rf32_le", captures, [{"core:sample_start": 1012, "core:sample_count": 1}], offset=1000,
                        trailing_bytes=5, dataset="samples.bin")
        path = self.store(b"", meta)
        (self.folder / "samples.bin").write_bytes(b"abc" + x[:10].tobytes() + b"8 bytes." + x[10:].tobytes() + b"tail!")
        rec = iqd.Recording(path)
        np.testing.assert_array_equal(rec[:], x)
        np.testing.assert_array_equal(rec[5:15], x[5:15])
        np.testing.assert_array_equal(rec[::4], x[::4])
        self.assertEqual([c.start for c in rec.captures] + [rec.annotations[0].start], [0, 10, 12])

    def test_what_iqd_announced_but_did_not_write(self):
        captures = [{"core:sample_start": 0}, {"core:sample_start": 10}, {"core:sample_start": 11}]
        notes = [{"core:sample_start": 9, "core:sample_count": 5}]
        path = self.store(np.zeros(10, np.float32), metadata("rf32_le", captures, notes, recorder="iqd"))
        rec = iqd.Recording(path)
        self.assertEqual(([c.start for c in rec.captures], rec.annotations), ([0, 10], []))

    def test_names(self):
        path = self.store(np.zeros(4, np.complex64), name="a.b")
        for name in (path, str(path), self.folder / "a.b.sigmf-data", self.folder / "a.b"):
            self.assertEqual(len(iqd.Recording(name)), 4)

    def archive(self, name="a.sigmf", *recordings, folder=""):
        with tarfile.open(self.folder / name, "w") as tar:
            for recording in recordings:
                for end in (".sigmf-data", ".sigmf-meta"):
                    tar.add(self.folder / f"{recording}{end}", f"{folder}{recording}{end}")
        return self.folder / name

    def test_archives_are_read_in_place(self):
        for i, name in enumerate("xy"):
            self.store(np.full(5, i, np.complex64), name=name)
        one, two = self.archive("one.sigmf", "x"), self.archive("two.sigmf", "x", "y", folder="below/")
        self.assertEqual(iqd.Recording(one)[:].tolist(), [0] * 5)
        self.assertEqual(iqd.Recording(two / "y")[:].tolist(), [1] * 5)
        self.assertEqual(iqd.Recording(f"{two}/below/y.sigmf-meta")[:].tolist(), [1] * 5)
        self.refused("has 2 recordings; name one", two)
        self.refused("has no recording z; it has below/x.sigmf-meta", two / "z")


if __name__ == "__main__":
    unittest.main()
