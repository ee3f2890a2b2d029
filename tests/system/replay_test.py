# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""SigMF recordings are played, and broken ones refused."""

import json
import time
import unittest

import numpy as np

import iqd


def noise(count, seed=3):
    r = np.random.default_rng(seed)
    return (0.2 * (r.standard_normal(count) + 1j * r.standard_normal(count))).astype(np.complex64)


class Replay(iqd.SystemTest):
    def play(self, recording, block, stages="", port="source", source=""):
        """(messages, final status) of a run to its end."""
        where = iqd.endpoint()
        text = (f"source: {{file: {{path: \"{recording}\"{source}}}}}\nblock: {block}\nstages: [{stages}]\n"
                f"publish: [{{port: {port}, topic: t, bind: \"{where}\"}}]\n")
        reader = self.reader(where, "t")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = reader.take(1)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            status = daemon.final[0]
        messages += reader.rest()
        self.assertConserved(status)
        self.assertEqual(sum(status["dropped"].values()), 0)
        return messages, status

    def joined(self, messages):
        return np.concatenate([m.samples for m in messages], axis=-1)

    def test_cf32(self):
        x = noise(100_003)
        messages, status = self.play(iqd.write_recording(self.folder / "r", x), 4096)
        np.testing.assert_array_equal(self.joined(messages), x)
        self.assertContinuous(messages)
        self.assertEqual([m.x.shape[0] for m in messages], [4096] * 24 + [100_003 - 24 * 4096])
        self.assertEqual(status["received"], len(x))

    def test_ci16(self):
        x = np.random.default_rng(4).integers(-32768, 32768, (30_001, 2)).astype(np.int16)
        messages, _ = self.play(iqd.write_recording(self.folder / "r", x), 8000)
        np.testing.assert_array_equal(np.concatenate([m.x for m in messages]), x)

    def test_ci8(self):
        x = np.random.default_rng(5).integers(-128, 128, (12_345, 2)).astype(np.int8)
        messages, _ = self.play(iqd.write_recording(self.folder / "r", x), 5000, "convert: {dtype: cf32}",
                                "convert.out")
        np.testing.assert_array_equal(self.joined(messages), (x[:, 0] + 1j * x[:, 1]) / 128)

    def test_two_channels(self):
        x = np.stack([noise(9_999, 6), noise(9_999, 7)], axis=1)
        messages, _ = self.play(iqd.write_recording(self.folder / "r", x), 2500)
        self.assertEqual(messages[0].dims, ["channel", "n"])
        np.testing.assert_array_equal(self.joined(messages), x.T)

    def test_stages_see_the_short_last_block(self):
        x = noise(10_007)
        taps = np.hanning(33) / 16
        messages, _ = self.play(iqd.write_recording(self.folder / "r", x), 1024,
                                f"fir: {{taps: {taps.tolist()}, decimation: 3}}", "fir.out")
        expected = np.convolve(x.astype(complex), taps)[:len(x)][::3]
        y = self.joined(messages)
        self.assertEqual(len(y), len(expected))
        self.assertLess(np.abs(y - expected).max(), 1e-6)

    def test_shorter_than_a_block(self):
        for count in (1, 2, 999):
            messages, _ = self.play(iqd.write_recording(self.folder / f"r{count}", noise(count)), 65536)
            np.testing.assert_array_equal(self.joined(messages), noise(count))

    def test_blocks_of_one_sample(self):
        x = noise(300)
        messages, _ = self.play(iqd.write_recording(self.folder / "r", x), 1)
        self.assertEqual(len(messages), 300)
        np.testing.assert_array_equal(self.joined(messages), x)

    def test_gaps_are_in_the_headers(self):
        x = noise(10_000)
        began = "2025-03-31T12:00:00.{:06d}Z"
        captures = [{"core:sample_start": 0, "core:global_index": 0, "core:datetime": began.format(0)},
                    {"core:sample_start": 4000, "core:global_index": 4500, "core:datetime": began.format(4500)},
                    {"core:sample_start": 7000, "core:global_index": 10_500, "core:datetime": began.format(10_500)}]
        messages, status = self.play(iqd.write_recording(self.folder / "r", x, captures=captures), 1500)
        np.testing.assert_array_equal(self.joined(messages), x)
        self.assertContinuous(messages, lossless=False)
        self.assertTimed(messages)
        self.assertEqual({m.sample: m.gap for m in messages if m.gap}, {4500: 500, 10_500: 3000})
        self.assertEqual((status["lost"], status["received"]), (3500, 10_000))
        self.assertEqual(messages[-1].dropped, 3500)

    def test_gaps_that_lead_nowhere(self):
        """Up to the largest index, and further by the clock."""
        x = noise(4_000)
        index = [{"core:sample_start": 0, "core:global_index": 0},
                 {"core:sample_start": 1000, "core:global_index": 2**53 - 500},
                 {"core:sample_start": 1400, "core:global_index": 2**53}]
        years = [{"core:sample_start": 1000 * i, "core:datetime": f"{1900 + 80 * i}-01-01T00:00:00Z"} for i in range(4)]
        for name, captures, rate in (("index", index, 1e6), ("years", years, 1e6), ("quick", years, 3e6)):
            with self.subTest(name):
                recording = iqd.write_recording(self.folder / name, x, rate, captures=captures)
                messages, status = self.play(recording, 700)
                np.testing.assert_array_equal(self.joined(messages), x)
                self.assertContinuous(messages, lossless=False)
                self.assertEqual((status["published"], status["received"]), (4000, 4000))

    def test_after_a_gap_there_is_no_past(self):
        x = noise(6_000)
        captures = [{"core:sample_start": 0, "core:global_index": 0},
                    {"core:sample_start": 2500, "core:global_index": 2600}]
        taps = [0.5, -0.25, 0.125, 1]
        messages, _ = self.play(iqd.write_recording(self.folder / "r", x, captures=captures), 1000,
                                f"fir: {{taps: {taps}}}", "fir.out")
        parts = [np.convolve(part.astype(complex), taps)[:len(part)] for part in (x[:2500], x[2500:])]
        self.assertLess(np.abs(self.joined(messages) - np.concatenate(parts)).max(), 1e-6)

    def test_repeat_goes_on(self):
        x = noise(1_000)
        where = iqd.endpoint()
        recording = iqd.write_recording(self.folder / "r", x)
        reader = self.reader(where, "t")
        with self.daemon(f"source: {{file: {{path: {recording}, repeat: true}}}}\nblock: 700\n"
                         f"publish: [{{port: source, topic: t, bind: \"{where}\"}}]\n",
                         "--wait-subscribers", 1) as daemon:
            messages = reader.take(10)
            daemon.signal()
            reader.rest()
            self.assertEqual(daemon.wait(), 0, daemon.text)
        self.assertContinuous(messages)
        np.testing.assert_array_equal(self.joined(messages), np.tile(x, 7))

    def test_pace(self):
        x = noise(50_000)
        began = time.monotonic()
        self.play(iqd.write_recording(self.folder / "r", x, rate=100e3), 5000, source=", pace: true")
        self.assertGreater(time.monotonic() - began, 0.45)

    def test_names_without_and_with_ending(self):
        x = noise(500)
        iqd.write_recording(self.folder / "a b", x)
        for name in ("a b", "a b.sigmf-meta", "a b.sigmf-data"):
            messages, _ = self.play(self.folder / name, 300)
            np.testing.assert_array_equal(self.joined(messages), x)


class Broken(iqd.SystemTest):
    def check(self, *words, recording="r"):
        path = self.folder / "p.yaml"
        path.write_text(f"source:\n  file: {{path: {self.folder}/{recording}}}\n"
                        f"publish: [{{port: source, topic: t, bind: \"{iqd.endpoint()}\"}}]\n", encoding="utf-8")
        for verb in ("check", "run"):
            done = iqd.command(verb, path)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertTrue(done.stderr.startswith(f"{path}:2:"), done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)

    def write(self, meta=None, data=b"\0" * 800, **facts):
        everything = {"core:datatype": "cf32_le", "core:version": "1.2.5", "core:sample_rate": 1e6, **facts}
        kept = {k: v for k, v in everything.items() if v is not None}
        text = meta if meta is not None else json.dumps({"global": kept, "captures": [], "annotations": []})
        (self.folder / "r.sigmf-meta").write_text(text, encoding="utf-8")
        if data is not None:
            (self.folder / "r.sigmf-data").write_bytes(data)

    def test_not_there(self):
        self.check("none.sigmf-meta", recording="none")

    def test_no_data(self):
        self.write(data=None)
        self.check("r.sigmf-data")

    def test_empty_data(self):
        self.write(data=b"")
        self.check("r.sigmf-data", "no samples")

    def test_data_cut_within_a_sample(self):
        self.write(data=b"\0" * 803)
        self.check("r.sigmf-data", "8")

    def test_no_json(self):
        self.write("this is no JSON")
        self.check("r.sigmf-meta")

    def test_json_of_something_else(self):
        for text in ("[]", "3", '"x"', "null", "{}", '{"global": []}', '{"global": {}, "captures": 7}'):
            self.write(text)
            self.check("r.sigmf-meta")

    def test_half_a_file(self):
        self.write('{"global": {"core:datatype": "cf32_le", "core:sam')
        self.check("r.sigmf-meta")

    def test_what_is_missing_is_named(self):
        for key in ("core:datatype", "core:sample_rate"):
            self.write(**{key: None})
            self.check(key)

    def test_a_datatype_that_is_none(self):
        self.write(**{"core:datatype": "cq17_le"})
        self.check("cq17_le")

    def test_captures_that_disagree_with_the_data(self):
        meta = {"global": {"core:datatype": "cf32_le", "core:version": "1.2.5", "core:sample_rate": 1e6},
                "captures": [{"core:sample_start": 0}, {"core:sample_start": 5000}], "annotations": []}
        self.write(json.dumps(meta))
        self.check("5000")

    def test_a_rate_that_is_none(self):
        for rate in (0, -1e6, "fast"):
            self.write(**{"core:sample_rate": rate})
            self.check("core:sample_rate")


if __name__ == "__main__":
    unittest.main()
