# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Hostile peers, subscribers that never read, and reloads in between: good subscribers lose nothing, no peer takes more
memory than docs/limits.md says, the counters are right, and SIGTERM ends iqd within 5 s."""

import threading
import time
import unittest

import zmq

import iqd
import limits_test
from hostile_peer import HostilePeer, announcement, frame, subscription

SOURCE = "source: {soapy: {args: driver=iqdsim, rate: 2e6}}\n"
END_SECONDS = 5


def entry(where, topic="t", kind="pub", more=""):
    return f"  - {{port: source, topic: {topic}, kind: {kind}, bind: \"{where}\"{more}}}\n"


class Attack:
    """Peers that each send `words(i)` for i = 0, 1, …, and reconnect when they are cut off."""

    def __init__(self, where, kind, peers, words):
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(where, kind, words, p)) for p in range(peers)]
        for thread in self._threads:
            thread.start()

    def _run(self, where, kind, words, number):
        while not self._stop.wait(0.02):
            try:
                peer = HostilePeer(where, kind)
            except OSError:
                continue
            for i in range(100_000):
                if self._stop.is_set() or not peer.say(words(100_000 * number + i)):
                    break
            peer.close()

    def end(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()


class Hostile(iqd.SystemTest):
    def expect_next(self, reader, seconds, *topics):
        """Reads for this long: no topic misses a message or has a gap."""
        ends = time.monotonic() + seconds
        seen = {}
        while time.monotonic() < ends:
            message = reader.take(1)[0]
            if message.topic in seen:
                self.assertEqual(message.seq, seen[message.topic] + 1)
                if not iqd.SANITIZED:  # a sanitized build cannot keep up
                    self.assertEqual(message.gap, 0)
            seen[message.topic] = message.seq
        for topic in topics:
            self.assertIn(topic, seen)

    def expect_end(self, daemon):
        began = time.monotonic()
        self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertLess(time.monotonic() - began, END_SECONDS)

    def test_readers_stay_when_a_reload_makes_messages_larger(self):
        for kind in ("pub", "push"):
            where = iqd.endpoint()
            text = f"{SOURCE}block: 65536\npublish:\n{entry(where, kind=kind)}"
            reader = self.reader(where, "t", kind=zmq.SUB if kind == "pub" else zmq.PULL)
            with self.daemon(text, "--wait-subscribers", 1 if kind == "pub" else 0) as daemon:
                self.expect_next(reader, 2.5)
                self.reload(daemon, text.replace("65536", "262144"))
                while reader.take(1)[0].shape[0] != 262144:
                    pass
                self.expect_next(reader, 1.5)
                # Another topic, of messages twice as large, at the same endpoint.
                more = text.replace("65536", "262144") + entry(where, topic="u", kind=kind).replace("source", "convert.out")
                self.reload(daemon, more.replace("publish:", "stages: [convert: {dtype: cf32}]\npublish:"))
                self.expect_next(reader, 1.5, "t")
                self.expect_end(daemon)
            reader.close()

    def test_subscribers_cannot_take_memory_or_time(self):
        attacks = {
            "long subscriptions": lambda i: b"".join(subscription(b"%08d%s" % (i * 50 + k, b"x" * 490)) for k in range(50)),
            "many subscriptions": lambda i: b"".join(subscription(b"%d" % (i * 500 + k)) for k in range(500)),
            "long messages between empty ones": lambda i: frame(bytes(60_000)) + frame(b""),
            "empty messages": lambda i: frame(b"") * 1000,
            "announcements": lambda i: announcement(2 << 30) + bytes(100),
        }
        for name, words in attacks.items():
            with self.subTest(name):
                where = iqd.endpoint()
                text = f"{SOURCE}block: 8192\npublish:\n{entry(where)}"
                reader = self.reader(where, "t")
                with self.daemon(text, "--wait-subscribers", 1) as daemon:
                    reader.take(50)
                    before = limits_test.megabytes(daemon.process.pid, "VmRSS")
                    attack = Attack(where, "SUB", 4, words)
                    try:
                        self.expect_next(reader, 2)
                        most = limits_test.megabytes(daemon.process.pid, "VmHWM")
                        self.expect_end(daemon)
                    finally:
                        attack.end()
                    if not iqd.SANITIZED:
                        self.assertLess(most - before, 64)
                    # A busy machine may read too few empty messages to cut the peer off.
                    if name != "empty messages":
                        self.assertGreater(daemon.final[0]["endpoints"][0]["cut_off"], 0)
                        self.assertIn("was disconnected: it sent", daemon.text)
                    self.assertConserved(daemon.final[0])
                reader.close()

    def test_who_sends_to_a_source_is_bounded_too(self):
        where = iqd.endpoint()
        text = (f"source: {{zmq: {{kind: pull, bind: \"{where}\", rate: 1e6, element: sc16}}}}\nblock: 1000\n"
                f"publish:\n{entry(iqd.endpoint())}")
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda p: True)
            before = limits_test.megabytes(daemon.process.pid, "VmRSS")
            attack = Attack(where, "PUSH", 8, lambda i: announcement(2 << 30) + bytes(250))
            try:
                daemon.wait_for_log("was disconnected: it sent a message of more than 1048576 bytes")
                time.sleep(1)
                if not iqd.SANITIZED:
                    self.assertLess(limits_test.megabytes(daemon.process.pid, "VmHWM") - before, 64)
                self.expect_end(daemon)
            finally:
                attack.end()

    def test_what_a_sink_still_loses_keeps_its_length(self):
        """A push sink that nobody reads: long blocks wait when short ones come, and vice versa."""
        for lengths in ((524288, 1000), (1000, 524288)):
            where = iqd.endpoint()
            text = (f"{SOURCE}block: {lengths[0]}\nsinks:\n"
                    f"  - {{port: source, zmq: {{kind: push, bind: \"{where}\", wait: 2 s}}}}\n")
            with self.daemon(text) as daemon:
                daemon.wait_for(lambda p: p["received"] > 1_500_000)
                self.reload(daemon, text.replace(str(lengths[0]), str(lengths[1])))
                received = daemon.statuses[-1]["pipelines"][0]["received"]
                daemon.wait_for(lambda p, r=received: p["received"] > r + 1_500_000)
                self.expect_end(daemon)
            self.assertConserved(daemon.final[0])
            self.assertEqual(daemon.final[0]["published"], 0)

    def reload(self, daemon, text):
        (self.folder / "pipeline.yaml").write_text(text, encoding="utf-8")
        reloads = daemon.statuses[-1]["pipelines"][0]["reloads"] if daemon.statuses else 0
        daemon.signal(iqd.signal.SIGHUP)
        daemon.wait_for(lambda p: p["reloads"] > reloads)


if __name__ == "__main__":
    unittest.main()
