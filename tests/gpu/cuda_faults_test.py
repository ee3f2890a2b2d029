# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Faults on demand in the calls of a module that was opened at run time, like iqd's CUDA half.

Needs no device: the faults are compared with what the runtime returns on this machine, whatever that is.
$IQD_CUDA_FAULTS is the library to preload, $IQD_CUDA_PROBE the module that calls.
"""

import os
import struct
import subprocess
import sys
import tempfile
import unittest

FAULTS = os.environ["IQD_CUDA_FAULTS"]
PROBE = os.environ["IQD_CUDA_PROBE"]
NOT_READY, LAUNCH_FAILURE = 600, 719

CALLER = """
import ctypes, os, sys
probe = ctypes.CDLL(sys.argv[1], mode=os.RTLD_LOCAL | os.RTLD_NOW)
for name in sys.argv[2:]: print(getattr(probe, name)(), flush=True)
os._exit(0)
"""


def run(calls, fault=None, counts=None):
    """Returns the result of each call."""
    environment = {**os.environ, "LD_PRELOAD": FAULTS}
    environment |= {"IQD_CUDA_FAULT": fault} if fault else {}
    environment |= {"IQD_CUDA_CALLS": counts} if counts else {}
    return subprocess.run([sys.executable, "-c", CALLER, PROBE, *calls], env=environment, capture_output=True,
                          text=True, timeout=60, check=False)


def returned(*arguments, **options):
    done = run(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


class CudaFaults(unittest.TestCase):
    def usual(self, name):
        """The runtime's result on this machine, with or without a device."""
        return returned([name])[0]

    def test_one_call_fails(self):
        usual = self.usual("stream_query")
        self.assertNotEqual(usual, LAUNCH_FAILURE)
        self.assertEqual(returned(["stream_query"] * 4, "cudaStreamQuery:3:719"), [usual, usual, LAUNCH_FAILURE, usual])

    def test_the_error_is_pending_until_it_is_taken(self):
        found = returned(["stream_query", "peek", "peek", "take", "take"], "cudaStreamQuery:1:719")
        self.assertEqual(found[:4], [LAUNCH_FAILURE] * 4)
        self.assertNotEqual(found[4], LAUNCH_FAILURE)

    def test_a_launch_in_angle_brackets(self):
        self.assertEqual(returned(["launch", "take"], "cudaLaunchKernel:1:719"), [LAUNCH_FAILURE] * 2)

    def test_a_lost_device_fails_everywhere_and_for_ever(self):
        calls = ["stream_query", "event_record", "stream_query", "get_device_count", "launch", "take", "take", "peek"]
        found = returned(calls, "cudaEventRecord:1:719:sticky")
        self.assertNotEqual(found[0], LAUNCH_FAILURE)
        self.assertEqual(found[1:], [LAUNCH_FAILURE] * 7)

    def test_a_hung_device_is_never_ready(self):
        found = returned(["event_record", "stream_query", "stream_query", "event_record"], "cudaEventRecord:1:0:hang")
        self.assertEqual(found, [0, NOT_READY, NOT_READY, 0])

    def test_calls_are_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "counts")
            returned(["stream_query"] * 3 + ["launch", "event_record"], "cudaStreamQuery:2:719", path)
            with open(path, "rb") as f:
                records = struct.iter_unpack("56sQ", f.read())
                found = {name.rstrip(b"\0").decode(): calls for name, calls in records if name[0]}
        self.assertEqual(found, {"faults": 1, "cudaStreamQuery": 3, "cudaLaunchKernel": 1, "cudaEventRecord": 1})

    def test_nonsense_is_refused(self):
        for fault in ("cudaMalloc", "cudaMalloc:0:2", "cudaMalloc:1:2:soon"):
            done = run(["stream_query"], fault)
            self.assertEqual(done.returncode, 97, fault)
            self.assertIn(fault, done.stderr)


if __name__ == "__main__":
    unittest.main()
