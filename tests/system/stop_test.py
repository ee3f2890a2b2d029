# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Readers that do not read, and how iqd exits."""

import os
import signal
import subprocess
import sys
import time
import unittest

import numpy as np
import zmq

import iqd

IDLE_READER = """
import sys, time, zmq
s = zmq.Context().socket(getattr(zmq, sys.argv[2]))
s.setsockopt(zmq.RCVHWM, 1)
s.setsockopt(zmq.RCVBUF, 8192)
if sys.argv[2] == "SUB": s.setsockopt(zmq.SUBSCRIBE, b"")
s.connect(sys.argv[1])
s.recv_multipart()
print("reading", flush=True)
while True: s.recv_multipart()
"""


class Stop(iqd.SystemTest):
    def radio(self, rate=1e6, kind="pub", block=4096, more="", args="", hwm="2 MB"):
        self.where = iqd.endpoint()
        return (f"source: {{soapy: {{args: \"driver=iqdsim{args}\", rate: {rate}}}}}\nblock: {block}\n{more}"
                f"publish: [{{port: source, topic: t, bind: \"{self.where}\", kind: {kind}, hwm_bytes: {hwm}}}]\n")

    def frozen_reader(self, kind="SUB"):
        """A process that starts to read and is then stopped: its socket stays open."""
        process = subprocess.Popen([sys.executable, "-c", IDLE_READER, self.where, kind], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def freeze(self, process):
        self.assertEqual(process.stdout.readline(), b"reading\n")
        process.send_signal(signal.SIGSTOP)

    def stopped_within(self, daemon, seconds, code=0):
        began = time.monotonic()
        self.assertEqual(daemon.stop(), code, daemon.text)
        self.assertLess(time.monotonic() - began, seconds)
        self.assertConserved(daemon.final[0])

    def test_a_subscriber_that_hangs_harms_no_other(self):
        text = self.radio(rate=4e6, block=16384)
        good = self.reader(self.where, "t")
        frozen = self.frozen_reader()
        with self.daemon(text, "--wait-subscribers", 2) as daemon:
            messages = good.take(2)
            self.freeze(frozen)
            ends = time.monotonic() + 4
            while time.monotonic() < ends:
                messages += good.take(1)
            began = time.monotonic()
            daemon.signal()
            messages += good.rest_of(daemon)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            self.assertLess(time.monotonic() - began, 5)
            status = daemon.final[0]
        self.assertConserved(status)
        self.assertContinuous(messages)
        self.assertEqual((sum(status["dropped"].values()), status["lost"]), (0, 0), status)
        self.assertEqual(sum(m.x.shape[0] for m in messages), status["published"])
        self.assertGreater(status["published"], 8e6)

    def test_sigterm_publishes_what_has_arrived(self):
        text = self.radio(block=100_000)
        good = self.reader(self.where, "t")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = good.take(3)
            self.stopped_within(daemon, 5)
            messages += good.rest()
            status = daemon.final[0]
        self.assertContinuous(messages)
        self.assertEqual(sum(m.x.shape[0] for m in messages), status["received"])

    def test_sigint_is_the_same(self):
        with self.daemon(self.radio()) as daemon:
            daemon.wait_for(lambda p: p["received"] > 0)
            daemon.signal(signal.SIGINT)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            self.assertConserved(daemon.final[0])

    def test_a_puller_that_hangs(self):
        """Its queue fills, then messages are dropped and counted; the exit does not wait without limit."""
        text = self.radio(rate=4e6, kind="push", block=65536)
        frozen = self.frozen_reader("PULL")
        with self.daemon(text) as daemon:
            self.freeze(frozen)
            daemon.wait_for(lambda p: sum(p["dropped"].values()) > 0)
            self.stopped_within(daemon, 5)

    def test_push_without_a_reader(self):
        with self.daemon(self.radio(kind="push")) as daemon:
            daemon.wait_for(lambda p: sum(p["dropped"].values()) > 0)
            self.stopped_within(daemon, 5)

    def test_a_file_waits_for_its_puller(self):
        x = np.arange(200_000).astype(np.complex64)
        recording = iqd.write_recording(self.folder / "r", x)
        where = iqd.endpoint()
        text = (f"source: {{file: {{path: {recording}}}}}\nblock: 5000\npublish: [{{port: source, topic: t, "
                f"bind: \"{where}\", kind: push, hwm_bytes: 100 kB}}]\n")
        with self.daemon(text) as daemon:
            time.sleep(0.5)
            reader = self.reader(where, kind=zmq.PULL, hwm=1)
            messages = []
            for _ in range(40):
                messages += reader.take(1)
                time.sleep(0.02)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            self.assertConserved(daemon.final[0])
        np.testing.assert_array_equal(np.concatenate([m.x for m in messages]), x)

    def test_a_second_signal_ends_at_once(self):
        x = np.zeros(2_000_000, np.complex64)
        recording = iqd.write_recording(self.folder / "r", x)
        where = iqd.endpoint()
        text = (f"source: {{file: {{path: {recording}}}}}\nblock: 5000\npublish: [{{port: source, topic: t, "
                f"bind: \"{where}\", kind: push, hwm_bytes: 100 kB}}]\n")
        with self.daemon(text) as daemon:  # nobody reads, so the first signal starts a drain
            daemon.wait_for(lambda p: p["in_flight"] > 0)
            daemon.signal()
            daemon.wait_for_log("stopping")
            time.sleep(0.3)
            began = time.monotonic()
            daemon.signal()
            self.assertEqual(daemon.wait(), 1, daemon.text)
            self.assertLess(time.monotonic() - began, 1)

    def test_sigterm_while_waiting_for_subscribers(self):
        with self.daemon(self.radio(), "--wait-subscribers", 5) as daemon:
            daemon.wait_for_log("waiting for 5 subscriber(s)")
            began = time.monotonic()
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertLess(time.monotonic() - began, 2)

    def test_sighup_does_not_end_it(self):
        with self.daemon(self.radio()) as daemon:
            before = daemon.wait_for(lambda p: p["received"] > 0)
            daemon.signal(signal.SIGHUP)
            daemon.wait_for(lambda p: p["received"] > before["received"] + 1_000_000)
            self.stopped_within(daemon, 5)

    def test_seconds(self):
        with self.daemon(self.radio(), "--seconds", 1) as daemon:
            self.assertEqual(daemon.wait(), 0, daemon.text)
            self.assertAlmostEqual(daemon.statuses[-1]["uptime_s"], 1, delta=0.5)
            self.assertConserved(daemon.final[0])

    def test_subscribers_that_come_and_go(self):
        text = self.radio(rate=2e6)
        with self.daemon(text) as daemon:
            for i in range(12):
                reader = self.reader(self.where, "t" if i % 3 else "other")
                messages = reader.take(3) if i % 3 else reader.rest(0.1)
                self.assertEqual(len(messages), 3 if i % 3 else 0)
                self.assertContinuous(messages)
                reader.close()
            self.stopped_within(daemon, 5)
            self.assertEqual(sum(daemon.final[0]["dropped"].values()), 0)

    def test_what_a_subscriber_sends_harms_nothing(self):
        """Subscriptions with odd bytes and lengths, another kind of socket, and a peer that does not speak ZeroMQ."""
        import socket
        text = self.radio()
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: p["received"] > 0)
            odd = zmq.Context.instance().socket(zmq.XSUB)
            odd.connect(self.where)
            for frame in (b"\x01" + b"t" * 5000, b"\x01", b"\x00t ", b"\x07junk", b"", b"\x00" * 300):
                odd.send(frame)
            pull = zmq.Context.instance().socket(zmq.PULL)
            pull.connect(self.where)
            raw = socket.create_connection(("127.0.0.1", int(self.where.rsplit(":", 1)[1])))
            raw.sendall(os.urandom(4096))
            good = self.reader(self.where, "t")
            self.assertContinuous(good.take(50))
            self.stopped_within(daemon, 5)
            for s in (odd, pull):
                s.close(0)
            raw.close()

    def test_without_anybody(self):
        with self.daemon(self.radio()) as daemon:
            daemon.wait_for(lambda p: p["published"] > 1e6)
            self.stopped_within(daemon, 2)
            self.assertEqual(daemon.final[0]["received"], daemon.final[0]["published"])


if __name__ == "__main__":
    unittest.main()
