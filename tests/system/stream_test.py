# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What a subscriber gets from a running radio: contents against NumPy, headers against their description."""

import json
import time
import unittest

import numpy as np
import zmq

import iqd

KEYS = ["v", "pipeline", "port", "seq", "sample", "time_ns", "time", "datatype", "dtype", "shape", "dims",
        "sample_rate", "frequency", "gap", "dropped", "halo"]
TAPS = [0.25, -0.5, 1.0, 0.75, 0.125]


def document(where, rate=200e3, args="", block=4096, more_source="", stages="", publish=""):
    """A radio, `stages`, and the entries of `publish` as [port, topic] pairs on one endpoint."""
    entries = "".join(f"  - {{port: {port}, topic: {topic}, bind: \"{where}\"}}\n" for port, topic in publish)
    return (f"name: test\nsource:\n  soapy: {{args: \"driver=iqdsim{args}\", rate: {rate}{more_source}}}\n"
            f"block: {block}\nstages: [{stages}]\npublish:\n{entries}")


def filtered(x, taps, decimation=1):
    """y[m] = sum h[k] x[m decimation - k], zeros before the start; float64."""
    return np.convolve(x, taps)[:len(x)][::decimation]


def joined(messages):
    return np.concatenate([m.samples for m in messages], axis=-1)


class Contents(iqd.SystemTest):
    def check_tone(self, rate, decimation, block):
        where = iqd.endpoint()
        frequency = 0.03 * rate
        text = document(where, rate, f",frequency={frequency}", block,
                        stages=f"fir: {{taps: {TAPS}, decimation: {decimation}}}",
                        publish=[("source", "raw"), ("fir.out", "fir")])
        raw, fir = self.reader(where, "raw"), self.reader(where, "fir")
        with self.daemon(text, "--wait-subscribers", 2) as daemon:
            sources, results = raw.take(12), fir.take(12)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            sources += raw.rest()
            results += fir.rest()
            self.assertConserved(daemon.final[0])
            self.assertEqual(daemon.final[0]["received"], sum(m.x.shape[0] for m in sources))
        self.assertContinuous(sources)
        self.assertContinuous(results, decimation)
        self.assertTimed(sources)
        self.assertTimed(results)
        self.assertEqual((sources[0].sample, sources[0].seq, results[0].sample, results[0].seq), (0, 0, 0, 0))
        x = joined(sources)
        ideal = iqd.tone(np.arange(len(x)), frequency, rate)
        self.assertLess(np.abs(x - ideal).max(), 1.01 / 32768)  # rounded to sc16
        expected = filtered(x, TAPS, decimation)
        y = joined(results)
        self.assertEqual(len(y), len(expected))
        self.assertLess(np.abs(y - expected).max(), 3e-7)

    def test_10_kilosamples(self):
        self.check_tone(10e3, 1, 1000)

    def test_a_megasample(self):
        self.check_tone(1e6, 4, 16384)

    def test_decimation_that_does_not_divide_the_block(self):
        self.check_tone(400e3, 7, 10007)

    def test_5_megasamples(self):
        self.check_tone(5e6, 8, 65536)

    def test_several_channels(self):
        where = iqd.endpoint()
        text = document(where, 250e3, ",frequency=7e3,rx=4", 5000, more_source=", channels: [2, 0, 3]",
                        stages=f"fir: {{taps: {TAPS}, decimation: 2}}", publish=[("source", "raw"), ("fir.out", "fir")])
        raw, fir = self.reader(where, "raw"), self.reader(where, "fir")
        with self.daemon(text, "--wait-subscribers", 2) as daemon:
            sources, results = raw.take(8), fir.take(8)
            self.assertEqual(daemon.stop(), 0)
        self.assertEqual((sources[0].shape, sources[0].dims), ([3, 5000, 2], ["channel", "n", "iq"]))
        self.assertEqual((results[0].shape, results[0].dims), ([3, 2500], ["channel", "n"]))
        self.assertContinuous(sources)
        self.assertContinuous(results, 2)
        x, y = joined(sources), joined(results)
        for row, channel in enumerate([2, 0, 3]):
            ideal = iqd.tone(np.arange(x.shape[1]), 7e3, 250e3, channel)
            self.assertLess(np.abs(x[row] - ideal).max(), 1.01 / 32768)
            self.assertLess(np.abs(y[row] - filtered(x[row], TAPS, 2)).max(), 3e-7)

    def test_cf32_from_the_radio(self):
        where = iqd.endpoint()
        text = document(where, 100e3, ",frequency=-11e3", 2048, more_source=", format: cf32, frequency: 1.2 GHz",
                        publish=[("source", "raw")])
        raw = self.reader(where, "raw")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = raw.take(6)
            self.assertEqual(daemon.stop(), 0)
        self.assertEqual((messages[0].datatype, messages[0].dtype, messages[0].dims), ("cf32_le", "<c8", ["n"]))
        self.assertEqual(messages[0].frequency, 1.2e9)
        x = joined(messages)
        self.assertLess(np.abs(x - iqd.tone(np.arange(len(x)), -11e3, 100e3)).max(), 1e-6)

    def test_spectrum_and_peaks_find_the_tone_in_noise(self):
        where = iqd.endpoint()
        text = document(where, 1e6, ",frequency=125e3,snr=-10", 65536,
                        stages="spectrum: {size: 1024}, peak_finder: {threshold: -60, max: 1}",
                        publish=[("spectrum.out", "s"), ("peak_finder.out", "p")])
        spectra, peaks = self.reader(where, "s"), self.reader(where, "p")
        with self.daemon(text, "--wait-subscribers", 2) as daemon:
            spectrum, peak = spectra.take(2), peaks.take(2)
            self.assertEqual(daemon.stop(), 0)
        self.assertEqual((spectrum[0].shape, spectrum[0].dims), ([1024], ["bin"]))
        self.assertEqual(peak[0].shape[1], 2)
        # 0 Hz is in the middle, so a tone at an eighth of the rate is 128 bins to the right.
        self.assertEqual([int(np.argmax(m.x)) for m in spectrum], [640, 640])
        for m in peak:
            self.assertAlmostEqual(m.x[0, 0], 640, delta=0.5)


class Header(iqd.SystemTest):
    def messages(self, port="source", stages="", count=3, **more):
        where = iqd.endpoint()
        reader = self.reader(where, "t")
        text = document(where, stages=stages, publish=[(port, "t")], **more)
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = reader.take(count)
            self.assertEqual(daemon.stop(), 0, daemon.text)
        return messages

    def test_the_consumer_in_three_lines(self):
        where = iqd.endpoint()
        sock = self.reader(where, "t").socket
        with self.daemon(document(where, publish=[("source", "t")])):
            self.assertTrue(sock.poll(iqd.PATIENCE * 1000))
            head, payload = sock.recv_multipart()
            meta = json.loads(head.split(b" ", 1)[1])
            x = np.frombuffer(payload, meta["dtype"]).reshape(meta["shape"])
        self.assertTrue(head.startswith(b"t {"))
        self.assertNotIn(b"\n", head)
        self.assertEqual((x.shape, x.dtype), ((4096, 2), np.int16))

    def test_keys_of_sc16(self):
        first, second, _ = self.messages(more_source=", frequency: 1.4515 GHz")
        self.assertEqual(list(first.meta), KEYS)
        expected = {"v": 1, "pipeline": "test", "port": "source", "seq": 0, "sample": 0, "time": "radio",
                    "datatype": "ci16_le", "dtype": "<i2", "shape": [4096, 2], "dims": ["n", "iq"],
                    "sample_rate": 200e3, "frequency": 1.4515e9, "gap": 0, "dropped": 0, "halo": 0}
        self.assertEqual({k: v for k, v in first.meta.items() if k != "time_ns"}, expected)
        self.assertEqual((second.seq, second.sample, second.time_ns - first.time_ns), (1, 4096, 20_480_000))
        for key in ("v", "seq", "sample", "time_ns", "gap", "dropped", "halo"):
            self.assertIs(type(first.meta[key]), int, key)

    def test_keys_of_a_filtered_port(self):
        _, second, _ = self.messages("fir.out", f"fir: {{taps: {TAPS}, decimation: 4}}")
        self.assertEqual(sorted(second.meta), sorted(KEYS + ["item_rate"]))
        self.assertEqual((second.datatype, second.dtype, second.shape, second.dims),
                         ("cf32_le", "<c8", [1024], ["n"]))
        self.assertEqual((second.sample_rate, second.item_rate, second.sample), (200e3, 50e3, 4096))
        self.assertGreaterEqual(second.halo, len(TAPS) - 1)

    def test_time_is_now(self):
        message = self.messages(count=1)[0]
        self.assertLess(abs(message.time_ns / 1e9 - time.time()), 10)

    def test_a_radio_without_clock(self):
        messages = self.messages(args=",time=false", count=5)
        self.assertEqual({m.time for m in messages}, {"host"})
        self.assertContinuous(messages)
        self.assertLess(abs(messages[0].time_ns / 1e9 - time.time()), 10)
        # The host's clock sees samples in chunks.
        span = (messages[-1].time_ns - messages[0].time_ns) / 1e9
        self.assertAlmostEqual(span, 4 * 4096 / 200e3, delta=0.1)

    def test_a_reader_that_is_late_finds_the_start(self):
        """The radio starts when somebody listens: nothing overflows while it waits."""
        where = iqd.endpoint()
        with self.daemon(document(where, publish=[("source", "t")]), "--wait-subscribers", 1) as daemon:
            daemon.wait_for_log("waiting for 1 subscriber(s)")
            time.sleep(1)
            messages = self.reader(where, "t").take(3)
            self.assertEqual(daemon.stop(), 0)
            self.assertEqual((daemon.final[0]["overflows"], daemon.final[0]["lost"]), (0, 0))
        self.assertEqual(messages[0].sample, 0)
        self.assertContinuous(messages)
        self.assertLess(np.abs(messages[0].samples - iqd.tone(np.arange(4096), 25e3, 200e3)).max(), 1.01 / 32768)

    def test_an_epoch_in_the_past(self):
        first, second, _ = self.messages(args=",epoch=1700000000")
        self.assertEqual((first.time_ns, second.time_ns), (1_700_000_000_000_000_000, 1_700_000_000_020_480_000))
        self.assertEqual(first.time, "radio")

    def test_two_frames(self):
        where = iqd.endpoint()
        sock = self.reader(where, "t").socket
        with self.daemon(document(where, publish=[("source", "t")])):
            self.assertTrue(sock.poll(iqd.PATIENCE * 1000))
            sock.recv()
            self.assertEqual(sock.getsockopt(zmq.RCVMORE), 1)
            sock.recv()
            self.assertEqual(sock.getsockopt(zmq.RCVMORE), 0)


if __name__ == "__main__":
    unittest.main()
