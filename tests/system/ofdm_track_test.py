# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""mimo_channel_estimator in air that moves, through `iqd exec`, against a model in double precision."""

import dataclasses
import unittest

import numpy as np

import air_model as air
import ofdm_model as sender
import ofdm_receive_model as standing
import ofdm_track_model as track
from exec_arrays import execute

RATE = 7.68e6
SHORT = sender.Format(fft=64, carriers=26, prefix=9, frame=1000, tx=3, pilot_every=7)
CODE = "80216e_2304_1_2"
PORTS = ("y", "h", "noise", "phase", "level", "covariance", "doppler", "interference")


def relative(y, expected):
    """rms of the difference over rms of what is expected."""
    return np.sqrt(np.mean(abs(y - expected) ** 2) / np.mean(abs(expected) ** 2))


class Estimator(unittest.TestCase):
    def received(self, f, rx, seed, frames=2, tail=False, **scene):
        """[frame][symbol][c][r]"""
        rng = np.random.default_rng(seed)

        def sent():
            x = f.samples_of(f.carriers_of(rng.integers(0, 2, f.bits("16qam")), "16qam"))
            return np.concatenate([x, x[:, :standing.tail_samples(f)]], axis=1) if tail else x
        y = [air.ofdm_frame(sent(), f, RATE, rx, rng, **scene) for _ in range(frames)]
        return standing.demodulate(np.array(y), f, tail).astype(np.complex64)

    def check(self, f, rx, whiten="groups", keys=(), options=None, loose=1.0, tail=False, silent=False, **scene):
        """Compares what iqd says with the model. `loose`: for the limits, which are for 20 dB. `silent`: the last frame
        has no tail."""
        y = self.received(f, rx, [rx, *f"{scene}".encode()], tail=tail, **scene)
        if silent:
            y[-1, f.symbols:] = 0
        model = track.Tracker(f, RATE, **(options or {}), tail=tail)
        own = [f"{key}={getattr(f, key)}" for key in
               ("fft", "carriers", "prefix", "frame", "tx", "pilot_every", "midambles")]
        own += ["tail=true"] if tail else []
        got = dict(zip(PORTS, execute("mimo_channel_estimator", {"carriers": y}, PORTS,
                                      [*own, "track=frame", f"whiten={whiten}", *keys], rate=RATE)))
        for g, carriers in enumerate(y):
            expected = track.estimate_frame(carriers.astype(complex), f, model, whiten)
            self.assertLess(relative(got["h"][g], expected.h), 1e-4 * loose)
            self.assertLess(abs(got["h"][g] - expected.h).max(),
                            1e-3 * loose * np.sqrt(np.mean(abs(expected.h) ** 2)))
            self.assertLess(relative(got["y"][g], expected.y), 1e-4 * loose)
            self.assertLess(relative(got["noise"][g], expected.noise), 3e-5 * loose)
            self.assertLess(abs(np.angle(np.exp(1j * (got["phase"][g] - expected.phase)))).max(), 1e-4 * loose)
            self.assertLess(abs(got["level"][g] / expected.level - 1), 1e-5)
            self.assertLess(relative(got["covariance"][g], expected.covariance), 1e-3 * loose)
            self.assertLess(abs(got["doppler"][g] - expected.doppler), 1e-3 * loose)
            if whiten != "off":
                self.assertLess(abs(got["interference"][g] / expected.interference - 1), 1e-4)

    def test_air_that_moves(self):
        for whiten in ("off", "band", "groups"):
            self.check(sender.FIVE, 2, whiten, doppler=100)
        self.check(sender.FIVE, 4, doppler=300)
        self.check(dataclasses.replace(sender.FIVE, tx=4), 4, doppler=300, snr=16)

    def test_air_that_stands_still(self):
        self.check(sender.FIVE, 2, doppler=0)
        self.check(sender.FIVE, 1, "off", doppler=0, snr=5)

    def test_midambles(self):
        for count in (1, 3):
            f = dataclasses.replace(sender.FIVE, midambles=count)
            self.check(f, 2, doppler=300)
            self.check(f, 2, doppler=30, tone=20)
        self.check(dataclasses.replace(sender.FIVE, tx=4, midambles=1), 4, "off", doppler=300, snr=16)
        self.check(dataclasses.replace(SHORT, midambles=4), 3, doppler=0, loose=3)

    def test_the_training_of_the_next_frame(self):
        self.check(sender.FIVE, 2, "off", doppler=300, tail=True, silent=True)
        self.check(sender.FIVE, 2, doppler=30, tone=20, tail=True)
        self.check(dataclasses.replace(sender.FIVE, tx=4, midambles=1), 4, doppler=300, snr=16, tail=True)
        self.check(SHORT, 3, doppler=0, loose=3, tail=True, silent=True)

    def test_an_interferer(self):
        self.check(sender.FIVE, 4, doppler=30, interferer=0)
        self.check(sender.FIVE, 3, doppler=30, interferer=40, loose=10)

    def test_a_tone(self):
        for tone in (20, 30):
            self.check(sender.FIVE, 2, doppler=30, tone=tone)

    def test_keys(self):
        for keys, options in ((["doppler=300", "time_functions=3"], {"doppler": 300.0, "time_functions": 3}),
                              (["step=1.25", "span=25"], {"step": 1.25, "span": 25.0}),
                              (["max_taps=8", "em=0"], {"max_taps": 8, "em": 0})):
            self.check(sender.FIVE, 2, keys=keys, options=options, doppler=100)

    def test_a_short_frame_of_three_antennas(self):
        self.check(SHORT, 3, doppler=0, loose=3)


class Chain(unittest.TestCase):
    """From a stream of samples to bits: frames start and turn as ofdm_sync finds them."""

    def received(self, f, frames):
        """[r][n]: frames with the known payload, at 200 Hz, 20 dB, 2 kHz off."""
        rng = np.random.default_rng(11)
        sent = np.pad(f.frames(frames, "16qam", CODE), ((0, 0), (1500, 900)))
        y = air.Air(RATE, 200.0).carry(sent, f.tx, rng)
        y += air.white(y.shape, f.tx * 0.01 * f.fft / f.carriers, rng)
        return (y * np.exp(2j * np.pi * 2000 / RATE * np.arange(y.shape[1]))).astype(np.complex64)

    def decoded(self, f, y, tail):
        """Bits of all frames, and the noise of each."""
        frame = [f"tx={f.tx}", f"midambles={f.midambles}"]
        keys = frame + (["tail=true"] if tail else [])
        x, start = execute("ofdm_sync", {"in": y}, ["frames", "start"], keys, rate=RATE)
        np.testing.assert_array_less(abs(start - 1500 - f.frame * np.arange(len(start))), 4)
        x, = execute("ofdm_demod", {"frames": x}, ["carriers"], keys, rate=RATE)
        x, = execute("ofdm_clock", {"carriers": x}, ["carriers"], keys, rate=RATE)
        y, h, noise = execute("mimo_channel_estimator", {"carriers": x}, ["y", "h", "noise"], [*keys, "track=frame"],
                              rate=RATE)
        llr, = execute("mtt_detector", {"y": y.reshape(-1, f.tx), "h": h.reshape(-1, f.tx, f.tx),
                                        "noise": noise.reshape(-1)}, ["llr"], ["modulation=16qam"])
        bits, = execute("ldpc_decoder", {"llr": llr.reshape(*y.shape[:3], *llr.shape[-2:])}, ["bits"],
                        ["interleave=frame"])
        return bits.reshape(-1), noise.mean((1, 2))

    def test_words_are_right(self):
        for f in (sender.FIVE, dataclasses.replace(sender.FIVE, midambles=2)):
            frames = 4
            y = self.received(f, frames)
            expected = sender.pn(23, np.arange(frames * f.information_bits("16qam", CODE)))
            noise = {}
            for tail in (False, True):
                bits, noise[tail] = self.decoded(f, y, tail)
                np.testing.assert_array_equal(bits, expected)
            # All frames but the last have one behind them.
            np.testing.assert_array_less(noise[True][:-1], noise[False][:-1])


if __name__ == "__main__":
    unittest.main()
