# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of the shipped NOMA receivers on the live simulated radio."""

import iqd

# What the files set on the radio, and the radio's own constants.
RATE, FRAME, START, PERIOD = 30.72e6, 74528, 1001, 16
ADDRESS, MONITOR = "tcp://127.0.0.1:5555", "127.0.0.1:9464"


class NomaTest(iqd.SystemTest):
    topics = ()

    def setUp(self):
        super().setUp()
        self.where = iqd.endpoint()
        self.monitor = f"127.0.0.1:{iqd.free_port()}"

    def shipped(self, name, slower, *changes):
        """A shipped file at a lower rate, so that no machine loses samples, with its own addresses."""
        self.rate = RATE / slower
        text = (iqd.PIPELINES / f"{name}.yaml").read_text(encoding="utf-8")
        for old, new in ((ADDRESS, self.where), (MONITOR, self.monitor),
                         (f"{RATE / 1e6} MS/s", f"{self.rate} S/s"), ("block: 18632", f"block: {FRAME}"),
                         ("wait: spin", "wait: block"), *changes):
            self.assertIn(old, text)
            text = text.replace(old, new)
        return text

    def play(self, text, seconds):
        """The messages of a run by topic, the counts by (stage, event[, user]), and the final status."""
        readers = [self.reader(self.where, topic) for topic in self.topics]
        with self.daemon(text, "--seconds", seconds, "--wait-subscribers", 1) as daemon:
            self.assertEqual(daemon.wait(120), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        counted = {(e["stage"], e["event"], *([e["user"]] if "user" in e else [])): e["count"] for e in status["events"]}
        return {topic: reader.rest() for topic, reader in zip(self.topics, readers)}, counted, status
