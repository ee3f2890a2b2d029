# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""20 MS/s through a filter of 64 taps that decimates by 4, for a minute, without a drop. Not part of the default run:
`ctest --test-dir build/release -C soak -L soak --verbose`, on a machine with nothing else to do.

The samples are checked too: after the first ones, a filtered tone is a tone of known amplitude and phase.
"""

import os
import time
import unittest

import numpy as np

import iqd
import limits_test

SECONDS = float(os.environ.get("IQD_SOAK_SECONDS", "60"))
RATE = 20e6


class Soak(iqd.SystemTest):
    def test_a_minute(self):
        where = iqd.endpoint()
        reader = self.reader(where, "t")
        count = samples = 0
        worst = 0.0
        last = None
        response = np.sum(np.hanning(66)[1:-1] / 32 * np.exp(-2j * np.pi * np.arange(64) / 8))
        with self.daemon(limits_test.document(where), "--wait-subscribers", 1) as daemon:
            ends = time.monotonic() + SECONDS
            while time.monotonic() < ends:
                message = reader.receive()
                if last is not None:
                    self.assertEqual((message.seq, message.gap), (last.seq + 1, 0))
                if count and count % 50 == 0:  # checking all would take one CPU
                    n = message.sample + 4 * np.arange(len(message.x))
                    worst = max(worst, np.abs(message.x - response * iqd.tone(n, RATE / 8, RATE)).max())
                count, samples, last = count + 1, samples + len(message.x), message
            peak = limits_test.megabytes(daemon.process.pid, "VmHWM")
            self.assertEqual(daemon.stop(), 0, daemon.text)
            status = daemon.final[0]
        latency = status["latency_us"]
        print(f"{SECONDS:.0f} s: {count} messages, {samples / 1e6:.1f} M samples, largest error {worst:.1e}, "
              f"latency us p50 {latency['p50']:.0f} p99 {latency['p99']:.0f} p99.9 {latency['p999']:.0f} "
              f"max {latency['max']:.0f}, deadline misses {status['deadline_misses']}, resident {peak:.0f} MB")
        self.assertConserved(status)
        self.assertEqual((sum(status["dropped"].values()), status["lost"], status["overflows"]), (0, 0, 0), status)
        self.assertGreater(samples, 0.98 * SECONDS * RATE / 4)
        self.assertLess(worst, 1e-4)


if __name__ == "__main__":
    unittest.main()
