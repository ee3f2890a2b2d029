# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A part of a recording gives what one run over all of it gives there, to the bit."""

import unittest

import numpy as np

import iqd
from holes import LENGTH, PRESENT, TIME_NS, recording_with_holes

BLOCK = 1000
OUT = "publish: [{port: fir.out, bind: \"tcp://127.0.0.1:*\"}]\n"
# What a message of the whole run and one of a part have in common.
SAME = ("sample", "shape", "dtype", "time_ns", "sample_rate", "frequency", "gap", "tuned")
# The stages, and the port that is read.
FIR = f"rotate: {{frequency: 12345.6 Hz}}, fir: {{taps: {np.hanning(97).tolist()}, decimation: 8}}", "fir.out"
RESAMPLER = "rotate: {frequency: -7 kHz}, resampler: {rate: 300 kS/s}", "resampler.out"
FFT = "rotate: {frequency: 12345.6 Hz}, fft: {size: 100}", "fft.out"
SPECTRUM = "spectrum: {size: 128}", "spectrum.out"
DEMODULATED = "quadrature_demod: {}, dc_block: {length: 333}", "dc_block.out"


class Excerpts(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.recording = recording_with_holes(self.folder)

    def text(self, stages, **keys):
        source = "".join(f", {key}: {value}" for key, value in keys.items())
        return (f"source: {{file: {{path: \"{self.recording}\"{source}}}}}\nblock: {BLOCK}\nstages: [{stages[0]}]\n")

    def run_over(self, stages, **keys):
        """The messages of a run to its end, and its last status."""
        where = iqd.endpoint()
        text = self.text(stages, **keys) + f"publish: [{{port: {stages[1]}, topic: t, bind: \"{where}\"}}]\n"
        reader = self.reader(where, "t")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = reader.take(1)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        return messages + reader.rest(), status

    def assertSame(self, part, whole, begin, end):
        expected = [m for m in whole if begin <= m.sample < end]
        self.assertEqual([m.sample for m in part], [m.sample for m in expected])
        for a, b in zip(part, expected):
            for key in SAME:
                self.assertEqual(a.meta.get(key), b.meta.get(key), (key, a.meta, b.meta))
            np.testing.assert_array_equal(a.x, b.x)

    def test_parts_of_whole_blocks(self):
        for stages in (FIR, RESAMPLER, SPECTRUM, DEMODULATED):
            whole, all_of_it = self.run_over(stages)
            received = 0
            for begin, end in ((0, 20_000), (20_000, 21_000), (21_000, 40_000), (40_000, 41_000), (41_000, 60_000),
                               (60_000, 69_000), (69_000, 80_000)):
                with self.subTest(stages=stages, begin=begin):
                    part, status = self.run_over(stages, start=begin, samples=end - begin)
                    self.assertSame(part, whole, begin, end)
                    received += status["received"]
            self.assertEqual(received, all_of_it["received"])

    def test_parts_of_any_samples(self):
        whole, _ = self.run_over(FIR)
        items = {m.sample + 8 * i: x for m in whole for i, x in enumerate(m.samples)}
        r = np.random.default_rng(11)
        for begin, count in zip(r.integers(0, LENGTH, 12), r.integers(1, 5000, 12)):
            with self.subTest(begin=begin, count=count):
                end = begin + count
                expected = [x for at, x in items.items() if begin <= at < end]
                if not expected:
                    continue
                part, status = self.run_over(FIR, start=begin, samples=count)
                np.testing.assert_array_equal(np.concatenate([m.samples for m in part]), expected)
                self.assertEqual(status["received"], sum(begin <= at < end for at in PRESENT))

    def test_frames_belong_where_they_begin(self):
        """A stage that takes many samples at once, with parts that end within these."""
        starts = {}
        whole, _ = self.run_over(FFT)
        for m in whole:
            for i, x in enumerate(m.samples.reshape(-1, 100)):
                starts[m.sample + 100 * i] = x
        r = np.random.default_rng(5)
        for begin, count in zip(r.integers(0, LENGTH, 12), r.integers(200, 5000, 12)):
            with self.subTest(begin=begin, count=count):
                expected = [x for at, x in starts.items() if begin <= at < begin + count]
                if not expected:
                    continue
                part, _ = self.run_over(FFT, start=begin, samples=count)
                np.testing.assert_array_equal(np.concatenate([m.samples.reshape(-1, 100) for m in part]), expected)

    def test_times_and_ends(self):
        whole, _ = self.run_over(FIR)
        part, _ = self.run_over(FIR, start="20.7 ms", samples="0.3 ms")
        self.assertSame(part, whole, 20_700, 21_000)
        self.assertEqual((part[0].gap, part[0].time_ns), (700, TIME_NS + 20_704_000))
        part, _ = self.run_over(FIR, start=72_000, samples="1 min")
        self.assertSame(part, whole, 72_000, LENGTH)
        part, _ = self.run_over(FIR, samples=1000)
        self.assertSame(part, whole, 0, 1000)

    def test_a_warm_start_of_everything_is_a_mistake(self):
        path = self.folder / "warm.yaml"
        out = f"publish: [{{port: fir.out, topic: t, bind: \"{iqd.endpoint()}\"}}]\n"
        path.write_text(self.text(FIR, warm=100) + out, encoding="utf-8")
        done = iqd.command("check", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warm: has no effect without start or window", done.stderr)

    def test_refused(self):
        for keys, words in (({"start": LENGTH}, "start: is beyond the end"), ({"start": -1}, "start: must not be"),
                            ({"start": "1 s"}, "has 73045 samples, 73.045 ms"), ({"start": "soon"}, "start: "),
                            ({"start": 2.5}, "start: "), ({"samples": 0}, "samples: must be at least 1"),
                            ({"samples": "3 MHz"}, "samples: "), ({"start": "1e20 s"}, "start: is too long"),
                            ({"start": 0, "repeat": "true"}, "start: cannot be set with repeat"),
                            ({"samples": 5, "repeat": "true"}, "samples: cannot be set with repeat")):
            with self.subTest(keys):
                path = self.folder / "refused.yaml"
                path.write_text(self.text(FIR, **keys) + OUT, encoding="utf-8")
                done = iqd.command("check", path)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
