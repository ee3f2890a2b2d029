# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A radio retuned over HTTP: the stream and the recording state the first sample with the new settings."""

import json
import signal
import subprocess
import unittest

import numpy as np

import iqd
from door import Door

RATE = 1e6
TONE = 50e3
LEVEL = -60.0
HOME = 100e6  # the simulated radio's scenario is centred here


class Retune(iqd.SystemTest):
    def open(self, args="", more=""):
        where = iqd.endpoint()
        text = f"""name: test
source:
  soapy: {{args: "driver=iqdsim,front_end=true,frequency={TONE},level={LEVEL}{args}", rate: {RATE}, format: cf32}}
block: 10000
{more}publish: [{{port: source, topic: t, bind: "{where}"}}]
monitor: {{listen: "127.0.0.1:0"}}
"""
        reader = self.reader(where, "t")
        daemon = self.enterContext(self.daemon(text, "--wait-subscribers", 1))
        return daemon, Door(daemon), reader

    def set(self, door, **keys):
        return door.change("PATCH", "/api/stages/source", keys)

    def heard(self, message, frequency, gain):
        """How far each sample is from the signal with these settings, relative to its amplitude."""
        n = message.sample + np.arange(len(message.x))
        ideal = iqd.tone(n, TONE + HOME - frequency, RATE, level=LEVEL + gain)
        return np.abs(message.x - ideal) / 10 ** ((LEVEL + gain) / 20)

    def test_from_the_sample_that_is_told(self):
        stem = self.folder / "r"
        daemon, door, reader = self.open(
            more=f"sinks: [{{port: source, file: {{path: {stem}}}}}]\n")
        messages = reader.take(5)
        settings = [(HOME, 0)]
        for keys in ({"gain": 20}, {"frequency": 100.1e6}, {"frequency": 99.9e6, "gain": 40},
                     {"bandwidth": 500e3, "antenna": "RX"}):
            self.assertEqual(self.set(door, **keys)[0], 200)
            settings.append((keys.get("frequency", settings[-1][0]), keys.get("gain", settings[-1][1])))
            messages += self.collect(reader, lambda m: "tuned" in m.meta)
            self.assertEqual(door.status()["radio"]["tuned"], messages[-1].tuned)
            self.assertEqual(door.status()["radio"]["frequency"], settings[-1][0])
            messages += reader.take(3)
        self.assertContinuous(messages)
        self.assertEqual(door.status()["radio"]["retunes"], 4)
        series = door.series()
        self.assertEqual({v for (name, _), v in series.items() if name == "iqd_radio_retunes_total"}, {4})
        self.assertEqual({v for (name, _), v in series.items() if name == "iqd_radio_frequency_hertz"}, {99.9e6})
        self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertConserved(daemon.final[0])

        tuned = [m.tuned for m in messages if "tuned" in m.meta]
        self.assertEqual(len(tuned), 4)
        at, late = 0, []
        for m in messages:
            begins = 0
            if "tuned" in m.meta:
                begins = m.tuned - m.sample
                self.assertTrue(0 <= begins < len(m.x), m.meta)
                before = self.heard(m, *settings[at])[:begins]
                late.append(np.count_nonzero(before > 0.01))
                at += 1
            self.assertEqual(m.frequency, settings[at][0])
            self.assertLess(self.heard(m, *settings[at])[begins:].max(initial=0), 1e-3, m.meta)
        # Samples with the new settings that are reported with the old ones: while the calls into the radio last.
        self.assertLess(max(late), 0.2 * RATE)

        meta, x = iqd.read_recording(stem)
        starts = [(c["core:global_index"], c["core:frequency"]) for c in meta["captures"]]
        self.assertEqual(starts, [(0, HOME), *zip(tuned, [f for f, _ in settings[1:]])])
        self.assertEqual([c["core:sample_start"] for c in meta["captures"]], [0, *tuned])
        whole = np.concatenate([m.x for m in messages])
        np.testing.assert_array_equal(x[:len(whole)], whole)

    def test_what_the_radio_refuses_changes_nothing(self):
        daemon, door, reader = self.open()
        messages = reader.take(1)  # requests must wait while it starts
        refused = (({"frequency": 7e9}, "frequency 7000000000 is out of range (0 to 6000000000)"),
                   ({"gain": 61}, "gain 61 is out of range (0 to 60)"),
                   ({"gain": -1}, "gain -1 is out of range (0 to 60)"),
                   ({"frequency": 101e6, "gain": 90}, "gain 90 is out of range (0 to 60)"),
                   ({"antenna": "roof"}, "there is no antenna 'roof'; there are: RX"),
                   ({"bandwidth": 1}, "bandwidth 1 is out of range (1000 to 500000000)"))
        for keys, words in refused:
            status, answer = self.set(door, **keys)
            self.assertEqual(status, 422, answer)
            self.assertIn(words, json.dumps(answer))
        messages += reader.take(5)
        self.assertEqual(daemon.stop(), 0, daemon.text)
        for _, words in refused:
            self.assertEqual([line.count(words) for line in daemon.log if words in line], [1], daemon.text)
        messages += reader.rest()
        self.assertEqual({(m.frequency, "tuned" in m.meta) for m in messages}, {(HOME, False)})
        self.assertContinuous(messages)

    def test_what_the_radio_refuses_in_a_reload_changes_nothing(self):
        for ask in (lambda d, door: d.signal(signal.SIGHUP), lambda d, door: door.change("POST", "/api/reload")):
            daemon, door, reader = self.open()
            messages = reader.take(1)
            path = self.folder / "pipeline.yaml"
            path.write_text(path.read_text(encoding="utf-8").replace("format: cf32", "format: cf32, gain: 90"),
                            encoding="utf-8")
            answer = ask(daemon, door)
            words = "gain 90 is out of range (0 to 60)"
            daemon.wait_for_log(words)
            if answer:
                self.assertEqual(answer[0], 422, answer)
                self.assertIn(words, answer[1]["problems"][0])
            messages += reader.take(5)
            self.assertEqual(daemon.text.count(words), 1, daemon.text)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            messages += reader.rest()
            self.assertContinuous(messages)

    def test_what_the_radio_refuses_when_it_is_opened(self):
        daemon, door, reader = self.open()
        reader.take(1)
        status, answer = self.set(door, rate=2e6, gain=90)
        self.assertEqual(status, 422, answer)
        self.assertIn("gain 90 is out of range (0 to 60)", json.dumps(answer))
        self.assertEqual(door.status()["sample_rate"], RATE)
        self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_another_rate_begins_anew(self):
        daemon, door, reader = self.open(args=",rate_grid=500000")
        before = reader.take(3)
        status, answer = self.set(door, rate=2e6)
        self.assertEqual((status, answer), (200, {"applied": ["test: source.rate changed, pipeline restarted"]}), daemon.text)
        first = self.collect(reader, lambda m: m.sample_rate == 2e6)[-1]
        self.assertLess(first.sample, 1e6)
        n = first.sample + np.arange(len(first.x))
        np.testing.assert_allclose(first.x, iqd.tone(n, TONE, 2e6, level=LEVEL), atol=1e-6)
        self.assertGreater(first.time_ns, before[-1].time_ns)
        self.assertEqual(door.status()["sample_rate"], 2e6)
        # A rate that the radio does not grant: the old one stays.
        status, answer = self.set(door, rate=2.1e6)
        self.assertEqual(status, 422, answer)
        self.assertIn("the radio grants 2000000", json.dumps(answer))
        self.assertEqual(door.status()["sample_rate"], 2e6)
        self.assertEqual(self.collect(reader, lambda m: m.sample_rate == 2e6)[-1].frequency, HOME)
        self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertConserved(daemon.final[0])

    def test_a_recording_and_a_relay_pass_it_on(self):
        """A daemon that plays a recording passes its retunes on to a daemon that reads from it, and to `iqd sub`."""
        between, where = iqd.endpoint(), iqd.endpoint()
        captures = [{"core:sample_start": 0, "core:frequency": 100e6}, {"core:sample_start": 5000, "core:frequency": 101e6}]
        path = iqd.write_recording(self.folder / "r", np.arange(20000).astype(np.complex64), rate=RATE, captures=captures)
        text = f"""pipelines:
  - name: player
    source: {{file: {{path: {path}}}}}
    block: 4096
    publish: [{{port: source, topic: t, kind: push, bind: "{between}"}}]
  - name: relay
    source: {{zmq: {{kind: pull, connect: "{between}", rate: {RATE}}}}}
    block: 2000
    publish: [{{port: source, topic: t, bind: "{where}"}}]
"""
        reader = self.reader(where, "t")
        with subprocess.Popen([iqd.IQD, "sub", where, "t", "--count", "10"], stdout=subprocess.PIPE, text=True) as sub:
            with self.daemon(text, "--wait-subscribers", 2) as daemon:
                messages = reader.take(10)
                self.assertEqual(daemon.stop(), 0, daemon.text)
            lines = sub.communicate(timeout=iqd.PATIENCE)[0]
        np.testing.assert_array_equal(np.concatenate([m.x for m in messages]), np.arange(20000))
        self.assertEqual([m.meta.get("tuned") for m in messages], [0, None, 5000, *[None] * 7])
        self.assertEqual([m.frequency for m in messages], [100e6] * 2 + [101e6] * 8)
        self.assertRegex(lines, r"(?m)^seq 2  sample 4000 .*  tuned from sample 5000 to 101000000\.0 Hz")


if __name__ == "__main__":
    unittest.main()
