# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Start-up time and memory; label `speed`, as a sanitizer changes both."""

import re
import time
import unittest

import numpy as np
import zmq

import iqd

MOST_SECONDS = 1.0
MOST_MEGABYTES = 100.0


def document(where, kind="pub", address="bind"):
    taps = np.hanning(66)[1:-1] / 32
    return (f"source: {{soapy: {{args: driver=iqdsim, rate: 20 MS/s}}}}\nstages: [fir: {{taps: {taps.tolist()}, "
            f"decimation: 4}}]\npublish: [{{port: fir.out, topic: t, {address}: \"{where}\", kind: {kind}}}]\n")


def megabytes(pid, key):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return int(re.search(rf"^{key}:\s+(\d+) kB", f.read(), re.M)[1]) / 1000


class Limits(iqd.SystemTest):
    def seconds_to_the_first_message(self):
        where = iqd.endpoint()
        reader = self.reader(where, kind=zmq.PULL, bind=True)
        with self.daemon(document(where, "push", "connect")) as daemon:
            self.assertIsNotNone(reader.receive(), daemon.text)
            return time.monotonic() - daemon.started

    def test_start(self):
        best = min(self.seconds_to_the_first_message() for _ in range(3))
        print(f"time to the first message: {best:.3f} s")
        self.assertLess(best, MOST_SECONDS)

    def test_memory(self):
        where = iqd.endpoint()
        reader = self.reader(where, "t")
        with self.daemon(document(where), "--wait-subscribers", 1) as daemon:
            ends = time.monotonic() + 3
            while time.monotonic() < ends:
                reader.take(1)
            peak = megabytes(daemon.process.pid, "VmHWM")
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertConserved(daemon.final[0])
        print(f"peak resident memory: {peak:.1f} MB")
        self.assertLess(peak, MOST_MEGABYTES)


if __name__ == "__main__":
    unittest.main()
