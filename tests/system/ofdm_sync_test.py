# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""ofdm_sync through `iqd exec` in air that moves, beside a steady tone."""

import dataclasses
import unittest

import numpy as np

import air_model as air
import iqd
import ofdm_model as sender
import ofdm_receive_model as standing

RATE, SPACING, EDGE, FRAMES = 7.68e6, 15e3, 400, 5


def received(f, rx, tone, rng, snr=20, doppler=30):
    """[rx][n] of frames back to back, and their offset in carriers; `tone` in dB above a carrier, between two."""
    sent = f.frames(FRAMES, "qpsk")
    y = air.Air(RATE, doppler).carry(np.pad(sent, ((0, 0), (EDGE, EDGE))), rx, rng) / np.sqrt(f.tx)
    n = np.arange(y.shape[1])
    offset = rng.uniform(-0.9, 0.9)
    y *= np.exp(2j * np.pi * offset * n / f.fft)
    if tone is not None:
        at = rng.integers(-f.carriers // 3, f.carriers // 3) + 0.5
        gains = 10 ** (tone / 20) / np.sqrt(f.carriers) * np.exp(2j * np.pi * rng.random(rx))
        y += gains[:, None] * np.exp(2j * np.pi * at * n / f.fft)
    return y + standing.noise(y.shape, 10 ** (-snr / 10) * f.fft / f.carriers, rng), offset


class BesideATone(iqd.SystemTest):
    def sync(self, x, f, *config):
        np.save(self.folder / "x.npy", x.astype(np.complex64))
        keys = [a for key in (f"tx={f.tx}", *config) for a in ("--config", key)]
        done = iqd.command("exec", "ofdm_sync", "--in", f"in={self.folder}/x.npy", "--rate", RATE, "--backend", "cpu",
                           *keys, *(a for port in ("start", "offset_hz")
                                    for a in ("--out", f"{port}={self.folder}/{port}.npy")))
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "start.npy"), np.load(self.folder / "offset_hz.npy") / SPACING

    def heard(self, tone, *config, draws=3, formats=((2, 2), (2, 4), (4, 4))):
        """Of all frames: how many were found, how far off starts and offsets are, and how many were found elsewhere."""
        starts, offsets, elsewhere = [], [], 0
        for tx, rx in formats:
            f = dataclasses.replace(sender.FIVE, tx=tx)
            for draw in range(draws):
                x, offset = received(f, rx, tone, np.random.default_rng([draw, tx, rx]))
                for start, found in zip(*self.sync(x, f, *config)):
                    late = start - EDGE - round((start - EDGE) / f.frame) * f.frame
                    if abs(late) <= f.prefix:
                        starts.append(late)
                        offsets.append(found - offset)
                    else:
                        elsewhere += 1
        return np.array(starts), np.array(offsets), elsewhere, FRAMES * draws * len(formats)

    def test_frames_beside_a_tone(self):
        """30 dB over a carrier is 5 dB over all of them. The strongest path is up to 3 samples late."""
        starts, offsets, elsewhere, sent = self.heard(30, "reject_tones=true")
        self.assertEqual((len(starts), elsewhere), (sent, 0))
        self.assertLessEqual(abs(starts).max(), 4)
        self.assertLess(np.sqrt(np.mean(offsets**2)), 0.02)
        self.assertLess(abs(offsets).max(), 0.06)
        starts, offsets, _, _ = self.heard(30)
        self.assertLess(len(starts), 0.8 * sent)
        self.assertGreater(np.sqrt(np.mean(offsets**2)), 0.1)

    def test_without_a_tone(self):
        starts, offsets, elsewhere, sent = self.heard(None, "reject_tones=true")
        self.assertEqual((len(starts), elsewhere), (sent, 0))
        self.assertLessEqual(abs(starts).max(), 4)
        self.assertLess(np.sqrt(np.mean(offsets**2)), 0.004)


if __name__ == "__main__":
    unittest.main()
