# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""4 MS/s from a simulated USRP for a minute, or for $IQD_SOAK_SECONDS, without a gap; each sample is checked.

Not part of the default run: `IQD_SOAK_SECONDS=600 ctest --test-dir build/release -C soak -L soak -R uhd --verbose`, on a
machine with nothing else to do.
"""

import os
import time

import numpy as np

import uhd_case

SECONDS = float(os.environ.get("IQD_SOAK_SECONDS", "60"))
RATE = 4e6


class Soak(uhd_case.UhdCase):
    def resident_kb(self, daemon):
        with open(f"/proc/{daemon.process.pid}/status", encoding="utf-8") as file:
            return int(next(line for line in file if line.startswith("VmRSS")).split()[1])

    def test_without_a_gap(self):
        self.simulator().start()
        cycle = uhd_case.numbered(np.arange(uhd_case.PERIOD))
        cycle = np.concatenate([cycle, cycle])
        with self.daemon(self.document(RATE, block=262144), "--wait-subscribers", 1) as daemon:
            first, samples, warm_kb = None, 0, 0
            ends = time.monotonic() + SECONDS
            while time.monotonic() < ends:
                m = self.subscriber.receive()
                first = uhd_case.number_of(m.x[0]) - m.sample if first is None else first
                begin = (first + m.sample) % uhd_case.PERIOD
                self.assertEqual((m.sample, m.gap), (samples, 0))
                self.assertTrue(np.array_equal(m.x, cycle[begin:begin + len(m.x)]), m.meta)
                samples += len(m.x)
                if not warm_kb and samples > 5 * RATE:
                    warm_kb = self.resident_kb(daemon)
            grown_kb = self.resident_kb(daemon) - warm_kb
            _, status = self.stop(daemon)
        print(f"{SECONDS:.0f} s: {samples / 1e6:.1f} M samples, resident {grown_kb} kB more than after 5 s")
        self.assertConserved(status)
        self.assertEqual((sum(status["dropped"].values()), status["lost"], status["sequence_errors"]), (0, 0, 0), status)
        self.assertGreater(samples, 0.95 * (SECONDS - 2) * RATE)
        self.assertLess(grown_kb, 1024 + 1024 * SECONDS / 3600)


if __name__ == "__main__":
    uhd_case.main()
