# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Frequencies behind stages, in headers, recordings and over HTTP: before and after retunes and live changes."""

import itertools
import json
import struct
import unittest

import numpy as np

import iqd
from door import Door

RATE = 1e6
HOME = 100e6        # the simulated radio's scenario is centred here
ON_AIR = HOME + 50e3  # and its tone is here, however the radio is tuned

SOURCE = f"""name: test
source:
  soapy: {{args: "driver=iqdsim,front_end=true,frequency=50e3,level=-20", rate: {RATE}, frequency: {HOME}, format: cf32}}
block: 10000
monitor: {{listen: "127.0.0.1:0"}}
"""
CHAIN = """stages:
  - rotate: {frequency: -40 kHz}
  - fir: {decimation: 2, design: {type: low_pass, cutoff: 200 kHz, transition: 40 kHz}}
  - spectrum: {size: 500}
  - fft: {size: 500, shift: true, from: rotate}
  - complex_to_mag_squared: {}
  - quadrature_demod: {from: rotate, name: fm}
"""


def axis(message, dim="bin"):
    """The frequencies of a dimension's entries."""
    described = message.axes[dim]
    if "values" in described:
        return np.array(described["values"])
    return described["first"] + described["step"] * np.arange(message.x.shape[message.dims.index(dim)])


class Frequency(iqd.SystemTest):
    def patch(self, door, stage, **keys):
        status, answer = door.change("PATCH", f"/api/stages/{stage}", keys)
        self.assertEqual(status, 200, answer)

    def test_headers_follow_the_radio_and_the_stages(self):
        where, stem, array = iqd.endpoint(), self.folder / "r", self.folder / "s"
        ports = {"moved": "rotate", "filtered": "fir", "lines": "spectrum", "bins": "complex_to_mag_squared", "fm": "fm"}
        text = SOURCE + CHAIN + "publish:\n" + "".join(
            f"  - {{port: {port}, topic: {topic}, bind: \"{where}\"}}\n" for topic, port in ports.items())
        text += (f"sinks:\n  - {{port: fir, file: {{path: {stem}}}}}\n"
                 f"  - {{port: spectrum, file: {{path: {array}.npy}}}}\n")
        readers = {topic: self.reader(where, topic) for topic in ports}
        daemon = self.enterContext(self.daemon(text, "--wait-subscribers", len(ports)))
        door = Door(daemon)
        expected = []
        radio, moved = HOME, -40e3
        for stage, keys in (("source", {}), ("source", {"frequency": 100.1e6}), ("rotate", {"frequency": -70e3}),
                            ("source", {"frequency": 99.98e6}), ("rotate", {"frequency": 20e3})):
            if keys:
                self.patch(door, stage, **keys)
            radio, moved = (keys.get("frequency", radio), moved) if stage == "source" else (radio, keys["frequency"])
            centre = radio - moved
            expected.append(centre)
            for topic, reader in readers.items():
                if topic == "fm":
                    continue
                m = self.collect(reader, lambda m: m.frequency == centre)[-1]
                m = reader.take(1)[0]
                self.assertEqual(m.frequency, centre, topic)
                if topic in ("lines", "bins"):
                    found = axis(m)[np.argmax(m.x.reshape(-1, 500)[-1])]
                    self.assertLessEqual(abs(found - ON_AIR), m.axes["bin"]["step"], (topic, m.meta))
                    self.assertEqual(m.span, 400e3 if topic == "lines" else RATE)
                else:
                    self.assertNotIn("axes", m.meta)
                    self.assertEqual(m.meta.get("span"), {"moved": None, "filtered": 400e3}[topic])
            plan = json.loads(door.get("/api/pipeline"))["pipelines"][0]
            at = {port["name"]: port for port in plan["ports"]}
            self.assertEqual(at["source"]["frequency"], radio)
            self.assertEqual(at["fir.out"]["frequency"], centre)
            self.assertEqual(at["fir.out"]["span"], 400e3)
            self.assertEqual(at["spectrum.out"]["axes"]["bin"]["first"], centre - RATE / 4)
            self.assertEqual(at["fm.out"]["frequency"], 0)
        self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertEqual({m.frequency for m in readers["fm"].rest()}, {0})

        meta, _ = iqd.read_recording(stem)
        # A busy machine may lose samples, which begins a capture too.
        self.assertEqual([f for f, _ in itertools.groupby(c["core:frequency"] for c in meta["captures"])], expected)
        facts = json.loads(array.with_suffix(".json").read_text())
        self.assertEqual(facts["frequency"], expected[0])
        self.assertEqual(facts["span"], 400e3)
        self.assertEqual(facts["axes"], {"bin": {"first": expected[0] - RATE / 4, "step": 1000, "unit": "Hz"}})
        self.assertEqual([t["frequency"] for t in facts["tuned"]], expected[1:])
        spectra = np.load(array.with_suffix(".npy"))
        for change in [{"row": 0, "frequency": expected[0]}, *facts["tuned"]]:
            bins = facts["axes"]["bin"]["first"] + 1000 * np.arange(500) + change["frequency"] - facts["frequency"]
            if change["row"] + 1 < len(spectra):
                self.assertLessEqual(abs(bins[np.argmax(spectra[change["row"] + 1])] - ON_AIR), 1000, change)

    def test_radio_and_stage_change_together(self):
        """The signal stays in the middle while the radio moves: a reload of both keys."""
        where, stem = iqd.endpoint(), self.folder / "r"
        text = SOURCE + "stages: [{rotate: {frequency: -50 kHz}}]\n" + \
            f"publish: [{{port: rotate, topic: t, bind: \"{where}\"}}]\nsinks: [{{port: rotate, file: {{path: {stem}}}}}]\n"
        reader = self.reader(where, "t")
        daemon = self.enterContext(self.daemon(text, "--wait-subscribers", 1))
        door = Door(daemon)
        self.assertEqual(reader.take(2)[-1].frequency, ON_AIR)
        path = self.folder / "pipeline.yaml"
        path.write_text(text.replace(f"frequency: {HOME}", "frequency: 100.2e6").replace("-50 kHz", "150 kHz"))
        status, answer = door.change("POST", "/api/reload")
        self.assertEqual(status, 200, answer)
        messages = self.collect(reader, lambda m: "tuned" in m.meta)
        messages += reader.take(3)
        self.assertEqual(messages[-1].frequency, ON_AIR)
        self.assertEqual(daemon.stop(), 0, daemon.text)
        meta, x = iqd.read_recording(stem)
        captures = meta["captures"]
        self.assertEqual(captures[-1]["core:frequency"], ON_AIR)
        # From each capture's frequency follows the tone's in its samples. Some samples before the retune may already
        # have the new setting, so only its first are compared.
        for capture in captures:
            first = capture["core:sample_start"]
            part = x[first:first + 50]
            turns = np.angle(np.mean(part[1:] * np.conj(part[:-1]))) / (2 * np.pi) * RATE
            self.assertLess(abs(capture["core:frequency"] + turns - ON_AIR), 2000, (captures, first))

    def test_a_recording_is_played_where_it_was_taken(self):
        stem, where = self.folder / "r", iqd.endpoint()
        text = SOURCE + "stages: [{rotate: {frequency: -40 kHz}}]\n" + f"sinks: [{{port: rotate, file: {{path: {stem}}}}}]\n"
        with self.daemon(text) as daemon:
            daemon.wait_for(lambda s: s["published"] > 100_000)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        meta, _ = iqd.read_recording(stem)
        self.assertEqual([c["core:frequency"] for c in meta["captures"]], [HOME + 40e3])
        text = f"""name: test
source: {{file: {{path: {stem}.sigmf-meta}}}}
block: 5000
stages: [{{spectrum: {{size: 1000}}}}]
publish: [{{port: spectrum, topic: t, bind: "{where}"}}]
"""
        reader = self.reader(where, "t")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            m = reader.take(5)[-1]
        self.assertEqual(m.frequency, HOME + 40e3)
        self.assertLessEqual(abs(axis(m)[np.argmax(m.x)] - ON_AIR), 1000)
        explained = iqd.command("explain", self.folder / "pipeline.yaml").stdout
        self.assertIn("100.04 MHz", explained)
        self.assertIn("bin: 99.54 MHz, then every 1 kHz", explained)

    def test_channels(self):
        where = iqd.endpoint()
        text = SOURCE + f"""stages:
  - channelizer: {{channels: 10, select: [0, 1, 9]}}
  - select_channels: {{channels: [1]}}
  - spectrum: {{size: 100}}
publish:
  - {{port: channelizer, topic: all, bind: "{where}"}}
  - {{port: spectrum, topic: one, bind: "{where}"}}
"""
        every, one = self.reader(where, "all"), self.reader(where, "one")
        daemon = self.enterContext(self.daemon(text, "--wait-subscribers", 2))
        m = every.take(1)[0]
        self.assertEqual(m.axes, {"channel": {"values": [HOME, HOME + 100e3, HOME - 100e3], "unit": "Hz"}})
        m = one.take(2)[-1]
        self.assertEqual(m.frequency, HOME + 100e3)
        self.assertEqual(m.span, 100e3)
        self.patch(Door(daemon), "source", frequency=99.96e6)
        m = self.collect(every, lambda m: m.frequency == 99.96e6)[-1]
        self.assertEqual(m.axes["channel"]["values"], [99.96e6, 99.96e6 + 100e3, 99.96e6 - 100e3])
        self.collect(one, lambda m: m.frequency == 100.06e6)
        m = one.take(1)[0]
        self.assertLessEqual(abs(axis(m)[np.argmax(m.x)] - ON_AIR), 1000, m.meta)

    def test_gnuradio_tags(self):
        where = iqd.endpoint()
        text = SOURCE + "stages: [{rotate: {frequency: -40 kHz}}]\n" + \
            f"publish: [{{port: rotate, topic: t, bind: \"{where}\", framing: gnuradio-tags}}]\n"
        reader = self.reader(where, "t")
        daemon = self.enterContext(self.daemon(text, "--wait-subscribers", 1))

        def tagged():
            """The frequency in the next frame that has one."""
            for _ in range(500):
                frames = reader.socket.recv_multipart()
                if (at := frames[1].find(b"rx_freq")) >= 0:
                    self.assertEqual(frames[1][at + 7], 4)  # a real number
                    return struct.unpack(">d", frames[1][at + 8:at + 16])[0]
            self.fail("no tag")

        self.assertEqual(tagged(), HOME + 40e3)
        self.patch(Door(daemon), "rotate", frequency=10e3)
        for _ in range(5):
            if (frequency := tagged()) != HOME + 40e3:
                break
        self.assertEqual(frequency, HOME - 10e3)


if __name__ == "__main__":
    unittest.main()
