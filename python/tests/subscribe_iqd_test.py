# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.subscribe with the daemon: every framing and kind of socket, keys, packets, restarts and the end of streams."""

import pathlib
import subprocess
import tempfile
import threading
import unittest

import numpy as np

import iqd
from iqd._process import find_program

PATIENCE = 30.0
RATE = 1e6
PIECES, LOST = (60_000, 40_000), 30_000


def ramp(n):
    return (np.arange(n) / 1e6 - 1j * np.arange(n) / 1e6).astype(np.complex64)


class SubscribeIqd(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="iqd-test-")))
        self.where = f"ipc://{self.folder}/x"

    def recording(self, x):
        """With LOST samples missing after the first piece."""
        captures = [{"start": 0, "frequency": 433.92e6, "time": "2024-02-03T04:05:06Z", "index": 0},
                    {"start": PIECES[0], "frequency": 433.92e6, "index": PIECES[0] + LOST}]
        return iqd.write(self.folder / "r", x, rate=RATE, captures=captures, overwrite=True).path + ".sigmf-meta"

    def played(self, x, entry=None, stages=(), port="source", **options):
        """(messages, subscription) of a recording that a daemon publishes."""
        publish = [{"port": port, "topic": "t", "bind": self.where, **(entry or {})}]
        spec = {"source": {"file": {"path": self.recording(x)}}, "block": 8192, "stages": list(stages), "publish": publish}
        is_push = publish[0].get("kind") == "push"
        with iqd.run(spec, wait_subscribers=None if is_push else 1, ready=False, timeout=PATIENCE) as d:
            with iqd.subscribe(self.where, "" if is_push else "t", timeout=PATIENCE, reconnect=0, **options) as sub:
                messages = list(sub)
            self.assertEqual(d.wait(PATIENCE), 0)
        return messages, sub

    def check(self, messages, sub, x):
        """All samples came, and the gap is where it is."""
        np.testing.assert_array_equal(np.concatenate([m.data for m in messages], axis=-1), x)
        self.assertEqual((sub.gap_samples, sub.lost_samples, sub.lost_messages, sub.malformed), (LOST, LOST, 0, 0))
        due = 0
        for m in messages:
            self.assertEqual(m.sample, due + m.gap)
            due = m.sample + m.data.shape[-1]

    def test_json(self):
        messages, sub = self.played(ramp(sum(PIECES)))
        self.check(messages, sub, ramp(sum(PIECES)))
        first = messages[0]
        self.assertEqual((first.rate, first.frequency, first.dims, first.time), (RATE, 433.92e6, ("n",), 1706933106))
        self.assertEqual([m.seq for m in messages], list(range(len(messages))))
        self.assertEqual(len(first.axes["n"]), 8192)

    def test_struct(self):
        messages, sub = self.played(ramp(sum(PIECES)), {"framing": "struct"})
        self.check(messages, sub, ramp(sum(PIECES)))
        self.assertEqual((messages[0].time, messages[0].header["time"]), (1706933106, "radio"))
        self.assertEqual(messages[-1].header["dropped"], LOST)

    def test_gnuradio_tags(self):
        messages, sub = self.played(ramp(sum(PIECES)), {"framing": "gnuradio-tags"})
        self.check(messages, sub, ramp(sum(PIECES)))
        self.assertEqual({(m.topic, m.rate, m.frequency) for m in messages}, {("t", RATE, 433.92e6)})
        for m in messages:
            self.assertEqual(m.time_ns, 1706933106 * 10**9 + m.sample * 1000)

    def test_push(self):
        for framing in ("json", "struct", "gnuradio-tags"):
            messages, sub = self.played(ramp(sum(PIECES)), {"framing": framing, "kind": "push"}, kind="pull")
            self.check(messages, sub, ramp(sum(PIECES)))

    def test_push_that_connects(self):
        x = ramp(sum(PIECES))
        spec = {"source": {"file": {"path": self.recording(x)}}, "block": 8192,
                "publish": [{"port": "source", "topic": "t", "connect": self.where, "kind": "push"}]}
        with iqd.subscribe(self.where, kind="pull", bind=True, timeout=PATIENCE, reconnect=0) as sub:
            with iqd.run(spec, ready=False, timeout=PATIENCE):
                self.check(list(sub), sub, x)

    def test_integers_and_channels(self):
        pairs = np.arange(2 * sum(PIECES) * 2).astype(np.int16).reshape(2, -1, 2)
        for framing in ("json", "struct"):
            messages, sub = self.played(pairs, {"framing": framing})
            np.testing.assert_array_equal(np.concatenate([m.data for m in messages], axis=1), pairs)
            self.assertEqual((messages[0].samples.shape, sub.gap_samples), ((2, 8192), LOST))

    def test_axes_of_a_spectrum(self):
        n = np.arange(sum(PIECES))
        x = np.exp(2j * np.pi * 0.125 * n).astype(np.complex64)
        (m, *_), _ = self.played(x, stages=[{"spectrum": {"size": 64}}], port="spectrum")
        self.assertEqual(m.dims, ("bin",))
        peak = m.axes["bin"][m.data.argmax()]
        self.assertAlmostEqual(peak, 433.92e6 + 125e3, delta=RATE / 64 / 2)

    def test_packets(self):
        spec = {"source": {"soapy": {"args": "driver=iqdsim,scenario=telemetry,ebn0=20,offset=20000,pace=false",
                                     "rate": "20.625 MS/s", "frequency": "1.4515 GHz"}}, "block": 202752,
                "stages": [{"preamble_search": None}, {"packet_estimator": {}}, {"equalizer": {"kinds": ["zf", "fde1"]}},
                           {"soqpsk_detector": {}}],
                "publish": [{"port": "soqpsk_detector.bits", "topic": "bits", "bind": self.where}]}
        with iqd.run(spec, timeout=PATIENCE):
            with iqd.subscribe(self.where, "bits", timeout=PATIENCE) as sub:
                m = next(m for m in sub if len(m.data))
        self.assertEqual((m.dims, m.labels), (("packet", "kind", "bit"), {"kind": ["zf", "fde1"]}))
        self.assertEqual((len(m.items), m.data.shape[1:]), (len(m.data), (2, 6144)))
        np.testing.assert_allclose(m.items["offset_hz"], 20000, atol=1000)
        self.assertEqual(m.items["start"].tolist(), [fact["start"] for fact in m.header["packets"]])
        self.assertTrue(np.all(np.diff(m.items["start"]) > 0))
        self.assertTrue(np.all(abs(m.items["time_ns"] - m.time_ns) < 2e8))

    def test_a_daemon_that_is_restarted(self):
        spec = {"source": {"soapy": {"args": "driver=iqdsim", "rate": "1 MS/s"}}, "block": 4096,
                "publish": [{"port": "source", "topic": "t", "bind": self.where}]}
        with iqd.subscribe(self.where, "t", timeout=PATIENCE, reconnect=PATIENCE) as sub:
            for restarts in range(3):
                with iqd.run(spec, timeout=PATIENCE):
                    while sub.restarts < restarts or sub.messages == 0:
                        next(sub)
            self.assertEqual((sub.restarts, sub.out_of_order), (2, 0))

    def test_keys(self):
        for name in ("radio", "me"):
            subprocess.run([find_program(), "keygen", name], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        radio, me = self.folder / "radio", self.folder / "me"
        curve = {"secret": f"{radio}.secret", "allow": f"{me}.pub"}
        x = ramp(sum(PIECES))
        messages, sub = self.played(x, {"curve": curve}, key=f"{me}.secret", server=f"{radio}.pub")
        self.check(messages, sub, x)
        spec = {"source": {"soapy": {"args": "driver=iqdsim", "rate": "1 MS/s"}},
                "publish": [{"port": "source", "topic": "t", "bind": self.where, "curve": curve}]}
        with iqd.run(spec, timeout=PATIENCE) as d:
            with self.assertRaisesRegex(iqd.Timeout, "its list|on its list"):
                next(iqd.subscribe(self.where, key=f"{radio}.secret", server=f"{radio}.pub", timeout=1))
            with self.assertRaisesRegex(iqd.Timeout, "has `curve:`"):
                next(iqd.subscribe(self.where, timeout=0.5))
            self.assertGreater(d.status["pipelines"][0]["endpoints"][0]["handshake_failures"], 0)

    def test_a_slow_reader_counts_what_it_misses(self):
        spec = {"source": {"soapy": {"args": "driver=iqdsim,pace=false", "rate": "1 MS/s"}}, "block": 4096,
                "publish": [{"port": "source", "topic": "t", "bind": self.where, "hwm_bytes": 65536}]}
        with iqd.run(spec, timeout=PATIENCE):
            with iqd.subscribe(self.where, "t", timeout=PATIENCE, hwm=2) as sub:
                first = next(sub)
                ready = threading.Event()
                while sub.lost_messages < 10:
                    ready.wait(0.05)
                    last = next(sub)
        passed = last.sample + 4096 - first.sample
        self.assertEqual(sub.messages + sub.lost_messages, last.seq - first.seq + 1)
        self.assertEqual(sub.messages * 4096 + sub.lost_samples - first.gap, passed)


if __name__ == "__main__":
    unittest.main()
