# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Paths through a file: branches, several pipelines, topics, sockets and element types."""

import unittest

import numpy as np
import zmq

import iqd

RATE = 1e6


def noise(count, seed=1):
    r = np.random.default_rng(seed)
    return (0.2 * (r.standard_normal(count) + 1j * r.standard_normal(count))).astype(np.complex64)


class Routes(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        self.x = noise(50_000)
        self.recording = iqd.write_recording(self.folder / "in", self.x, RATE)

    def play(self, text, readers, *arguments):
        """Runs until iqd exits with 0; returns what each reader got."""
        with self.daemon(text, "--wait-subscribers", readers, *arguments) as daemon:
            for reader in self._readers:
                reader.first = reader.receive()
            self.assertEqual(daemon.wait(), 0, daemon.text)
            for status in daemon.final:
                self.assertConserved(status)
                self.assertEqual(status["received"], status["published"])
            self.text = daemon.text
        return [[r.first, *r.rest()] for r in self._readers]

    def source(self, name="test", block=10_000):
        return f"name: {name}\nsource: {{file: {{path: {self.recording}}}}}\nblock: {block}\n"

    def joined(self, messages):
        return np.concatenate([m.samples for m in messages], axis=0)

    def test_branches_join_what_they_share(self):
        where = iqd.endpoint()
        text = self.source() + f"""
stages:
  - fir: {{taps: [1, 2], name: first}}
  - complex_to_mag: {{}}
  - conjugate: {{from: first.out}}
  - multiply_const: {{from: {{in: source}}, value: -0.5j, name: scaled}}
  - fft: {{from: scaled.out, size: 1000}}
publish:
  - {{port: complex_to_mag.out, topic: mag, bind: "{where}"}}
  - {{port: conjugate.out, topic: conj, bind: "{where}"}}
  - {{port: fft.out, topic: fft, bind: "{where}"}}
"""
        for topic in ("mag", "conj", "fft"):
            self.reader(where, topic)
        mag, conjugate, spectra = self.play(text, 3)
        x = self.x.astype(complex)
        y = np.convolve(x, [1, 2])[:len(x)]
        self.assertLess(np.abs(self.joined(mag) - np.abs(y)).max(), 1e-6)
        self.assertLess(np.abs(self.joined(conjugate) - y.conj()).max(), 1e-6)
        frames = np.fft.fft((-0.5j * x).reshape(-1, 1000), axis=1)
        self.assertEqual(spectra[0].dims, ["frame", "bin"])
        self.assertLess(np.abs(self.joined(spectra) - frames).max() / np.abs(frames).max(), 1e-6)

    def test_one_port_for_two_readers_of_different_types(self):
        where = iqd.endpoint()
        text = self.source() + f"""
publish:
  - {{port: source, topic: f, bind: "{where}"}}
  - {{port: source, topic: s, bind: "{where}", dtype: sc16}}
"""
        self.reader(where, "f")
        self.reader(where, "s")
        floats, shorts = self.play(text, 2)
        self.assertEqual((floats[0].dtype, shorts[0].dtype, shorts[0].dims), ("<c8", "<i2", ["n", "iq"]))
        np.testing.assert_array_equal(self.joined(floats), self.x)
        self.assertLess(np.abs(self.joined(shorts) - self.x).max() * 32768, 0.7072)  # half a step in each part

    def test_dtypes_of_real_ports(self):
        where = iqd.endpoint()
        text = self.source() + f"""
stages: [complex_to_mag: {{}}]
publish:
  - {{port: complex_to_mag.out, topic: f32, bind: "{where}"}}
  - {{port: complex_to_mag.out, topic: f16, bind: "{where}", dtype: f16}}
"""
        self.reader(where, "f32")
        self.reader(where, "f16")
        full, half = self.play(text, 2)
        self.assertEqual((full[0].dtype, half[0].dtype), ("<f4", "<f2"))
        np.testing.assert_array_equal(np.concatenate([m.x for m in full]).astype(np.float16),
                                      np.concatenate([m.x for m in half]))

    def test_a_topic_is_no_prefix_of_another(self):
        where = iqd.endpoint()
        text = self.source() + f"""
publish:
  - {{port: source, topic: ue0, bind: "{where}"}}
  - {{port: source, topic: ue01, bind: "{where}"}}
"""
        self.reader(where, "ue0")
        self.reader(where, "ue01")
        one, other = self.play(text, 2)
        self.assertEqual(({m.topic for m in one}, {m.topic for m in other}), ({"ue0"}, {"ue01"}))
        self.assertEqual((len(one), len(other)), (5, 5))

    def test_several_pipelines_in_one_file(self):
        wheres = [iqd.endpoint() for _ in range(2)]
        second = iqd.write_recording(self.folder / "second", noise(7_777, seed=2), 2e6)
        text = f"""
pipelines:
  - name: a
    source: {{file: {{path: {self.recording}}}}}
    block: 4096
    publish: [{{port: source, topic: t, bind: "{wheres[0]}"}}]
  - name: b
    source: {{file: {{path: {second}}}}}
    block: 1000
    stages: [conjugate:]
    publish: [{{port: conjugate.out, topic: t, bind: "{wheres[1]}"}}]
"""
        for where in wheres:
            self.reader(where, "t")
        a, b = self.play(text, 2)
        self.assertEqual(({m.pipeline for m in a}, {m.pipeline for m in b}), ({"a"}, {"b"}))
        self.assertEqual((a[0].sample_rate, b[0].sample_rate), (1e6, 2e6))
        np.testing.assert_array_equal(self.joined(a), self.x)
        np.testing.assert_array_equal(self.joined(b), noise(7_777, seed=2).conj())

    def test_two_endpoints_of_one_port(self):
        wheres = [iqd.endpoint() for _ in range(2)]
        text = self.source() + "publish:\n" + "".join(
            f"  - {{port: source, topic: t, bind: \"{where}\"}}\n" for where in wheres)
        for where in wheres:
            self.reader(where, "t")
        for messages in self.play(text, 2):
            np.testing.assert_array_equal(self.joined(messages), self.x)

    def test_ipc(self):
        where = f"ipc://{self.folder}/socket"
        self.reader(where, "t")
        messages, = self.play(self.source() + f"publish: [{{port: source, topic: t, bind: \"{where}\"}}]\n", 1)
        np.testing.assert_array_equal(self.joined(messages), self.x)
        # A second start finds the file that libzmq has left.
        again, = self.play(self.source() + f"publish: [{{port: source, topic: t, bind: \"{where}\"}}]\n", 1)
        self.assertEqual(len(again), len(messages))

    def test_pull_bound_by_the_daemon(self):
        where = iqd.endpoint()
        self.reader(where, kind=zmq.PULL)
        messages, = self.play(
            self.source() + f"publish: [{{port: source, topic: t, bind: \"{where}\", kind: push}}]\n", 0)
        np.testing.assert_array_equal(self.joined(messages), self.x)
        self.assertContinuous(messages)

    def test_pull_bound_by_the_reader(self):
        where = iqd.endpoint()
        self.reader(where, kind=zmq.PULL, bind=True)
        messages, = self.play(
            self.source() + f"publish: [{{port: source, topic: t, connect: \"{where}\", kind: push}}]\n", 0)
        np.testing.assert_array_equal(self.joined(messages), self.x)

    def test_push_shares_among_readers(self):
        where = iqd.endpoint()
        text = self.source(block=500) + f"publish: [{{port: source, topic: t, bind: \"{where}\", kind: push}}]\n"
        readers = [self.reader(where, kind=zmq.PULL) for _ in range(2)]
        with self.daemon(text) as daemon:
            self.assertEqual(daemon.wait(), 0, daemon.text)
        messages = sorted((m for r in readers for m in r.rest()), key=lambda m: m.seq)
        self.assertContinuous(messages)
        np.testing.assert_array_equal(self.joined(messages), self.x)

    def test_one_daemon_feeds_another(self):
        between, where = iqd.endpoint(), iqd.endpoint()
        first = self.source("first") + f"publish: [{{port: source, topic: t, bind: \"{between}\", kind: push}}]\n"
        second = f"""
name: second
source: {{zmq: {{connect: "{between}", kind: pull, rate: {RATE}}}}}
block: 3000
stages: [conjugate:]
publish: [{{port: conjugate.out, topic: t, bind: "{where}"}}]
"""
        reader = self.reader(where, "t")
        with self.daemon(second, "--wait-subscribers", 1, name="second.yaml") as later:
            with self.daemon(first) as earlier:
                self.assertEqual(earlier.wait(), 0, earlier.text)
            later.wait_for(lambda p: p["received"] == len(self.x))
            self.assertEqual(later.stop(), 0, later.text)
            self.assertConserved(later.final[0])
        messages = reader.rest()
        np.testing.assert_array_equal(self.joined(messages), self.x.conj())

    def test_into_a_file_and_a_socket(self):
        where = iqd.endpoint()
        text = self.source() + f"""
stages: [multiply_const: {{value: 2}}]
publish: [{{port: multiply_const.out, topic: t, bind: "{where}"}}]
sinks: [{{port: multiply_const.out, file: {{path: {self.folder}/out}}}}]
"""
        self.reader(where, "t")
        messages, = self.play(text, 1)
        np.testing.assert_array_equal(self.joined(messages), 2 * self.x)
        meta, recorded = iqd.read_recording(self.folder / "out")
        np.testing.assert_array_equal(recorded, 2 * self.x)
        self.assertEqual(meta["global"]["core:sample_rate"], RATE)


if __name__ == "__main__":
    unittest.main()
