# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Every kind of CUDA call that iqd makes fails, early and late: iqd exits, says why, and no result is wrong.

A run without faults shows which calls there are. The faults come from libcuda_faults.so, which is preloaded
(tests/gpu/cuda_faults.cpp): $IQD_CUDA_FAULTS, or the release build's. Skips, with 77, without a GPU. Two runs of the
same recording make the same calls, except those that ask whether a block is done.
"""

import json
import os
import pathlib
import struct
import sys
import time
import unittest

import numpy as np

import iqd

LIBRARY = os.environ.get("IQD_CUDA_FAULTS", str(iqd.ROOT / "build" / "release" / "tests" / "gpu" / "libcuda_faults.so"))
MOST_SECONDS = 20
SAMPLES = 4_000_000
RATE = 1e6
FREQUENCY = 123_456.0
TAPS = np.hanning(35)[1:-1] / 17

LAUNCH_FAILURE, OUT_OF_MEMORY = (719, "cudaErrorLaunchFailure"), (2, "cudaErrorMemoryAllocation")
ERRORS = {"cudaMalloc": OUT_OF_MEMORY, "cudaHostAlloc": OUT_OF_MEMORY, "cudaHostRegister": OUT_OF_MEMORY}
# Calls that only describe the device, release something, or accompany another call that would fail too: one failure
# need not end a run, but may.
SURVIVABLE = {"cudaDriverGetVersion", "cudaRuntimeGetVersion", "cudaDeviceGetPCIBusId", "cudaDeviceGetAttribute",
              "cudaMemGetInfo", "cudaSetDevice", "cudaSetDeviceFlags", "cudaFree", "cudaFreeHost", "cudaHostUnregister",
              "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaGraphUpload", "cudaFuncSetAttribute"}


def why_not():
    """Why this cannot be tested here; empty if it can."""
    if not pathlib.Path(LIBRARY).is_file():
        return f"{LIBRARY} was not built"
    backends = json.loads(iqd.command("probe", "--json").stdout)["backends"]
    if any(b["available"] and b["name"].startswith("cuda") for b in backends):
        return ""
    return "; ".join(b.get("why", "") for b in backends if not b["available"]) or "no CUDA backend"


def calls_in(path):
    """How often each function was called; `faults` counts the failures."""
    records = struct.iter_unpack("56sQ", path.read_bytes() if path.exists() else b"")
    return {"faults": 0} | {name.split(b"\0")[0].decode(): calls for name, calls in records if name[0]}


def late(calls):
    return calls if calls < 4 else calls * 3 // 4


class Outcome:
    def __init__(self, code, seconds, messages, daemon, calls):
        self.code, self.seconds, self.messages, self.calls = code, seconds, messages, calls
        self.log, self.text, self.statuses = daemon.log, daemon.text, daemon.statuses


class GpuFaults(iqd.SystemTest):
    @classmethod
    def setUpClass(cls):
        r = np.random.default_rng(11)
        cls.x = (0.2 * (r.standard_normal(SAMPLES) + 1j * r.standard_normal(SAMPLES))).astype(np.complex64)
        filtered = np.convolve(cls.x, TAPS)[:SAMPLES]
        cls.y = filtered * np.exp(2j * np.pi * ((np.arange(SAMPLES) * (FREQUENCY / RATE)) % 1.0))

    def setUp(self):
        super().setUp()
        self.recording = iqd.write_recording(self.folder / "r", self.x, RATE)
        self.count = 0

    def document(self, where, wait, block, transfer, backend="cuda"):
        return (f"source: {{file: {{path: {self.recording}}}}}\nblock: {block}\nlanes: 3\nbackend: {backend}\n"
                f"wait: {wait}\ntransfer: {transfer}\n"
                f"stages:\n  - fir: {{taps: {TAPS.tolist()}}}\n  - rotate: {{frequency: {FREQUENCY}}}\n"
                f"publish: [{{port: rotate.out, topic: t, bind: \"{where}\"}}]\n")

    def run_with(self, fault=None, wait="block", block=16384, transfer="auto", backend="cuda"):
        """Runs until iqd exits, which it must do unasked."""
        self.count += 1
        counts = self.folder / f"calls{self.count}"
        environment = {"LD_PRELOAD": LIBRARY, "IQD_CUDA_CALLS": str(counts)}
        environment |= {"IQD_CUDA_FAULT": fault} if fault else {}
        where = iqd.endpoint()
        reader = self.reader(where, "t")
        text = self.document(where, wait, block, transfer, backend)
        with self.daemon(text, "--wait-subscribers", 1, environment=environment) as daemon:
            messages = []
            while daemon.process.poll() is None and time.monotonic() < daemon.started + MOST_SECONDS:
                messages += [m for m in [reader.receive(0.05)] if m]
            self.assertIsNotNone(daemon.process.poll(), f"still running after {MOST_SECONDS} s\n{daemon.text}")
            seconds = time.monotonic() - daemon.started
            code = daemon.wait()
            messages += reader.rest(0.1)
            reader.close()
            return Outcome(code, seconds, messages, daemon, calls_in(counts))

    def assertRight(self, messages):
        """The messages are the beginning of the expected output, without a gap."""
        at = 0
        for seq, m in enumerate(messages):
            self.assertEqual((m.seq, m.sample, m.gap), (seq, at, 0))
            due = self.y[at:at + m.x.shape[0]]
            self.assertLess(np.abs(m.samples - due).max(), 2e-5, m.meta)
            at += m.x.shape[0]
        return at

    def assertWhole(self, outcome):
        self.assertEqual(outcome.code, 0, outcome.text)
        self.assertEqual(self.assertRight(outcome.messages), SAMPLES)

    def assertCounted(self, outcome):
        """A run that received samples accounts for them; a run that did not has sent none."""
        got = self.assertRight(outcome.messages)
        if not outcome.statuses:
            self.assertEqual(got, 0)
            return
        self.assertTrue(outcome.statuses[-1]["final"], outcome.text)
        status = outcome.statuses[-1]["pipelines"][0]
        self.assertConserved(status)
        self.assertEqual(got, status["published"], status)

    def assertNamed(self, outcome, error):
        lines = [line for line in outcome.log if error in line]
        self.assertEqual(len(lines), 1, f"not one line with {error}:\n{outcome.text}")

    def check(self, function, call, then="", **options):
        number, error = ERRORS.get(function, LAUNCH_FAILURE)
        fault = f"{function}:{call}:{number}{then}"
        with self.subTest(fault, **options):
            outcome = self.run_with(fault, **options)
            if not outcome.calls["faults"]:
                self.assertWhole(outcome)
                print(f"{fault}: not called that often this time", flush=True)
                return
            self.assertCounted(outcome)
            if outcome.code == 0 and function in SURVIVABLE:
                self.assertWhole(outcome)
                print(f"{fault}: survived, all results right", flush=True)
                return
            self.assertEqual(outcome.code, 1, outcome.text)
            self.assertNamed(outcome, error)
            print(f"{fault}: exited after {outcome.seconds:.1f} s, {len(outcome.messages)} messages", flush=True)

    def check_all(self, known=frozenset(), **options):
        """Checks each function that a run calls, except the known ones."""
        sound = self.run_with(**options)
        self.assertWhole(sound)
        functions = {name: n for name, n in sound.calls.items() if name != "faults" and n and name not in known}
        for function, calls in functions.items():
            self.check(function, 1, **options)
            self.check(function, late(calls), **options)
            self.check(function, late(calls), ":sticky", **options)
        return set(functions)

    def test_every_call(self):
        found = self.check_all(wait="block", block=16384, transfer="mapped")
        self.assertLessEqual({"cudaMalloc", "cudaHostAlloc", "cudaHostRegister", "cudaGraphLaunch"}, found)
        found |= self.check_all(found - {"cudaGraphLaunch"}, wait="spin", block=16384, transfer="mapped")
        found |= self.check_all(found, wait="block", block=400_000, transfer="copy")
        print(f"{len(found)} functions: {' '.join(sorted(found))}", flush=True)

    def test_calls_of_a_resident_scheduler(self):
        for function in ("cudaGraphInstantiate", "cudaGraphLaunch"):
            for then in ("", ":sticky"):
                self.check(function, 1, then, wait="resident", transfer="mapped")
        self.check("cudaStreamQuery", 1, ":sticky", wait="resident", transfer="mapped")

    def test_a_device_that_hangs(self):
        for wait in ("spin", "block", "resident"):
            with self.subTest(wait):
                sound = self.run_with(wait=wait)
                # The number varies from run to run. If the device launches, the host only starts each lane's scheduler.
                call = sound.calls["cudaGraphLaunch"] // 3 if wait != "resident" else 3
                outcome = self.run_with(f"cudaGraphLaunch:{call}:0:hang", wait=wait)
                self.assertEqual(outcome.code, 1, outcome.text)
                self.assertGreater(self.assertRight(outcome.messages), 0)
                self.assertTrue([line for line in outcome.log if "cuda:" in line], outcome.text)
                if wait == "block":  # the others declare the device failed by themselves, after the same time
                    self.assertIn("does not finish a block; it runs fir, rotate", outcome.text)
                status = outcome.statuses[-1]
                self.assertTrue(status["final"])
                p = status["pipelines"][0]
                self.assertEqual(p["received"], p["published"] + sum(p["dropped"].values()) + p["in_flight"], p)

    def test_no_device_for_auto_is_the_cpu(self):
        outcome = self.run_with("cudaGetDeviceCount:1:100:sticky", backend="auto")
        self.assertWhole(outcome)
        self.assertEqual(outcome.statuses[-1]["pipelines"][0]["backend"], "cpu")

    def test_a_device_that_is_somebody_elses(self):
        taken = "cudaFree:1:46"  # cudaErrorDevicesUnavailable, from the call that sets a device up
        outcome = self.run_with(taken, backend="auto")
        self.assertWhole(outcome)
        self.assertEqual(outcome.statuses[-1]["pipelines"][0]["backend"], "cpu")
        self.assertIn("another process has exclusive use", outcome.text)
        outcome = self.run_with(taken)
        self.assertEqual((outcome.code, outcome.messages), (1, []), outcome.text)
        self.assertIn("another process has exclusive use", outcome.text)

    def test_no_device_for_cuda_is_an_error(self):
        outcome = self.run_with("cudaGetDeviceCount:1:100:sticky")
        self.assertEqual((outcome.code, outcome.messages), (1, []), outcome.text)
        self.assertIn("device", outcome.text)


if __name__ == "__main__":
    if reason := why_not():
        print(f"NO CUDA FAULT WAS TESTED: {reason}", file=sys.stderr)
        sys.exit(77)
    unittest.main()
