# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Results that set live keys of another pipeline: set once, set again, refused, and mixed with PATCH and reload."""

import os
import time
import unittest

import numpy as np

import iqd
from door import Door

BACKEND = os.environ.get("IQD_BACKEND", "cpu")
RADIO = "{soapy: {args: \"driver=iqdsim,scenario=tone,serial=%s,frequency=125000\", rate: 1 MS/s, format: cf32}}"
LEARN = """
  stages:
  - multiply_const: {name: level, value: 2}
  - aph_predistorter: {}"""
PEAK = "{port: aph_predistorter.peak, to: send/multiply_const.value}"


def file(where, apply=PEAK, learn=LEARN, source=RADIO % "learn", send="- multiply_const: {value: 0.5}",
         port="multiply_const"):
    """`learn` measures a tone of 0.1 times two; `send` sends such a tone times a value."""
    return f"""pipelines:
- name: learn
  source: {source}
  block: 10000
  backend: {BACKEND}{learn}
  apply:
  - {apply}
- name: send
  source: {RADIO % "send"}
  block: 10000
  backend: {BACKEND}
  stages:
  {send}
  publish:
  - {{port: {port}, topic: x, bind: "{where}"}}
monitor: {{listen: "127.0.0.1:0"}}
"""


class Apply(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.where = iqd.endpoint()

    def open(self, **options):
        daemon = self.enterContext(self.daemon(file(self.where, **options)))
        return daemon, Door(daemon), self.reader(self.where, "x")

    def until(self, reader, condition, most=4000):
        for _ in range(most):
            if condition(message := reader.take(1)[0]):
                return message
        self.fail(f"no such message among {most}")

    def until_factor(self, reader, factor):
        """The first message in which the tone is scaled by `factor`."""
        return self.until(reader, lambda m: np.allclose(np.abs(m.x) / 0.1, factor, rtol=1e-3))

    def port(self, door):
        return door.status()["ports"][0]

    def wait_for(self, door, condition):
        ends = time.monotonic() + iqd.PATIENCE
        while not condition(port := self.port(door)):
            self.assertLess(time.monotonic(), ends, port)
            time.sleep(0.05)
        return port

    def test_each_new_value_is_set(self):
        daemon, door, reader = self.open()
        self.until_factor(reader, 0.2)
        port = self.wait_for(door, lambda p: p["messages"])
        self.assertEqual((port["port"], port["to"]), ("aph_predistorter.peak", "apply send/multiply_const.value"))
        for value in (4, 8):
            self.assertEqual(door.change("PATCH", "/api/pipelines/learn/stages/level", {"value": value})[0], 200)
            self.until_factor(reader, 0.1 * value)
        port = self.wait_for(door, lambda p: p["messages"] >= 3)
        self.assertEqual(port["refused"], 0)
        labels = frozenset({("pipeline", "learn"), ("port", port["port"]), ("topic", port["to"])})
        self.assertGreaterEqual(door.series()["iqd_port_messages_total", labels], 3)
        self.assertEqual(daemon.text.count("apply send/multiply_const.value"), 1, daemon.text)
        self.assertEqual(daemon.stop(), 0)
        for status in daemon.final:
            self.assertConserved(status)
        self.assertEqual(daemon.final[0]["dropped"]["refused"], 0, "an `apply` delays no other outlet")

    def test_what_people_set_holds_until_the_value_changes_and_a_file_until_there_is_one(self):
        _, door, reader = self.open()
        self.until_factor(reader, 0.2)
        self.wait_for(door, lambda p: p["messages"] == 1)
        self.assertEqual(door.change("PATCH", "/api/pipelines/send/stages/multiply_const", {"value": 3})[0], 200)
        self.until_factor(reader, 3)
        for message in reader.take(30):
            np.testing.assert_allclose(np.abs(message.x), 0.3, rtol=1e-3)
        self.assertEqual(self.port(door)["messages"], 1, "the value did not change")
        status, answer = door.change("POST", "/api/reload")
        self.assertEqual(status, 200, answer)
        self.assertIn("multiply_const.value", str(answer), "the file says 0.5")
        self.until_factor(reader, 0.2)
        self.wait_for(door, lambda p: p["messages"] == 2)

    def test_entries_come_and_go_with_the_file(self):
        _, door, reader = self.open()
        self.until_factor(reader, 0.2)
        text = file(self.where).replace(PEAK, PEAK.replace("multiply_const.value", "source.gain"))
        (self.folder / "pipeline.yaml").write_text(text, encoding="utf-8")
        status, answer = door.change("POST", "/api/reload")
        self.assertEqual(status, 200, answer)
        self.assertIn("learn: apply changed between two blocks", str(answer))
        self.until_factor(reader, 0.5)
        self.assertEqual(self.wait_for(door, lambda p: p["messages"])["to"], "apply send/source.gain")

    def test_a_list_of_a_pipeline_that_has_ended(self):
        """The last value remains, and reaches a filter's taps unchanged."""
        size, blocks = 8, 3
        x = np.random.default_rng(5).normal(size=(blocks * 10000, 2)).astype(np.float32).view(np.complex64)[:, 0]
        iqd.write_recording(self.folder / "noise", x)
        daemon, door, reader = self.open(
            source=f"{{file: {{path: {self.folder}/noise}}}}", learn=f"\n  stages: [spectrum: {{size: {size}}}]",
            apply="{port: spectrum, to: send/fir.taps}", send=f"- fir: {{taps: {[0.0] * size}}}", port="fir")
        taps = self.spectrum(x[-10000:], size)
        response = (taps * np.exp(-2j * np.pi * 0.125 * np.arange(size))).sum()
        self.until(reader, lambda m: np.allclose(m.x, response * iqd.tone(m.sample + np.arange(len(m.x)), 125e3, 1e6),
                                                 rtol=0, atol=1e-4 * abs(response)))
        self.assertEqual(door.status()["state"], "ended")
        self.assertIn(self.port(door)["messages"], range(1, blocks + 1))
        self.assertEqual(daemon.stop(), 0)

    def spectrum(self, x, size):
        """The stage's output for these samples."""
        np.save(self.folder / "x.npy", x)
        done = iqd.command("exec", "spectrum", "--config", f"size={size}", "--whole", "--in",
                           f"in={self.folder}/x.npy", "--out", f"out={self.folder}/y.npy")
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.load(self.folder / "y.npy").reshape(-1).astype(np.float64)

    def test_a_value_that_is_refused_is_counted_and_told_once_and_sending_goes_on(self):
        daemon, door, reader = self.open(
            learn="\n  stages: [spectrum: {size: 16}]", send="- aph_predistorter: {}", port="aph_predistorter.out",
            apply="{port: spectrum, to: send/aph_predistorter.coefficients}")
        self.until_factor(reader, 1)
        self.assertEqual(self.wait_for(door, lambda p: p["refused"] >= 3)["messages"], 0)
        self.until_factor(reader, 1)
        told = [line for line in daemon.log if "was refused" in line]
        self.assertEqual(len(told), 1, daemon.text)
        self.assertIn("coefficients: has 16", told[0])
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(daemon.final[0]["dropped"]["refused"], 0)

    def test_a_value_that_the_radio_refuses_is_told_once(self):
        daemon, door, reader = self.open(apply="{port: aph_predistorter.peak, to: send/source.gain}")
        self.wait_for(door, lambda p: p["messages"] >= 1)
        for n, value in enumerate((1000, 2000), 1):
            self.assertEqual(door.change("PATCH", "/api/pipelines/learn/stages/level", {"value": value})[0], 200)
            self.wait_for(door, lambda p, n=n: p["refused"] >= n)
        self.assertEqual(door.change("PATCH", "/api/pipelines/learn/stages/level", {"value": 50})[0], 200)
        self.wait_for(door, lambda p: p["messages"] >= 2)
        told = [line for line in daemon.log if "is out of range (0 to 60)" in line]
        self.assertEqual(len(told), 1, daemon.text)
        self.assertIn("the previous one stays", told[0])
        reader.take(3)
        self.assertEqual(daemon.stop(), 0)
        for status in daemon.final:
            self.assertConserved(status)

    def test_a_pipeline_may_end_before_its_key_is_set(self):
        """A value for a pipeline that has ended is refused; the pipeline that sends it keeps running."""
        iqd.write_recording(self.folder / "short", np.zeros(20000, np.complex64))
        text = file(self.where).replace(RADIO % "send", f"{{file: {{path: {self.folder}/short}}}}")
        daemon = self.enterContext(self.daemon(text))
        door = Door(daemon)
        for value in (3, 4):
            door.change("PATCH", "/api/pipelines/learn/stages/level", {"value": value})
            self.wait_for(door, lambda p, v=value: p["refused"] >= v - 2)
        daemon.wait_for_log("send has ended")
        self.assertEqual(daemon.stop(), 0)

    def test_check_and_explain(self):
        path = self.folder / "pipeline.yaml"
        path.write_text(file(self.where), encoding="utf-8")
        self.assertIn("send/multiply_const.value", iqd.command("explain", path).stdout)
        for apply, words in (
                ("{port: level, to: send/multiply_const.value}", "one value per block"),
                ("{port: aph_predistorter.events, to: send/multiply_const.value}", "takes one number"),
                ("{port: aph_predistorter.peak, to: send/multiply_const.valu}", "did you mean 'value'?"),
                ("{port: aph_predistorter.peak, to: sent/multiply_const.value}", "did you mean 'send'?"),
                ("{port: aph_predistorter.peak, to: aph_predistorter.taps}", "live keys of aph_predistorter"),
                ("{port: aph_predistorter.peak, to: aph_predistorter.basis}", "basis takes no numbers")):
            with self.subTest(apply=apply):
                path.write_text(file(self.where, apply=apply), encoding="utf-8")
                done = iqd.command("check", path)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
