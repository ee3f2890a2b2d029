# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""WARP nodes: simulated nodes, the module in SoapySDRUtil, and iqd receiving captures and sending bursts. Label
`peers`: SoapySDRUtil cannot load a module that was built with a sanitizer."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

import numpy as np

import iqd
from door import Door

NODE = os.environ.get("IQD_WARP_NODE", str(iqd.ROOT / "build" / "release" / "warp_node"))
MODULES = os.environ.get("SOAPY_SDR_PLUGIN_PATH") or str(pathlib.Path(iqd.IQD).parent / "soapy")
RATE = 40e6


class Warp(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.node = None
        self.ports = (0, 0)
        self.addCleanup(self.end_node)

    def start_node(self, *arguments):
        """Starts a node at the previous one's ports; returns the arguments to reach it."""
        self.node = subprocess.Popen([NODE, f"port={self.ports[0]}", f"trigger_port={self.ports[1]}", *arguments],
                                     stdout=subprocess.PIPE, text=True)
        said = re.match(r"port (\d+) trigger_port (\d+)$", self.node.stdout.readline())
        self.ports = int(said[1]), int(said[2])
        return f"driver=warp,address=127.0.0.1,port={self.ports[0]},trigger_port={self.ports[1]}"

    def end_node(self):
        if self.node:
            self.node.kill()
            self.node.wait()
            self.node.stdout.close()
            self.node = None

    def document(self, args, length, channels=(0,), every=0, block=20_000, more=""):
        self.where = iqd.endpoint()
        self.incoming = self.reader(self.where, "x")
        return (f"source:\n  soapy:\n    args: \"{args}\"\n    rate: 40 MS/s\n    channels: {list(channels)}\n"
                f"    stream_args: {{length: \"{length}\", every: \"{every}\"}}\nblock: {block}\nlanes: 8\n{more}"
                f"publish: [{{port: source, topic: x, bind: \"{self.where}\"}}]\n")

    def util(self, *arguments):
        tool = shutil.which("SoapySDRUtil")
        if tool is None:
            self.skipTest("NOT TESTED: SoapySDRUtil (soapysdr-tools) is not installed")
        done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "SOAPY_SDR_PLUGIN_PATH": MODULES})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    # The simulated node's pattern: sample n of capture c in channel r has the low 16 bits of n in I, and c, r and the
    # high bits of n in Q.

    def places(self, message, channel=0):
        """The capture, and the samples' positions in it."""
        x = message.x.reshape(-1, message.x.shape[-2], 2)[channel].astype(np.int64) & 0xFFFF
        i, q = x[:, 0], x[:, 1]
        self.assertTrue(np.all(q >> 6 & 3 == channel), message.meta)
        captures = np.unique(q >> 8)
        self.assertEqual(len(captures), 1, "a block must hold one capture only")
        return int(captures[0]), i | (q & 0x3F) << 16

    def assertCaptures(self, messages, length, channels=1):
        """The messages are whole captures with consecutive samples, and the gaps between them agree with their times.
        Returns the times of their first samples."""
        times, expected = [], 0
        for m in messages:
            capture, places = self.places(m)
            for c in range(1, channels):
                other, there = self.places(m, c)
                self.assertEqual(other, capture)
                np.testing.assert_array_equal(there, places)
            self.assertEqual(m.gap > 0, bool(times) and places[0] == 0, m.meta)
            if places[0] == 0:
                self.assertEqual(expected, 0, "the previous capture must be complete")
                times.append((m.time_ns, m.sample))
            np.testing.assert_array_equal(places, expected + np.arange(len(places)))
            expected = (int(places[-1]) + 1) % length
            self.assertAlmostEqual(m.time_ns - times[-1][0], int(places[0]) * 1e9 / RATE, delta=30)
        for (t0, at0), (t1, at1) in zip(times, times[1:]):
            self.assertAlmostEqual(at1 - at0, (t1 - t0) * RATE / 1e9, delta=1)
        return [t for t, _ in times]

    # The module

    def test_find_and_probe(self):
        args = self.start_node("chains=2", "serial=77")
        found = self.util(f"--find={args}")
        for words in ("driver = warp", "serial = 77", "version = 7.5.0", "label = WARP v3 node 0"):
            self.assertIn(words, found)
        probed = self.util(f"--probe={args}")
        for words in ("hardware=WARP v3", "Channels: 2 Rx, 2 Tx", "Timestamps: YES", "Stream formats: CS16, CF32",
                      "[full-scale=32768]", "Sample rates: 40 MSps", "Filter bandwidths: 7.5, 9.5, 14, 18 MHz",
                      "Filter bandwidths: 12, 18, 24 MHz", "2412, 2417, ", "5785, 5805 MHz"):
            self.assertIn(words, probed)
        self.assertIn("warp", self.util("--info"))

    def test_a_frequency_that_there_is_not(self):
        args = self.start_node()
        done = iqd.command("record", "--args", args, "--rate", "40 MS/s", "--frequency", "2.44 GHz", "--seconds", "0.1",
                           self.folder / "x.sigmf-meta")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("2437 MHz", done.stderr)
        self.assertIn("2442 MHz", done.stderr)

    # iqd receives

    def test_what_it_refuses_is_refused_for_good(self):
        text = self.document(self.start_node(), 65536, every=0.05, more='monitor: {listen: "127.0.0.1:0"}\n')
        with self.daemon(text) as daemon:
            door = Door(daemon)
            self.incoming.take(1)
            for keys, words in (({"frequency": "2.44 GHz"}, "2437 MHz"), ({"gain": 200}, "gain 200 is out of range ("),
                                ({"bandwidth": 1}, "bandwidth 1 is out of range (7500000, 9500000, 14000000, 18000000)"),
                                ({"antenna": "roof"}, "there is no antenna 'roof'")):
                status, answer = door.change("PATCH", "/api/stages/source", keys)
                self.assertEqual(status, 422, (answer, daemon.text))
                self.assertIn(words, answer["problems"][0])
                self.assertEqual(daemon.text.count("not set: "), daemon.text.count("unchanged: "), daemon.text)
            self.assertEqual(door.change("PATCH", "/api/stages/source", {"frequency": "2.437 GHz"})[0], 200)
            self.incoming.take(3)
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def receive(self, args, length, count, **options):
        """At least `count` messages, and the final status."""
        text = self.document(args, length, **options)
        began = time.time_ns()
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = self.incoming.take(count)
            daemon.signal()
            messages += self.incoming.rest_of(daemon)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            status = daemon.final[0]
        self.assertConserved(status)
        self.assertContinuous(messages, lossless=False)
        self.assertEqual((status["time_jumps"], status["reconnects"]), (0, 0), daemon.text)
        self.assertEqual(sum(status["dropped"].values()), 0, status)
        self.assertEqual(sum(m.gap for m in messages), status["lost"])
        self.assertGreater(messages[0].time_ns, began)
        self.assertLess(messages[-1].time_ns, time.time_ns())
        return messages, status

    def test_captures_and_the_gaps_between_them(self):
        messages, status = self.receive(self.start_node(), 20_000, 30, every=0.02)
        times = self.assertCaptures(messages, 20_000)
        self.assertGreater(min(np.diff(times)), 19.9e6)
        self.assertGreater(len(times), 10)
        self.assertGreater(status["lost"], (len(times) - 1) * (0.0199 * RATE - 20_000))

    def test_four_channels_of_two_nodes(self):
        args = self.start_node("nodes=2", "chains=2") + ",node=0/1"
        text = self.document(args, 10_000, channels=(0, 1, 2, 3))
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = self.incoming.take(10)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        for m in messages:
            first = self.places(m)
            for c, chain in ((1, 1), (2, 0), (3, 1)):
                x = m.x[c].astype(np.int64) & 0xFFFF
                self.assertTrue(np.all(x[:, 1] >> 6 & 3 == chain))
                self.assertTrue(np.all(x[:, 1] >> 8 == first[0]), "one trigger for all nodes")
                np.testing.assert_array_equal(x[:, 0], first[1] & 0xFFFF)

    def test_a_network_that_loses_repeats_and_swaps(self):
        args = self.start_node("lose=29", "repeat=7", "swap=5", "cut=31", "foreign=11", "lose_commands=13",
                               "lose_triggers=5")
        messages, _ = self.receive(args + ",timeout=0.02", 20_000, 20, every=0.02)
        self.assertCaptures(messages, 20_000)

    def test_a_node_that_dies_and_comes_back(self):
        args = self.start_node() + ",silence=0.5"
        with self.daemon(self.document(args, 20_000), "--wait-subscribers", 1) as daemon:
            self.incoming.take(8)
            self.end_node()
            daemon.wait_for(lambda p: p["state"] == "reconnecting")
            self.assertIn("does not answer", daemon.text)
            self.incoming.rest()
            self.start_node()
            back = time.monotonic()
            self.incoming.take(8)
            self.assertLess(time.monotonic() - back, 10)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertGreaterEqual(daemon.final[0]["reconnects"], 1)
            self.assertConserved(daemon.final[0])

    def test_told_to_stop_with_a_dead_node(self):
        args = self.start_node()
        with self.daemon(self.document(args, 20_000), "--wait-subscribers", 1) as daemon:
            self.incoming.take(4)
            self.node.send_signal(signal.SIGSTOP)
            told = time.monotonic()
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertLess(time.monotonic() - told, 5)

    # iqd transmits

    def test_predistortion_learns(self):
        """The shipped pipeline at a hundredth of the rate. Training works only if sent and received samples are aligned
        by their times, to the sample."""
        args = self.start_node("wires=-/0", "amplifier=true", "delay=5", "rate=400e3")
        text = (iqd.PIPELINES / "dpd_warp.yaml").read_text(encoding="utf-8")
        text = re.sub(r"([\d.]+) M(S/s|Hz)", lambda m: f"{float(m[1]) * 1e4:g} {m[2]}", text)
        levels_at = iqd.endpoint()
        for old, new in (("driver=warp", f"{args},rate=400000"), ("65536", "32768"), ("16384", "4096"),
                         ("keep: 400 ms", "keep: 2 s"), ("keep: 50 ms", "keep: 1 s"), ("every: 1 s", "every: 0.3 s"),
                         ("127.0.0.1:9464", "127.0.0.1:0"), ("tcp://127.0.0.1:5555", levels_at)):
            self.assertIn(old, text)
            text = text.replace(old, new)
        incoming = self.reader(levels_at, "levels")
        with self.daemon(text) as daemon:
            door = Door(daemon)
            first = max(incoming.take(1)[0].x[1:3])
            ends = time.monotonic() + iqd.PATIENCE
            last = first
            while last > -55 and time.monotonic() < ends:
                last = max(incoming.take(1)[0].x[1:3])
            self.assertLess(last, -55, daemon.text)
            self.assertLess(last, first - 10)
            series = door.series()
            self.assertEqual(daemon.stop(), 0, daemon.text)
        events = {dict(labels)["event"]: count for (name, labels), count in series.items()
                  if name == "iqd_stage_events_total" and ("stage", "aph_estimator") in labels}
        self.assertGreaterEqual(events["trained"], 1)
        self.assertEqual((events["other_signal"], events["misaligned"]), (0, 0), events)
        for status in daemon.final:
            self.assertConserved(status)
        self.assertGreater(daemon.final[1]["lost"], 0, "gaps between captures")


if __name__ == "__main__":
    unittest.main()
