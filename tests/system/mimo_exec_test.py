# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`iqd exec` with all MIMO detectors on arrays, against their definitions in double precision."""

import unittest

import numpy as np

import iqd
import mimo_model as model

DETECTORS = ("mtt_detector", "exhaustive_detector", "kbest_detector", "one_pass_detector", "lmmse_detector")
OUTPUTS = ("llr", "bits", "distance", "events")


def noise_for(tx, decibel):
    """The noise power for this SNR per receive antenna."""
    return tx / 10 ** (decibel / 10)


class Mimo(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.random = np.random.default_rng(1)

    def execute(self, stage, y, h, noise, *arguments, outputs=OUTPUTS, **keys):
        arrays = {"y": np.asarray(y, np.complex64), "h": np.asarray(h, np.complex64),
                  "noise": np.asarray(noise, np.float32).reshape(-1)}
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)
        return iqd.command("exec", stage, *(a for n in arrays for a in ("--in", f"{n}={self.folder}/{n}.npy")),
                           *(a for o in outputs for a in ("--out", f"{o}={self.folder}/{o}.npy")),
                           *(a for k, v in keys.items() for a in ("--config", f"{k}={v}")), *arguments)

    def detect(self, *arguments, outputs=OUTPUTS, **keys):
        done = self.execute(*arguments, outputs=outputs, **keys)
        self.assertEqual(done.returncode, 0, (arguments[0], keys, done.stderr))
        return [np.load(self.folder / f"{o}.npy") for o in outputs]

    def check(self, stage, y, h, noise, modulation, *arguments, **keys):
        """Checks that stage and model agree."""
        y, h = np.asarray(y, np.complex64), np.asarray(h, np.complex64)
        noise = np.asarray(noise, np.float32).reshape(-1)
        llr, bits, distance, events = self.detect(stage, y, h, noise, *arguments, modulation=modulation, **keys)
        wanted, _, least = model.detect(stage, y, h, noise, modulation, **keys)
        self.assertEqual((llr.shape, llr.dtype, bits.dtype), (wanted.shape, np.dtype("<f4"), np.dtype("<u1")))
        self.assertTrue(np.isfinite(llr).all())
        # Rounding of distances over noise, and of LLRs of 1; now and then another of two equal paths.
        size = (np.abs(y.astype(complex)) ** 2).sum(axis=1) / np.repeat(noise.astype(float), len(y) // len(noise))
        error = np.abs(llr - wanted)
        allowed = np.maximum(1, np.abs(wanted)) + 1e-3 * size[:, None, None]
        what = (stage, modulation, h.shape, keys)
        self.assertLessEqual(np.mean(error > 1e-3 * allowed), 1e-4, what)
        self.assertLessEqual((error / allowed).max(), 1e-2, what)
        np.testing.assert_array_equal(bits, llr < 0)
        clear = np.abs(wanted) > 1e-2 * allowed
        np.testing.assert_array_equal(bits[clear], wanted[clear] < 0)
        self.assertLessEqual(np.abs(distance / least - 1).max(), 1e-2, what)
        self.assertEqual(events.reshape(-1, 2).sum(axis=0).tolist(), [len(y), 0])
        return llr

    def stages_for(self, tx, modulation):
        """All stages; exhaustive search only where it is feasible."""
        return [d for d in DETECTORS if d != "exhaustive_detector" or tx * model.BITS[modulation] <= 16]

    def test_all_sizes_and_modulations(self):
        for rx, tx, modulation, decibel, vectors in (
                (2, 2, "qpsk", 10, 500), (2, 2, "16qam", 16, 300), (2, 2, "64qam", 22, 300), (4, 4, "qpsk", 10, 300),
                (4, 4, "16qam", 18, 100), (4, 4, "64qam", 24, 100), (4, 2, "16qam", 12, 300), (8, 4, "64qam", 18, 50),
                (8, 8, "qpsk", 10, 100), (3, 3, "16qam", 15, 100), (2, 1, "256qam", 30, 100), (2, 2, "256qam", 30, 30)):
            noise = noise_for(tx, decibel)
            y, h, _ = model.transmit(self.random, rx, tx, modulation, vectors, noise)
            for stage in self.stages_for(tx, modulation):
                self.check(stage, y, h, noise, modulation)
            self.check("mtt_detector", y, h, noise, modulation, lists="pooled")

    def test_two_antennas_are_detected_exactly(self):
        for modulation in ("qpsk", "16qam", "64qam"):
            y, h, _ = model.transmit(self.random, 2, 2, modulation, 1000, 0.05)
            exact = self.check("exhaustive_detector", y, h, 0.05, modulation)
            for lists in ("own", "pooled"):
                mtt = self.detect("mtt_detector", y, h, 0.05, modulation=modulation, lists=lists)[0]
                self.assertLessEqual((np.abs(mtt - exact) / np.maximum(1, np.abs(exact))).max(), 1e-3)

    def test_each_vector_with_alphabets_of_its_own(self):
        """By the input `modulation`, without a `prior`, which stands before it: as if each were detected alone."""
        y, h, _ = model.transmit(self.random, 4, 2, "16qam", 60, 0.1)
        kinds = (([4, 2], "[16qam, qpsk]"), ([0, 4], "[silent, 16qam]"), ([2, 2], "qpsk"))
        np.save(self.folder / "modulation.npy", np.array([kinds[v % 3][0] for v in range(60)], np.uint8))
        for stage in DETECTORS:
            llr, bits = self.detect(stage, y, h, 0.1, "--in", f"modulation={self.folder}/modulation.npy",
                                    modulation="port", max_modulation="16qam")[:2]
            for kind, (_, words) in enumerate(kinds):
                own = self.detect(stage, y, h, 0.1, modulation=words, max_modulation="16qam")
                np.testing.assert_array_equal(llr[kind::3], own[0][kind::3], stage)
                np.testing.assert_array_equal(bits[kind::3], own[1][kind::3], stage)

    def test_survivors_and_clip(self):
        y, h, _ = model.transmit(self.random, 4, 4, "16qam", 100, 0.06)
        for survivors in (1, 5, 100):
            self.check("kbest_detector", y, h, 0.06, "16qam", survivors=survivors, clip=3)
        llr = self.check("one_pass_detector", y, h, 0.06, "16qam", clip=2.5)
        self.assertTrue((np.abs(llr) == 2.5).any())

    def test_one_channel_for_several_vectors(self):
        y, h, _ = model.transmit(self.random, 4, 4, "16qam", 12 * 9, 0.06, groups=9)
        noise = np.linspace(0.05, 0.1, 9)
        for stage in self.stages_for(4, "16qam"):
            shared = self.check(stage, y, h, noise, "16qam")
            apart = self.detect(stage, y, np.repeat(h, 12, axis=0), np.repeat(noise, 12), modulation="16qam")[0]
            np.testing.assert_array_equal(shared, apart)
            self.check(stage, y, h, 0.06, "16qam")

    def test_batches_and_blocks(self):
        for vectors in (1, 31, 33):
            y, h, _ = model.transmit(self.random, 4, 4, "qpsk", vectors, 0.4)
            for stage in DETECTORS:
                whole = self.check(stage, y, h, 0.4, "qpsk")
                cut = self.detect(stage, y, h, 0.4, "--block", 7, modulation="qpsk")[0]
                np.testing.assert_array_equal(cut, whole)

    def test_forms_of_llrs(self):
        y, h, _ = model.transmit(self.random, 4, 2, "16qam", 200, 0.003)
        for stage in DETECTORS:
            exact = self.detect(stage, y, h, 0.003, modulation="16qam", outputs=["llr"])[0]
            half = self.detect(stage, y, h, 0.003, modulation="16qam", llr="f16", outputs=["llr"])[0]
            np.testing.assert_array_equal(half, exact.clip(-65504, 65504).astype(np.float16))
            byte = self.detect(stage, y, h, 0.003, modulation="16qam", llr="i8", llr_scale=0.5, outputs=["llr"])[0]
            self.assertEqual(byte.dtype, np.int8)
            np.testing.assert_array_equal(byte, np.rint(exact / 0.5).clip(-127, 127))
            most = 16 if stage in ("kbest_detector", "one_pass_detector") else 127  # their clip is 8
            self.assertEqual(np.abs(byte.astype(int)).max(), most)

    def test_channels_that_are_large_small_or_singular(self):
        y, h, _ = model.transmit(self.random, 4, 4, "16qam", 40, 0.06)
        singular = h.astype(np.complex64)
        singular[:, :, 2] = singular[:, :, 0]
        for stage in self.stages_for(4, "16qam"):
            plain = self.check(stage, y, h, 0.06, "16qam")
            for scale in (1e-3, 1e3):
                self.check(stage, y * scale, h * scale, 0.06 * scale**2, "16qam")
            for power in (-60, 60):
                scale = 2.0**power
                scaled = self.detect(stage, y * scale, h * scale, 0.06 * scale**2, modulation="16qam")[0]
                np.testing.assert_array_equal(scaled, plain)
            for given in (singular, h * [1, 0, 1, 1]):  # many paths cost the same: rounding decides
                if stage in ("exhaustive_detector", "lmmse_detector"):
                    self.check(stage, y, given, 0.06, "16qam")
                self.assertTrue(np.isfinite(self.detect(stage, y, given, 0.06, modulation="16qam")[0]).all())

    def test_hardly_any_noise(self):
        for modulation in ("qpsk", "16qam"):
            y, h, bits = model.transmit(self.random, 4, 4, modulation, 60, 0)
            for stage in self.stages_for(4, modulation):
                self.check(stage, *model.transmit(self.random, 4, 4, modulation, 60, 1e-6)[:2], 1e-6, modulation)
                llr, hard, distance, _ = self.detect(stage, y, h, 0, modulation=modulation)
                self.assertTrue(np.isfinite(llr).all(), stage)
                np.testing.assert_array_equal(hard, bits, stage)
                self.assertLess(distance.max(), 1e-9)

    def test_what_cannot_be_detected_is_erased(self):
        y, h, _ = (np.array(x) for x in model.transmit(self.random, 4, 4, "qpsk", 40, 0.4))
        noise = np.full(40, 0.4)
        y[3, 1], h[7, 2, 2], noise[11], noise[12], noise[13] = np.nan, np.inf, np.nan, -1, np.inf
        h[20] = 0
        bad = [3, 7, 11, 12, 13, 20]
        good = np.setdiff1d(np.arange(40), bad)
        for stage in DETECTORS:
            llr, bits, distance, events = self.detect(stage, y, h, noise, modulation="qpsk")
            self.assertFalse(llr[bad].any() or bits[bad].any())
            self.assertTrue(np.isnan(distance[bad]).all())
            self.assertEqual(events.reshape(-1).tolist(), [40, 6])
            np.testing.assert_array_equal(
                llr[good], self.detect(stage, y[good], h[good], noise[good], modulation="qpsk")[0])

    def test_what_they_tell(self):
        """The mutual information that a study of these detectors found on other channels, best detector first."""
        y, h, bits = model.transmit(self.random, 4, 4, "qpsk", 20000, noise_for(4, 10))
        told = [model.gmi(self.detect(stage, y, h, noise_for(4, 10), modulation="qpsk")[0].clip(-8, 8), bits)
                for stage in ("exhaustive_detector", "kbest_detector", "mtt_detector", "lmmse_detector")]
        for found, wanted in zip(told, (0.9395, 0.9336, 0.9018, 0.8114)):
            self.assertAlmostEqual(found, wanted, delta=0.008)
        self.assertEqual(told, sorted(told, reverse=True))

    def test_refusals(self):
        y, h, _ = model.transmit(self.random, 4, 4, "qpsk", 24, 0.4)
        for stage, words, given, keys in (
                ("mtt_detector", "receive antennas", (y[:, :2], h[:, :2], 0.4), {}),
                ("kbest_detector", "receive antennas", (y[:, :3], h, 0.4), {}),
                ("exhaustive_detector", "2^24 combinations", (y, h, 0.4), {"modulation": "64qam"}),
                ("lmmse_detector", "modulation", (y, h, 0.4), {"modulation": "8psk"}),
                ("kbest_detector", "survivors", (y, h, 0.4), {"survivors": 1000}),
                ("one_pass_detector", "clip", (y, h, 0.4), {"clip": -1})):
            done = self.execute(stage, *given, **keys)
            self.assertEqual(done.returncode, 2, (stage, keys, done.stderr))
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
