# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The models of moving air, and of a receiver that follows it, against theory. bench/air uses them."""

import contextlib
import dataclasses
import io
import pathlib
import sys
import unittest

import numpy as np

import air_model as air
import ofdm_model as sender
import ofdm_receive_model as standing
import ofdm_track_model as track

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "air"))
import drawn

RATE = 7.68e6
F = sender.FIVE


def decibels(x):
    return 10 * np.log10(x)


class Air(unittest.TestCase):
    def test_a_path_fades_as_waves_from_all_around(self):
        """J0(2.405) = 0: a path is unlike itself after that time; J0(1) = 0.765."""
        rng, doppler, step = np.random.default_rng(1), 300.0, 1 / 64
        found = {turns: 0 for turns in (0, 1, 2.405)}
        for _ in range(400):
            g = air.fading(4096, doppler, doppler / step, rng)
            for turns in found:
                apart = round(turns / (2 * np.pi) / step)
                found[turns] += np.mean(g[apart:] * g[:len(g) - apart].conj()).real / 400
        self.assertAlmostEqual(found[0], 1, delta=0.02)
        self.assertAlmostEqual(found[1], 0.765, delta=0.03)
        self.assertAlmostEqual(found[2.405], 0, delta=0.03)

    def test_the_paths_of_a_profile(self):
        """An impulse arrives at all delays with their powers; the mean power of a pair of antennas is 1."""
        rng, length = np.random.default_rng(2), 512
        x = np.zeros((1, length))
        x[0, 0] = 1
        rate = 1e9 / 10  # EVA's delays are whole samples then
        power = np.mean([abs(air.Air(rate=rate).carry(x, 2, rng)) ** 2 for _ in range(1500)], axis=(0, 1))
        delays, expected = (np.array(v) for v in air.EVA)
        self.assertAlmostEqual(power.sum(), 1, delta=0.06)
        np.testing.assert_allclose(decibels(power[delays // 10]) - decibels(power[0]), expected, atol=0.6)
        self.assertLess(np.delete(power, delays // 10).max(), 1e-20)

    def test_a_delay_of_part_of_a_sample(self):
        n = np.arange(256)
        x = np.exp(2j * np.pi * 5 * n / 256)[None]
        np.testing.assert_allclose(air.delayed(x, 0.3), x * np.exp(-2j * np.pi * 5 * 0.3 / 256), atol=1e-12)


    def test_a_clock_that_is_faster(self):
        """A tone is higher by as much, wherever it is in the band."""
        n = np.arange(3000)
        for cycles in (0.01, 0.3, -0.44):
            y = air.resampled(np.exp(2j * np.pi * cycles * n)[None], 100, 2500, 50)
            expected = np.exp(2j * np.pi * cycles * (100 + n[:2500] * (1 + 50e-6)))
            self.assertLess(abs(y[0] - expected).max(), 1e-5)

    def test_an_interferer_moves_by_itself(self):
        """Of one that stands still, what antennas receive differs in direction alone, at the start and at the end."""
        def turned(interferer_doppler):
            rng = np.random.default_rng(9)
            y = air.ofdm_frame(np.zeros((1, F.frame)), dataclasses.replace(F, tx=1), RATE, 2, rng, 300.0, 80.0, 0.0,
                               interferer_doppler=interferer_doppler)
            first, last = (np.vdot(part[0], part[1]) / np.vdot(part[0], part[0]) for part in (y[:, :800], y[:, -800:]))
            return abs(last / first - 1)
        self.assertGreater(turned(300.0), 3 * turned(0.0))


class ErrorBars(unittest.TestCase):
    """Of bench/air/drawn.py."""

    def shares(self, rng, rate, frames, words, alike):
        """Words of a frame are lost by themselves, or all at once."""
        lost = rng.random((frames, words)) < rate
        return drawn.Share((lost[:, :1] if alike else lost).sum(1) * (words if alike else 1), words)

    def test_words_that_are_lost_together_count_as_one(self):
        rng = np.random.default_rng(1)
        self.assertGreater(self.shares(rng, 0.3, 200, 11, True).alike, 10)
        self.assertLess(self.shares(rng, 0.3, 200, 11, False).alike, 1.6)

    def test_a_bar_holds_what_chance_does(self):
        """In nineteen of twenty draws."""
        rng = np.random.default_rng(2)
        for alike in (False, True):
            draws = [self.shares(rng, 0.3, 80, 11, alike) for _ in range(400)]
            self.assertAlmostEqual(np.mean([abs(each.rate - 0.3) < each.bar for each in draws]), 0.95, delta=0.03)

    def test_a_simulation_with_other_draws_is_within(self):
        rng = np.random.default_rng(3)
        for alike in (False, True):
            pairs = [[self.shares(rng, 0.3, frames, 11, alike) for frames in (80, 10)] for _ in range(400)]
            self.assertLess(np.mean([ours.outside(there.rate, 10) for ours, there in pairs]), 0.09)
        self.assertGreater(np.mean([ours.outside(there.rate + 0.5, 10) for ours, there in pairs]), 0.8)

    def test_no_word_lost(self):
        none = drawn.Share(np.zeros(80), 11)
        self.assertEqual((none.rate, none.draws), (0, 80))
        self.assertFalse(none.outside(0, 10))
        self.assertFalse(none.outside(0.05, 10))
        self.assertTrue(none.outside(0.6, 10))
        self.assertEqual(str(drawn.Share(np.array([0]), 108)), "0.000")

    def test_figures_that_are_outside_are_bold(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            sheet = drawn.Sheet()
            sheet.head("", ["scene", "lost"])
            sheet.row("a", {"lost": drawn.Share(np.zeros(80), 11)}, {"lost": 0.6}, 10)
            sheet.row("b", {"lost": drawn.Share(np.zeros(80), 11)}, {"lost": 0}, 10)
            sheet.finish(None)
        self.assertIn("| a | **0.000 ± 0.025 (0.6)** |", text.getvalue())
        self.assertIn("| b | 0.000 ± 0.025 (0) |", text.getvalue())
        self.assertIn("1 of 2 figures are outside.", text.getvalue())


class Receiver(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tracker = track.Tracker(F, RATE)
        cls.smoother = standing.smoother(F)

    def carriers(self, rng, doppler=0.0, snr=20.0, rx=2, interferer=None, tone=None):
        """[symbol][c][r], and what was sent [symbol][a][c]."""
        bits = rng.integers(0, 2, F.bits("16qam"))
        x = F.carriers_of(bits, "16qam")
        y = air.ofdm_frame(F.samples_of(x), F, RATE, rx, rng, doppler, snr, interferer, tone)
        return standing.demodulate(y[None], F)[0], x

    @staticmethod
    def residual(y, h, noise, x):
        """Power of y - h s on data carriers, in units of the reported noise: 1 if the estimate is right."""
        s = x[1 + F.tx:, :, ~F.is_pilot].transpose(2, 0, 1)
        return np.mean(abs(y - np.einsum("idra,ida->idr", h, s)) ** 2 / noise[..., None])

    def followed(self, rng, whiten="off", **scene):
        y, x = self.carriers(rng, **scene)
        found = track.estimate_frame(y, F, self.tracker, whiten)
        return self.residual(found.y, found.h, found.noise, x)

    def test_the_reported_noise_is_what_the_channel_does_not_explain(self):
        """Whether the air moves or not, at any level of noise. At 300 Hz carriers disturb each other at -32 dB."""
        for doppler in (0, 100, 300):
            for snr in (5, 13, 20, 25):
                rng = np.random.default_rng([doppler, snr])
                mean = np.mean([self.followed(rng, doppler=doppler, snr=snr) for _ in range(6)])
                self.assertLess(abs(decibels(mean)), 1.6, (doppler, snr))

    def test_holding_the_channel_does_not_follow(self):
        """At 300 Hz and 20 dB, what it does not explain is more than ten times the noise."""
        rng = np.random.default_rng(4)
        means = []
        for _ in range(6):
            y, x = self.carriers(rng, doppler=300)
            y, h, noise, _ = standing.estimate_frame(y, F, self.smoother)
            means.append(self.residual(y, h[:, None], np.full(y.shape[:2], noise), x))
        self.assertGreater(np.mean(means), 10)

    def test_an_interferer_is_whitened(self):
        """As strong as the signal, four antennas: the noise has one direction, which is taken away."""
        def information(whiten):
            rng, total = np.random.default_rng(5), 0
            for _ in range(4):
                y, x = self.carriers(rng, doppler=30, rx=4, interferer=0)
                found = track.estimate_frame(y, F, self.tracker, whiten)
                seen = np.einsum("idra,idrb->idab", found.h.conj(), found.h) / found.noise[..., None, None]
                total += np.mean(np.log2(np.linalg.det(np.eye(F.tx) + seen).real))
                self.assertLess(self.residual(found.y, found.h, found.noise, x), 2)
            return total / 4
        self.assertGreater(information("groups"), information("off") + 3)

    def test_a_tone_costs_its_carriers_alone(self):
        """20 dB above a carrier, at 16 dB: three quarters of the carriers are as good as without."""
        rng = np.random.default_rng(6)
        for _ in range(4):
            y, x = self.carriers(rng, snr=16, tone=20)
            found = track.estimate_frame(y, F, self.tracker, "groups")
            s = x[1 + F.tx:, :, ~F.is_pilot].transpose(2, 0, 1)
            rest = found.y - np.einsum("idra,ida->idr", found.h, s)
            self.assertLess(np.quantile(np.mean(abs(rest) ** 2, axis=(1, 2)) / found.noise.mean(), 0.75), 2.5)

    def test_the_training_of_the_next_frame_is_known_by_its_time(self):
        """At 3 dB and above it counts, whatever the air; a gap of ten samples or more shows."""
        rng, w = np.random.default_rng(8), np.ones(F.carriers)
        tracker = track.Tracker(F, RATE, tail=True)

        def metric(snr, gap):
            x = F.samples_of(F.carriers_of(rng.integers(0, 2, F.bits("16qam")), "16qam"))
            x = np.concatenate([x, np.zeros((F.tx, gap)), x[:, :standing.tail_samples(F)]], axis=1)
            y = air.ofdm_frame(x, F, RATE, 2, rng, 300.0, snr)[:, :F.frame + standing.tail_samples(F)]
            return tracker.tail_metric(standing.demodulate(y[None], F, True)[0][tracker.symbols], w)
        for _ in range(5):
            self.assertGreater(metric(3, 0), track.LEAST_TAIL)
            self.assertGreater(metric(20, 0), track.LEAST_TAIL)
            for gap in (10, 36, 300):
                self.assertLess(metric(20, gap), track.LEAST_TAIL)

    def test_white_noise_stays_as_it_is(self):
        """Shrinking leaves no direction in white noise, and keeps one that is there."""
        rng = np.random.default_rng(7)
        z = standing.noise((35, 4), 1, rng)
        values = np.linalg.eigvalsh(track.shrunk(z.T @ z.conj() / 35, 35))
        self.assertLess(values[-1] / values[0], 1.6)
        z[:, 0] += standing.noise((35,), 100, rng)
        values = np.linalg.eigvalsh(track.shrunk(z.T @ z.conj() / 35, 35))
        self.assertGreater(values[-1] / values[-2], 20)


if __name__ == "__main__":
    unittest.main()
