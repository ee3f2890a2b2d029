# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""How long iqd takes to load, and how much one core receives. Prints what it measures."""

import os
import pathlib
import subprocess
import sys
import time
import unittest

import iqd
from publisher import PATIENCE, SubscribeTest, json_frames, ramp, struct_frames

PACKAGE = pathlib.Path(iqd.__file__).parent.parent
LOAD = """
import time
began = time.perf_counter()
import iqd
iqd.subscribe("tcp://127.0.0.1:9")
print(time.perf_counter() - began)
"""
SEND = """
import sys, zmq
frames = [sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(8), "little")) for _ in range(2)]
context = zmq.Context()
socket = context.socket(zmq.PUSH)
socket.sndhwm = 1000 if len(frames[1]) < 10_000 else 20
print("tcp://127.0.0.1:%d" % socket.bind_to_random_port("tcp://127.0.0.1"), flush=True)
copies = len(frames[1]) < 10_000
for _ in range(int(sys.argv[1])):
    socket.send(frames[0], zmq.SNDMORE)
    socket.send(frames[1], copy=copies)
socket.close()
context.term()
"""


class Speed(SubscribeTest):
    def test_it_loads_in_150_ms(self):
        def once():
            return float(subprocess.run([sys.executable, "-c", LOAD], env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                                        check=True, capture_output=True, text=True).stdout)
        best = min(once() for _ in range(8))
        print(f"import iqd and the first subscribe: {best * 1e3:.0f} ms")
        self.assertLess(best, 0.15)

    def receive(self, frames, count):
        """Messages and bytes for each second of this thread and of libzmq's."""
        sender = subprocess.Popen([sys.executable, "-c", SEND, str(count + 1)], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.addCleanup(sender.communicate)
        self.addCleanup(sender.kill)
        for part in frames:
            sender.stdin.write(len(part).to_bytes(8, "little") + part)
        sender.stdin.flush()
        where = sender.stdout.readline().decode().strip()
        with iqd.subscribe(where, kind="pull", timeout=PATIENCE) as sub:
            next(sub)
            began, size = time.process_time(), 0
            for _ in range(count):
                size += next(sub).data.nbytes
            passed = time.process_time() - began
        return count / passed, size / passed

    def test_one_core_receives_a_gigabyte_a_second(self):
        _, rate = self.receive(json_frames("iq", ramp(65536)), 4000)
        print(f"512 KiB messages: {rate / 1e9:.2f} GB for each second of CPU time")
        self.assertGreater(rate, 1e9)

    def test_small_messages(self):
        x = ramp(8)
        for name, frames in (("json", json_frames("iq", x)), ("struct", struct_frames("iq", x, 1, 0, 8, 1, 1))):
            rate, _ = self.receive(frames, 50_000)
            print(f"64 bytes, {name}: {rate:.0f} messages for each second of CPU time")
            self.assertGreater(rate, 20_000)


if __name__ == "__main__":
    unittest.main()
