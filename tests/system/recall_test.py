# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Streams combined by time: sinks and a source `recall` in several pipelines of one process."""

import os
import time
import unittest

import numpy as np

import iqd
from door import Door

BACKEND = os.environ.get("IQD_BACKEND", "cpu")
SAMPLES = 3000
DELAY = 20e-3  # of the second stream
RATE = 1e6
TONE = 125000
PHASE = 2 * np.pi * TONE / RATE
RADIO = f"{{soapy: {{args: \"driver=iqdsim,scenario=tone,serial=%s,frequency={TONE}\", rate: 1 MS/s, format: cf32}}}}"


def file(where, every="50 ms", names="[a, b]", block=SAMPLES, more=""):
    """A tone and its conjugate as two streams; the second has a `delay`."""
    return f"""pipelines:
- name: sums
  source: {RADIO % "sums"}
  block: 1000
  stages:
  - rotate: {{frequency: 777 Hz}}
  - conjugate: {{}}
  sinks:
  - {{port: rotate.out, recall: {{name: a, keep: 500 ms}}}}
  - {{port: conjugate.out, recall: {{name: b, keep: 500 ms, delay: {DELAY} s}}}}
- name: captures
  source: {{recall: {{names: {names}, rate: 1 MS/s, samples: {SAMPLES}, every: {every}{more}}}}}
  block: {block}
  backend: {BACKEND}
  stages:
  - select_channels: {{channels: [1, 0]}}
  publish:
  - {{port: select_channels.out, topic: x, bind: "{where}"}}
monitor: {{listen: "127.0.0.1:0"}}
"""


class Recall(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.where = iqd.endpoint()

    def open(self, **options):
        daemon = self.enterContext(self.daemon(file(self.where, **options)))
        return daemon, Door(daemon), self.reader(self.where, "x")

    def assertCapture(self, message):
        """b is conj(a) from `DELAY` earlier, at the phase of that time."""
        self.assertEqual(message.x.shape, (2, SAMPLES))
        b, a = message.x
        self.assertTrue(np.all(a != 0))
        step = a[1:] / a[:-1]
        np.testing.assert_allclose(step, np.exp(1j * (PHASE + 2 * np.pi * 777 / RATE)), atol=1e-4)
        np.testing.assert_allclose(b * a / (b[0] * a[0]), np.ones(SAMPLES), atol=1e-3)
        turns = (TONE + 777) * DELAY
        np.testing.assert_allclose(b[0] * a[0] / 0.01, np.exp(2j * np.pi * turns), atol=1e-3)

    def test_captures_of_the_same_time(self):
        daemon, _, reader = self.open()
        messages = reader.take(8)
        for m in messages:
            self.assertCapture(m)
            self.assertEqual(m.gap, 0)
            self.assertEqual(m.sample % SAMPLES, 0)
        self.assertEqual([m.sample for m in messages], [messages[0].sample + SAMPLES * i for i in range(8)])
        times = np.diff([m.time_ns for m in messages])
        self.assertTrue(np.all(times >= SAMPLES * 1000), times)
        self.assertEqual(daemon.stop(), 0)
        status = daemon.final[1]
        self.assertConserved(status)
        self.assertEqual((status["lost"], status["time_jumps"], status["stalls"], status["reconnects"]), (0, 0, 0, 0))

    def test_a_capture_is_a_block_of_its_own(self):
        _, _, reader = self.open(every="0", block=3 * SAMPLES)
        for m in reader.take(8):
            self.assertCapture(m)

    def test_on_command(self):
        _, door, reader = self.open(every="none")
        door.wait_for_state("/readyz", 200)
        self.assertEqual(len(reader.rest(0.3)), 0)
        for again in (1, 5):
            answer = door.change("PATCH", "/api/pipelines/captures/stages/source", {"again": again})
            self.assertEqual(answer[0], 200, answer)
            self.assertCapture(reader.take(1)[0])
        self.assertEqual(len(reader.rest(0.3)), 0)

    def test_what_nobody_keeps_is_zeros(self):
        daemon, _, reader = self.open(names="[a, missing]", more=", patience: 300 ms")
        missing, a = reader.take(1)[0].x
        self.assertTrue(np.all(missing == 0))
        self.assertTrue(np.all(a != 0))
        daemon.wait_for_log("nothing comes to 'missing'")
        time.sleep(0.3)
        self.assertEqual(daemon.text.count("nothing comes to 'missing'"), 1)

    def test_sinks_go_on_over_a_reload(self):
        _, door, reader = self.open(every="0")
        self.assertCapture(reader.take(1)[0])
        text = (self.folder / "pipeline.yaml").read_text(encoding="utf-8")
        text = text.replace("block: 1000", "block: 500").replace("keep: 500 ms}", "keep: 400 ms}")
        (self.folder / "pipeline.yaml").write_text(text, encoding="utf-8")
        status, answer = door.change("POST", "/api/reload")
        self.assertEqual(status, 200, answer)
        for m in reader.take(30):
            self.assertCapture(m)


if __name__ == "__main__":
    unittest.main()
