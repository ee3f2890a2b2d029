# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A subscriber that reads nothing does not affect others, and costs the daemon no more memory than its queue. Label
`speed`, as a sanitizer changes both.

Windows with and without the slow reader alternate, and the quickest of each are compared, since other load only slows a
window. If they differ, more windows show whether the reader or the machine was the cause.
"""

import select
import subprocess
import sys
import time
import unittest

import numpy as np

import iqd
import limits_test

RATE, BLOCK = 2e6, 4096
WINDOWS, MOST_WINDOWS, SECONDS = 4, 20, 1
HWM_MEGABYTES = 8
# How much p99 varies between windows without a slow reader, with daemon and reader on two cores.
FLOOR_MS = 0.5
SLOW_READER = """
import sys, time, zmq
s = zmq.Context().socket(zmq.SUB)
s.setsockopt(zmq.RCVHWM, 1)
s.setsockopt(zmq.RCVBUF, 8192)
s.setsockopt(zmq.SUBSCRIBE, b"")
s.connect(sys.argv[1])
s.recv_multipart()
print("begun", flush=True)
time.sleep(1000)
"""


def quickest(windows):
    return min(p99 for p99, _ in windows)


class SlowReader(iqd.SystemTest):
    @staticmethod
    def alike(alone, beside):
        return quickest(beside) < 1.1 * quickest(alone) + FLOOR_MS

    def window(self):
        """p99 of the time from a message's last sample to its arrival, in ms, and then the daemon's memory."""
        ends = time.monotonic() + SECONDS
        late = []
        while time.monotonic() < ends:
            message = self.fast.take(1)[0]
            late.append(time.time_ns() - message.time_ns - BLOCK / RATE * 1e9)
            self.assertEqual((message.seq, message.gap), (self.seq + 1, 0))
            self.seq = message.seq
        return np.percentile(late, 99) / 1e6, limits_test.megabytes(self.pid, "VmRSS")

    def window_with_slow_reader(self):
        slow = subprocess.Popen([sys.executable, "-c", SLOW_READER, self.where], stdout=subprocess.PIPE)
        try:
            while not select.select([slow.stdout], [], [], 0)[0]:
                self.seq = self.fast.take(1)[0].seq
            # Its queue is full before the window begins.
            for _ in range(int(2 * HWM_MEGABYTES * 1e6 / (4 * BLOCK))):
                self.seq = self.fast.take(1)[0].seq
            return self.window()
        finally:
            slow.kill()
            slow.communicate()

    def test_the_fast_one_does_not_notice(self):
        self.where = iqd.endpoint()
        self.fast = self.reader(self.where, "t")
        text = (f"source: {{soapy: {{args: driver=iqdsim, rate: {RATE}}}}}\nblock: {BLOCK}\n"
                f"publish: [{{port: source, topic: t, bind: \"{self.where}\", hwm_bytes: {HWM_MEGABYTES} MB}}]\n")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            self.pid = daemon.process.pid
            self.seq = self.fast.take(100)[-1].seq
            alone, beside = [], []
            while len(beside) < WINDOWS or (len(beside) < MOST_WINDOWS and not self.alike(alone, beside)):
                alone.append(self.window())
                beside.append(self.window_with_slow_reader())
            daemon.signal()
            self.fast.rest()
            self.assertEqual(daemon.wait(), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        self.assertEqual((sum(status["dropped"].values()), status["lost"]), (0, 0), status)
        p99_alone, p99_beside = quickest(alone), quickest(beside)
        memory = [megabytes for _, megabytes in beside]
        print(f"p99 of the fast reader: {p99_alone:.2f} ms alone, {p99_beside:.2f} ms with the slow one; resident "
              f"{alone[0][1]:.1f} MB alone, {memory} MB with it")
        self.assertTrue(self.alike(alone, beside))
        self.assertLess(max(memory) - alone[0][1], HWM_MEGABYTES + 8)
        self.assertLess(memory[-1] - memory[1], 4)


if __name__ == "__main__":
    unittest.main()
