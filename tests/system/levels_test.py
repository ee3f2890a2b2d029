#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The measured level and clipping of a radio's channels, against the simulated radio's documented signal."""

import unittest
import urllib.request

import numpy as np

import iqd

RATE = 1e6
FREQUENCY = 123457.0  # no simple ratio to the rate, so the tone passes through all phases
FILE = """\
source:
  soapy: {{args: "driver=iqdsim,scenario=tone,frequency=123457,level={level}", channels: [0, 1], rate: 1 MS/s,
          format: {format}}}
block: 10000
sinks:
  - {{port: source, recall: {{name: levels, keep: 100 ms}}}}
{more}
"""


def clipped(samples, level, channel, format):
    """How many samples of the tone are at full scale."""
    x = iqd.tone(np.arange(samples), FREQUENCY, RATE, channel, level)
    parts = np.abs(np.stack([x.real, x.imag]))
    at_end = np.rint(parts * 32768) >= 32767 if format == "sc16" else parts >= 1
    return int(np.count_nonzero(at_end.any(axis=0)))


class LevelsTest(iqd.SystemTest):
    def test_a_tone_below_full_scale(self):
        with self.daemon(FILE.format(level=-23, format="sc16", more="")) as daemon:
            daemon.wait_for(lambda s: s["received"] > 1.1 * RATE)
            self.assertEqual(daemon.stop(), 0)
            for channel in daemon.final[0]["channels"]:
                self.assertAlmostEqual(channel["rms_dbfs"], -23, delta=0.02)
                self.assertAlmostEqual(channel["peak_dbfs"], -23, delta=0.02)
                self.assertEqual((channel["clipped"], channel["overloads"]), (0, 0))
            self.assertNotIn("overloaded", daemon.text)

    def test_an_overload_is_counted_to_the_sample_and_told_once(self):
        for format in ("sc16", "cf32"):
            where = f"127.0.0.1:{iqd.free_port()}"
            text = FILE.format(level=0.5, format=format, more=f'monitor: {{listen: "{where}"}}')
            with self.subTest(format), self.daemon(text) as daemon:
                daemon.wait_for(lambda s: s["received"] > 2.1 * RATE)
                with urllib.request.urlopen(f"http://{where}/metrics") as answer:
                    metrics = answer.read().decode()
                self.assertIn('iqd_radio_overloads_total{pipeline="iqd",radio="soapy",channel="1"} 1\n', metrics)
                self.assertEqual(daemon.stop(), 0)
                status = daemon.final[0]
                self.assertEqual(status["lost"], 0, "the machine was too slow for this test")
                for c, channel in enumerate(status["channels"]):
                    due = clipped(status["received"], 0.5, c, format)
                    self.assertGreater(due, 0.3 * status["received"])
                    # The radio computes in floats, so a sample near full scale may fall on either side.
                    self.assertAlmostEqual(channel["clipped"], due, delta=1e-4 * due)
                    self.assertTrue(channel["overloaded"])
                    self.assertEqual(channel["overloads"], 1)
                    self.assertEqual(daemon.text.count(f"channel {c} is overloaded"), 1, daemon.text)


if __name__ == "__main__":
    unittest.main()
