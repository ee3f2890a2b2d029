# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`wait: resident` in the running daemon: reloads to it and back lose nothing and leave nothing behind.

Skips, with 77, without a GPU. IQD_RELOADS sets the number of reloads, 1000 by default.
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

import numpy as np

import iqd
from door import Door

RELOADS = int(os.environ.get("IQD_RELOADS", "1000"))
RATE, TONE = 20e6, 2.5e6


def why_not():
    """Why this cannot be tested here; empty if it can."""
    backends = json.loads(iqd.command("probe", "--json").stdout)["backends"]
    if any(b["available"] and b["name"].startswith("cuda") for b in backends):
        return ""
    return "; ".join(b.get("why", "") for b in backends if not b["available"]) or "no CUDA backend"


def document(where, wait):
    return f"""name: demo
source:
  soapy: {{args: "driver=iqdsim,scenario=tone,frequency={TONE:.0f}", rate: 20 MS/s, frequency: 433 MHz}}
block: 65536
lanes: 2
backend: cuda
wait: {wait}
stages:
  - multiply_const: {{value: 0.5}}
  - conjugate:
publish:
  - {{port: conjugate.out, topic: x, bind: "{where}"}}
monitor: {{listen: "127.0.0.1:0"}}
"""


class Footprint:
    """What a process holds: memory on the host and on the GPU, threads, descriptors."""

    def __init__(self, pid, device_bytes):
        self.threads = len(os.listdir(f"/proc/{pid}/task"))
        self.files = len(os.listdir(f"/proc/{pid}/fd"))
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        self.host_mb = int(status.split("VmRSS:")[1].split()[0]) / 1e3
        self.device_bytes = device_bytes

    def __str__(self):
        return (f"{self.threads} threads, {self.files} descriptors, {self.host_mb:.0f} MB on the host, "
                f"{self.device_bytes / 1e6:.0f} MB of the GPU in use")


def device_bytes_in_use():
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",", maxsplit=1)[0]
    query = ["nvidia-smi", f"--id={first}", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return int(subprocess.run(query, check=True, capture_output=True, text=True).stdout) * 2**20


class GpuResident(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.where = iqd.endpoint()
        self.daemon_ = self.enterContext(self.daemon(document(self.where, "spin"), "--wait-subscribers", 1))
        self.door = Door(self.daemon_)
        self.reader = self.reader(self.where, "x", hwm=100_000)
        self.door.wait_for_state("/readyz", 200)

    def reload(self, wait):
        (self.folder / "pipeline.yaml").write_text(document(self.where, wait), encoding="utf-8")
        status, answer = self.door.change("POST", "/api/reload")
        self.assertEqual(status, 200, answer)
        self.assertIn("between two blocks", str(answer))

    def status(self):
        return self.door.status()

    def assertTone(self, m):
        n = m.sample + np.arange(m.x.shape[-1])
        np.testing.assert_allclose(m.x, 0.5 * np.conj(iqd.tone(n, TONE, RATE)), atol=2e-4)

    def take(self, least, last):
        """The next messages, until none waits; returns the last one."""
        taken = 0
        while m := self.reader.receive() if taken < least else self.reader.receive(0.001):
            if last is not None:
                self.assertEqual((m.seq, m.gap, m.sample), (last.seq + 1, 0, last.sample + last.x.shape[-1]), m.meta)
            if taken % 16 == 0:
                self.assertTone(m)
            taken, last = taken + 1, m
        self.assertGreaterEqual(taken, least, self.daemon_.text)
        return last

    def test_reloads_lose_nothing_and_leave_nothing(self):
        last, before = self.take(10, None), None
        for i in range(RELOADS):
            self.reload("spin" if i % 2 else "resident")
            last = self.take(4, last)
            if i % 100 == 20:
                last = self.take(100, last)
                self.assertGreater(self.status()["gpu_resident"], 0)
                print(f"{i} reloads: {Footprint(self.daemon_.process.pid, device_bytes_in_use())}", flush=True)
            if i == 20:
                before = Footprint(self.daemon_.process.pid, device_bytes_in_use())
        time.sleep(0.5)
        self.take(20, last)
        after = Footprint(self.daemon_.process.pid, device_bytes_in_use())
        print(f"after 20 reloads: {before}\nafter {RELOADS}: {after}", flush=True)
        self.assertEqual(self.daemon_.stop(), 0, self.daemon_.text)
        final = self.daemon_.final[0]
        self.assertEqual(final["reloads"], RELOADS)
        self.assertEqual((sum(final["dropped"].values()), final["lost"], final["overflows"]), (0, 0, 0), final)
        self.assertLessEqual(after.threads, before.threads)
        self.assertLessEqual(after.files, before.files)
        self.assertLess(after.host_mb, before.host_mb + 20)
        self.assertLess(after.device_bytes, before.device_bytes + 16e6)


if __name__ == "__main__":
    if reason := why_not():
        print(f"NOTHING RESIDENT WAS TESTED: {reason}", file=sys.stderr)
        sys.exit(77)
    unittest.main()
