# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""ofdm_demod and mimo_channel_estimator through `iqd exec`, against a model in double precision."""

import unittest

import numpy as np

import iqd
import ofdm_model as sender
import ofdm_receive_model as model

SMALL = sender.Format(fft=64, carriers=26, prefix=9, frame=1000, tx=3, pilot_every=7)
EIGHT = sender.Format(fft=256, carriers=150, prefix=20, frame=5000, tx=8, pilot_every=10)
COMBS = sender.Format(tx=2, midambles=2)
FORMATS = ((COMBS, 2, 2), (sender.FIVE, 2, 5), (sender.FIVE, 4, 2), (SMALL, 5, 4), (EIGHT, 8, 2), (sender.TWENTY, 4, 2))
# The fewest data symbols and neighbours, and the longest symbols.
SMALLEST = sender.Format(fft=64, carriers=16, prefix=1, frame=195, tx=1, pilot_every=2)
LARGEST = sender.Format(fft=8192, carriers=8190, prefix=4096, frame=3 * 12288 + 5, tx=1, pilot_every=8190)


def relative(y, expected):
    """rms of the difference over rms of what is expected."""
    return np.sqrt(np.mean(abs(y - expected) ** 2) / np.mean(abs(expected) ** 2))


def received(f, rx, frames, snr_db, rng, slope=0.0, delays=None, levels=0.0):
    """Carriers [g][symbol][c][r], channels [g][c][r][a] and sent points [g][symbol][a][c]. The noise is f.tx / SNR at a
    level of 0 dB; the phase advances by `slope` a symbol and is 0 in the middle of the training."""
    gain = 10 ** (np.broadcast_to(levels, rx) / 20)
    delays = (0, f.prefix / 5, f.prefix / 3) if delays is None else delays
    turn = np.exp(1j * slope * (np.arange(f.symbols) - (f.tx + 1) / 2))
    y, h, x = [], [], []
    for _ in range(frames):
        x.append(f.carriers_of(rng.integers(0, 2, f.bits("16qam")), "16qam"))
        h.append(model.channel(f, rx, delays, rng))
        sent = np.einsum("cra,sac->scr", h[-1], x[-1]) * turn[:, None, None]
        y.append((sent + model.noise(sent.shape, f.tx * 10 ** (-snr_db / 10), rng)) * gain)
    return np.array(y), np.array(h), np.array(x)


class ModelTest(unittest.TestCase):
    """Tests the model itself against its input."""

    def test_a_frame_comes_back(self):
        """The frame is 5 samples late, within the prefix."""
        f = sender.FIVE
        bits = np.random.default_rng(1).integers(0, 2, f.bits("64qam"))
        x = f.frame_of(bits, "64qam").sum(0)
        late = np.exp(-2j * np.pi * f.frequencies * (5 + model.early(f)) / f.fft)
        y = model.demodulate(np.concatenate([np.zeros(5), x])[None, None, :f.frame], f)[0, ..., 0]
        np.testing.assert_allclose(y, f.carriers_of(bits, "64qam").sum(1) * late, atol=1e-9)

    def test_smoothing_is_worth_eight_decibels(self):
        """Relative to least squares, for any paths within the prefix and any residual offset."""
        for f, rx, frames in ((sender.FIVE, 2, 8), (sender.TWENTY, 4, 1)):
            w = model.smoother(f)
            for delays in ((0,), (-model.early(f), 0, f.prefix - model.early(f))):
                for snr, slope in ((0, 0.0), (10, 0.06), (30, -0.06)):
                    y, h, _ = received(f, rx, frames, snr, np.random.default_rng(2), slope, delays)
                    error = 0
                    for g in range(frames):
                        _, got, mean, _ = model.estimate_frame(y[g], f, w)
                        noise = (abs(y[g, 0, f.frequencies % 2 != 0]) ** 2).mean(0)
                        got = got / np.sqrt(mean / noise)[:, None]
                        error += np.mean(abs(got - h[g][~f.is_pilot]) ** 2) / frames
                    self.assertLess(error * 10 ** (snr / 10), 10 ** (-8.0 / 10), (f, delays, snr, slope))


class StageTest(iqd.SystemTest):
    def run_stage(self, stage, x, outputs, f, **keys):
        """Runs the stage: one array in, arrays out."""
        np.save(self.folder / "in.npy", x)
        wanted = [a for port in outputs for a in ("--out", f"{port}={self.folder}/{port}.npy")]
        keys |= {name: getattr(f, name) for name in ("fft", "carriers", "prefix", "frame", "tx", "pilot_every", "midambles")}
        config = [a for key, value in keys.items() for a in ("--config", f"{key}={str(value).lower()}")]
        port = {"ofdm_demod": "frames", "mimo_channel_estimator": "carriers"}[stage]
        done = iqd.command("exec", stage, "--in", f"{port}={self.folder}/in.npy", *wanted, *config)
        self.assertEqual(done.returncode, 0, (stage, keys, done.stderr))
        return [np.load(self.folder / f"{port}.npy") for port in outputs]


class Demodulator(StageTest):
    def test_against_the_model(self):
        for f, rx, frames in (*FORMATS, (SMALLEST, 1, 3), (LARGEST, 3, 2)):
            x = model.noise((frames, rx, f.frame), 1, np.random.default_rng(3)).astype(np.complex64)
            y, = self.run_stage("ofdm_demod", x, ["carriers"], f)
            expected = model.demodulate(x.astype(complex), f)
            self.assertEqual((y.shape, y.dtype), (expected.shape, np.dtype("<c8")))
            self.assertLess(relative(y, expected), 5e-7, f)

    def test_the_beginning_of_the_next_frame(self):
        for f, rx in ((sender.FIVE, 2), (SMALL, 3)):
            length = f.frame + model.tail_samples(f)
            x = model.noise((2, rx, length), 1, np.random.default_rng(3)).astype(np.complex64)
            y, = self.run_stage("ofdm_demod", x, ["carriers"], f, tail=True)
            expected = model.demodulate(x.astype(complex), f, tail=True)
            self.assertEqual(y.shape, expected.shape)
            self.assertLess(relative(y, expected), 5e-7, f)


class Estimator(StageTest):
    PORTS = ["y", "h", "noise", "phase"]

    def check(self, f, y, tolerance=3e-6, **keys):
        got = self.run_stage("mimo_channel_estimator", y.astype(np.complex64), self.PORTS, f, **keys)
        expected = model.estimate(y.astype(np.complex64).astype(complex), f, **keys)
        for port, a, b in zip(self.PORTS, got, expected):
            self.assertEqual(a.shape, b.shape, port)
            if port == "phase":
                self.assertLess(abs(np.angle(np.exp(1j * (a - b)))).max(), 2e-5, (f, keys))
            else:
                self.assertLess(relative(a, b), tolerance, (port, f, keys))
        return got

    def test_against_the_model(self):
        for f, rx, frames in (*FORMATS, (SMALLEST, 1, 3)):
            for snr, slope in ((5, 0.04), (30, -0.2)):
                y, _, _ = received(f, rx, frames, snr, np.random.default_rng(4), slope, levels=np.linspace(-40, 0, rx))
                self.check(f, y)

    def test_keys(self):
        f = sender.FIVE
        y, _, _ = received(f, 3, 2, 20, np.random.default_rng(5), 0.05)
        self.check(f, y, track_phase=False)
        self.check(f, y, delay_spread=10, snr=12.0)
        self.check(f, y, tolerance=1e-5, delay_spread=32, snr=60.0)

    def test_what_is_sent_comes_out(self):
        """At 30 dB, y - h s is noise, and little more than was added."""
        for f, rx, frames in FORMATS:
            y, _, x = received(f, rx, frames, 30, np.random.default_rng(6), 0.04)
            vectors, h, noise, _ = self.check(f, y)
            s = x[:, f.data_at][..., ~f.is_pilot]
            left = np.mean(abs(vectors - np.einsum("gira,gdai->gidr", h, s)) ** 2)
            most = 1.35 if f.carriers > 100 else 1.7  # with few carriers, a carrier has few neighbours
            self.assertTrue(0.9 < left / np.mean(noise) < most, (f, left / np.mean(noise)))

    def test_both_stages_behind_each_other(self):
        """Samples through paths with different delays, one antenna 40 dB weaker, no noise but rounding."""
        f = sender.FIVE
        rng = np.random.default_rng(7)
        bits = rng.integers(0, 2, f.bits("64qam"))
        x = f.frame_of(bits, "64qam")
        taps = model.noise((2, f.tx, 8), 1 / 8, rng) * np.array([1, 0.01])[:, None, None]
        samples = np.array([[sum(np.convolve(x[a], taps[r, a])[:f.frame] for a in range(f.tx)) for r in range(2)]])
        carriers, = self.run_stage("ofdm_demod", samples.astype(np.complex64), ["carriers"], f)
        vectors, h, noise, _ = self.check(f, carriers, tolerance=1e-4, snr=70.0)
        s = f.carriers_of(bits, "64qam")[1 + f.tx:][..., ~f.is_pilot]
        off = vectors[0] - np.einsum("ira,dai->idr", h[0], s)
        for r in range(2):
            self.assertLess(np.sqrt(np.mean(abs(off[..., r]) ** 2) / np.mean(abs(vectors[0, ..., r]) ** 2)), 1e-3)
        self.assertLess(noise[0], 1e-6)

    def test_bad_frames(self):
        f = sender.FIVE
        y, _, _ = received(f, 2, 4, 20, np.random.default_rng(8))
        y[1, 9, 33, 1] = np.nan
        y[2] = 0
        got = self.check_finite_frames(f, y, [0, 3])
        for port, a in zip(self.PORTS, got):
            self.assertTrue(np.isnan(a[1]).all(), port)
            self.assertFalse(a[2].any(), port)

    def check_finite_frames(self, f, y, frames):
        got = self.run_stage("mimo_channel_estimator", y.astype(np.complex64), self.PORTS, f)
        alone = self.run_stage("mimo_channel_estimator", y[frames].astype(np.complex64), self.PORTS, f)
        for port, a, b in zip(self.PORTS, got, alone):
            np.testing.assert_array_equal(a[frames], b, port)
        return got


if __name__ == "__main__":
    unittest.main()
