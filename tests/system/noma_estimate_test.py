# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""noma_channel_estimator on users that differ, through `iqd exec`, against a model in double precision."""

import unittest

import numpy as np

import ldpc_model
import noma_frame_model as sender
import noma_receive_model as model
from exec_arrays import execute
from noma_scene import RATE, Scene

PORTS = ("symbols", "llr", "bits", "model", "h", "modulation", "events")
SMALL = sender.Format(fft=64, carriers=42, prefix=16, frame=12 * 80 + 5, users=3, training=4, pilots=150, data=200)


def relative(y, expected):
    return np.sqrt(np.mean(abs(y - expected) ** 2) / np.mean(abs(expected) ** 2))


def keys_of(scene, *more):
    f = scene.f
    return [*(f"{key}={value}" for key, value in vars(f).items()), f"modulation=[{', '.join(scene.modulations)}]", *more]


class Estimator(unittest.TestCase):
    def received(self, scene, seed, frames=1):
        """([frame][s][c][r], what was sent)"""
        rng = np.random.default_rng(seed)
        made = [scene.frame(rng) for _ in range(frames)]
        y = np.array([model.demodulate(samples, scene.f) for samples, *_ in made])
        return y.astype(np.complex64), made

    def execute(self, scene, y, *more, soft=None):
        inputs = {"carriers": y} if soft is None else {"carriers": y, "soft": soft}
        return dict(zip(PORTS, execute("noma_channel_estimator", inputs, PORTS, keys_of(scene, *more), rate=scene.rate)))

    def decode(self, scene, llr):
        """(posteriors [frame][word][n], which words failed)"""
        keys = ["interleave=user", f"modulation=[{', '.join(scene.modulations)}]"]
        out = execute("ldpc_decoder", {"llr": llr}, ("llr_out",), keys)[0]
        return out, ~ldpc_model.holds(out.reshape(-1, ldpc_model.N) < 0)

    def compare(self, scene, y, got, step=8.0, flipped=0, soft=None, **options):
        """Each frame within the limits of single precision; `flipped`: decisions may move a symbol by 1e-3."""
        receiver = model.Receiver(scene.f, scene.modulations, rate=scene.rate, step=step, **options)
        results = []
        for g, carriers in enumerate(y):
            known = None if soft is None else model.soft_bits(soft[g], scene.f, scene.modulations)
            expected = receiver.receive(carriers.astype(complex), known)
            self.assertLess(abs(got["model"][g, :, 1] - expected.offset).max(), 0.01 * scene.rate / RATE)
            self.assertLess(relative(got["h"][g], expected.h), 1e-4)
            # Users that are hard to separate have large symbols, and errors of these.
            off = abs(got["symbols"][g] - expected.symbols) / np.maximum(abs(expected.symbols), 1)
            self.assertLess(off.max(), 1e-3 + flipped)
            np.testing.assert_allclose(got["model"][g, :, 0], expected.noise, rtol=2e-3)
            np.testing.assert_allclose(got["model"][g, :, 2], expected.delay, atol=1e-2)
            self.assertLess(relative(got["llr"][g], expected.llr), 1e-3)
            sure = abs(expected.llr) > 1e-2
            np.testing.assert_array_equal(got["llr"][g][sure] < 0, expected.llr[sure] < 0)
            np.testing.assert_array_equal(got["bits"][g], got["llr"][g] < 0)
            np.testing.assert_array_equal(got["modulation"][g], [sender.BITS[m] for m in scene.modulations])
            results.append(expected)
        return results

    def check(self, scene, seed=1, frames=1, **options):
        y, made = self.received(scene, seed, frames)
        keys = [f"{key}={value}" for key, value in options.items()]
        got = self.execute(scene, y, *keys)
        self.assertEqual(got["events"].tolist(), [[frames, 0]] if got["events"].ndim == 2 else [frames, 0])
        return made, got, self.compare(scene, y, got, **options)

    def test_users_that_differ(self):
        made, got, _ = self.check(Scene(), frames=2)
        for g, (_, sent, delays, offsets) in enumerate(made):
            self.assertLess(abs(got["model"][g, :, 1] - offsets).max(), 20)
            self.assertLess(abs(got["model"][g, :, 2] - delays).max(), 5)  # the echo is late by 6 samples
            for u, bits in enumerate(sent):
                own = got["bits"][g, u]
                self.assertLess(np.mean(own[:, :bits.shape[1]] != bits), 0.02, u)
                self.assertFalse(own[:, bits.shape[1]:].any())
                self.assertFalse(got["llr"][g, u, :, bits.shape[1]:].any())

    def test_users_that_are_alike(self):
        self.check(Scene(most_delay=0, most_offset=0, echo=None, snr=5), seed=2)

    def test_offsets_of_seven_hundred_hertz(self):
        made, got, _ = self.check(Scene(most_offset=700), seed=3)
        self.assertLess(abs(got["model"][0, :, 1] - made[0][3]).max(), 20)

    def test_fewer_antennas_than_users(self):
        self.check(Scene(antennas=4, modulations=("qpsk",) * 6, snr=25), seed=4)

    def test_powers(self):
        self.check(Scene(powers=(0, -3, -6, -9, -12, -15)), seed=5)

    def test_large_alphabets(self):
        self.check(Scene(modulations=("64qam", "bpsk", "256qam", "qpsk", "16qam", "64qam"), snr=30), seed=6)

    def test_a_small_frame_and_keys(self):
        scene = Scene(f=SMALL, modulations=("qpsk", "bpsk", "16qam"), antennas=5, most_delay=4, most_offset=20,
                      echo=None, rate=1e6)
        self.check(scene, seed=7, frames=3, step=1.0)
        self.check(scene, seed=8, step=1.5, em=1, rounds=1)
        self.check(scene, seed=9, step=1.0, em=0, rounds=0)

    def test_one_pilot_symbol_has_no_offsets(self):
        f = sender.Format(**{**vars(SMALL), "training": 1, "pilots": 42})
        scene = Scene(f=f, modulations=("qpsk",) * 3, antennas=5, most_delay=2, most_offset=0, echo=None, rate=1e6)
        _, got, _ = self.check(scene, seed=10, step=1.0)
        self.assertFalse(got["model"][0, :, 1].any())

    def test_what_is_not_finite(self):
        scene = Scene()
        y, made = self.received(scene, 11, frames=2)
        y[0, 3, 17, 2] = np.nan      # among the pilots
        y[0, 5, 100, 0] = np.inf
        y[0, 0, 1, 4] = np.nan       # in the synchronisation symbol
        y[0, 20, 50, 15] = np.nan    # data slot (20 - 7) 144 + 50
        got = self.execute(scene, y)
        self.compare(scene, y, got)
        self.assertEqual(got["events"].ravel().tolist(), [2, 1])
        lost = 13 * 144 + 50
        for port in ("symbols", "llr", "bits"):
            self.assertFalse(got[port][0, :, lost].any(), port)
            self.assertTrue(got[port][0, :, lost + 1].any(), port)
        alone = self.execute(scene, y[1:])
        for port in PORTS[:-1]:
            np.testing.assert_array_equal(got[port][1], alone[port][0], port)

    def test_decoded_words_cancel_the_others(self):
        """At 5 dB a fifth of the words are lost in one pass."""
        scene = Scene(snr=5, code="80216e_2304_1_2")
        y, made = self.received(scene, 14, frames=2)
        first = self.execute(scene, y)
        soft, failed = self.decode(scene, first["llr"])
        self.assertGreater(failed.sum(), 2)
        soft[0, 5, 100:140] = np.nan  # erased
        again = self.execute(scene, y, soft=soft)
        self.compare(scene, y, again, soft=soft, flipped=2e-3)
        _, failed = self.decode(scene, again["llr"])
        self.assertEqual(failed.sum(), 0)

        def errors(got):
            return np.mean([np.mean(own[u][:, :bits.shape[1]] != bits) for own, (_, sent, _, _) in zip(got["bits"], made)
                            for u, bits in enumerate(sent)])
        self.assertLess(errors(again), 0.2 * errors(first))

    def test_words_of_nothing_change_little(self):
        """Posteriors of 0: the others stay as they are, and so does the receiver, but for channels from more symbols."""
        scene = Scene(snr=10, code="80216e_2304_1_2")
        y, _ = self.received(scene, 15)
        y[0, 12, 30, 3] = np.inf
        soft = np.zeros((1, 27, ldpc_model.N), np.float32)
        got = self.execute(scene, y, soft=soft)
        self.compare(scene, y, got, soft=soft)
        self.assertEqual(got["events"].ravel().tolist(), [1, 1])
        self.assertFalse(got["llr"][0, :, 5 * 144 + 30].any())

    def test_words_that_do_not_fit_are_refused(self):
        scene = Scene()
        y, _ = self.received(scene, 16)
        for words, n, complaint in ((26, 2304, "word 27"), (27, 9000, "more than user 0 has")):
            with self.assertRaisesRegex(RuntimeError, complaint):
                self.execute(scene, y, soft=np.zeros((1, words, n), np.float32))

    def test_nothing_usable(self):
        scene = Scene()
        shape = (3, scene.f.symbols, scene.f.carriers, 2)
        y = np.zeros(shape, np.complex64)
        y[1] = np.nan
        y[2, :, :, :] = 1e-30
        got = self.execute(scene, y)
        for port in ("symbols", "llr", "bits", "h"):
            self.assertFalse(got[port][:2].any(), port)
        for port in PORTS:
            self.assertTrue(np.isfinite(got[port]).all(), port)
        self.assertEqual(got["events"].ravel().tolist(), [3, scene.f.data])

    def test_a_silent_user_and_a_dead_antenna(self):
        scene = Scene(powers=(0, 0, -300, 0, 0, 0))
        y, made = self.received(scene, 12)
        y[..., 3] = 0
        got = self.execute(scene, y)
        for u in (0, 1, 3, 4, 5):
            bits = made[0][1][u]
            self.assertLess(np.mean(got["bits"][0, u][:, :bits.shape[1]] != bits), 0.03, u)
        self.assertLess(abs(got["llr"][0, 2]).mean(), 0.1 * abs(got["llr"][0, 0]).mean())
        self.assertFalse(got["h"][0, :, 3].any())

    def test_the_level_does_not_matter(self):
        scene = Scene(f=SMALL, modulations=("qpsk",) * 3, antennas=4, most_delay=2, most_offset=0, echo=None, rate=1e6)
        y, _ = self.received(scene, 13)
        expected = self.execute(scene, y, "step=1")
        for level in (1e-12, 1e12):
            got = self.execute(scene, (y * level).astype(np.complex64), "step=1")
            self.assertLess(abs(got["symbols"] - expected["symbols"]).max(), 1e-3)
            self.assertLess(relative(got["llr"], expected["llr"]), 1e-3)
            self.assertLess(relative(got["h"] / level, expected["h"]), 1e-4)


if __name__ == "__main__":
    unittest.main()
