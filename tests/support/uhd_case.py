# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the tests with a simulated USRP. Its samples contain their own numbers."""

import sys
import time
import unittest

import numpy as np

import iqd
import uhd_sim

PERIOD = 1000 * uhd_sim.PACKET_SAMPLES


def numbered(n):
    """Samples that contain their own numbers: 14 bits in I, the others in Q."""
    n = np.asarray(n) % PERIOD
    return np.stack([n & 0x3FFF, n >> 14], -1).astype(np.int16)


def number_of(x):
    return int(x[1]) << 14 | int(x[0])


class UhdCase(iqd.SystemTest):
    def run(self, result=None):
        """A failing test gets a second try: on a busy machine, libuhd loses calls to the simulator."""
        first = unittest.TestResult()
        super().run(first)
        if first.failures or first.errors:
            print(f"{self.id()} failed, trying again:\n{(first.failures + first.errors)[0][1]}", flush=True)
            super().run(result)
            return
        result.startTest(self)
        for _, reason in first.skipped:
            result.addSkip(self, reason)
        if not first.skipped:
            result.addSuccess(self)
        result.stopTest(self)

    def simulator(self, **options):
        sim = uhd_sim.UhdSim(self.folder, numbered(np.arange(PERIOD)), **options)
        self.addCleanup(sim.kill)
        return sim

    def document(self, rate=1e6, args=uhd_sim.ARGS, gain=30, keys="", block=65536):
        """A receiver of a second's worth of blocks, so that a busy machine loses none."""
        self.where = iqd.endpoint()
        self.subscriber = self.reader(self.where, "t")
        return (f"name: test\n"
                f"source: {{uhd: {{args: \"{args}\", rate: {rate}, frequency: 1 GHz, gain: {gain}{keys}}}}}\n"
                f"block: {block}\nlanes: 16\nstages: []\n"
                f"publish: [{{port: source, topic: t, bind: \"{self.where}\"}}]\n")

    def read_while(self, daemon, condition, seconds=iqd.PATIENCE):
        """All messages until a status meets `condition`, which gets the pipeline's status."""
        return self.read_until(daemon, lambda status: condition(status["pipelines"][0]), seconds)

    def read_until(self, daemon, condition, seconds=iqd.PATIENCE):
        messages, ends, seen = [], time.monotonic() + seconds, len(daemon.statuses)
        while time.monotonic() < ends:
            messages += [m for m in [self.subscriber.receive(0.05)] if m]
            if any(condition(s) for s in daemon.statuses[seen:]):
                return messages
        raise AssertionError(f"that did not happen: {daemon.statuses[-1:]}\n{daemon.text}")

    def stop(self, daemon):
        """SIGTERM: the remaining messages, and the last status. iqd exits within 5 s."""
        began = time.monotonic()
        daemon.signal()
        messages = self.subscriber.rest_of(daemon)
        self.assertEqual(daemon.wait(), 0, daemon.text)
        self.assertLess(time.monotonic() - began, 5, daemon.text)
        return messages, daemon.final[0]

    def assertNumbered(self, messages, channel=None):
        """Each sample is the one that its header says, across all gaps."""
        of = (lambda m: m.x) if channel is None else (lambda m: m.x[channel])
        first = number_of(of(messages[0])[0]) - messages[0].sample
        for m in messages:
            due = numbered(first + m.sample + np.arange(len(of(m))))
            self.assertTrue(np.array_equal(of(m), due), (m.meta, number_of(of(m)[0]), number_of(due[0])))

    def assertAccounted(self, messages, status):
        self.assertConserved(status)
        self.assertEqual(sum(len(m.x) for m in messages), status["published"])
        self.assertEqual([m.seq for m in messages], list(range(len(messages))))
        self.assertNumbered(messages)

    def write(self, text):
        path = self.folder / "pipeline.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    def refused(self, text, code=1):
        """What `iqd run` prints for a file that it cannot start."""
        began = time.monotonic()
        done = iqd.command("run", self.write(text))
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertLess(time.monotonic() - began, iqd.PATIENCE)
        return done.stderr


def main():
    """Runs the tests in their own network namespace; skips, with 77, if there can be none."""
    if reason := uhd_sim.enter_namespace():
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main()
