# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.subscribe with messages made here: what it reads, counts and refuses."""

import struct
import time
import unittest
import warnings

import numpy as np
import zmq

import iqd
from publisher import PATIENCE, SubscribeTest, header, json_frames, ramp, struct_frames


class Json(SubscribeTest):
    def test_an_array_with_its_facts(self):
        x = ramp(12).reshape(2, 6)
        (m,), sub = self.received([json_frames("iq", x, seq=7, sample=40, gap=4, item_rate=250e3)])
        np.testing.assert_array_equal(m.data, x)
        self.assertEqual((m.data.dtype, m.data.shape, m.dims), (np.complex64, (2, 6), ("channel", "n")))
        self.assertEqual((m.topic, m.seq, m.sample, m.gap, m.rate, m.frequency), ("iq", 7, 40, 4, 250e3, 433.92e6))
        self.assertEqual((m.time, m.time_ns), (1.79e9, 1_790_000_000_000_000_000))
        self.assertAlmostEqual(m.latency, time.time() - 1.79e9, delta=60)
        self.assertEqual(m.header["port"], "fir.out")
        self.assertEqual((sub.messages, sub.gap_samples, sub.lost_samples, sub.lost_messages), (1, 4, 4, 0))
        self.assertTrue(sub.closed)

    def test_data_are_read_only_and_not_copied(self):
        (m,), _ = self.received([json_frames("iq", ramp(1000))])
        self.assertFalse(m.data.flags.writeable)
        self.assertFalse(m.data.flags.owndata)
        self.assertIsInstance(m.data.base, zmq.Frame)
        with self.assertRaises(ValueError):
            m.data[0] = 1

    def test_every_dtype(self):
        kinds = ("<c8", "<f4", "<f2", "<i8", "<i4", "<i2", "<i1", "<u1", "<f8", "<c16")
        messages, _ = self.received([json_frames("t", np.arange(5).astype(k), seq=i) for i, k in enumerate(kinds)])
        self.assertEqual([m.data.dtype.str.replace("|", "<") for m in messages], list(kinds))
        for m in messages:
            np.testing.assert_array_equal(m.data, np.arange(5))

    def test_integer_pairs_become_complex_samples(self):
        x = np.array([[32767, -32768], [1, 0]], np.int16)
        (m,), _ = self.received([json_frames("iq", x, dims=["n", "iq"], datatype="ci16_le")])
        np.testing.assert_array_equal(m.data, x)
        self.assertEqual(m.samples.dtype, np.complex64)
        np.testing.assert_array_equal(m.samples, [(32767 - 32768j) / 32768, 1 / 32768])

    def test_empty_and_scalar_arrays(self):
        messages, sub = self.received([json_frames("t", np.zeros((0, 4), np.float32)),
                                       json_frames("t", np.float32(3).reshape(()), seq=1)])
        self.assertEqual([m.data.shape for m in messages], [(0, 4), ()])
        self.assertEqual(messages[1].data, 3)
        self.assertEqual(sub.malformed, 0)

    def test_axes_in_hertz_and_seconds(self):
        axes = {"channel": {"values": [1e8, 2e8], "unit": "Hz"},
                "bin": {"first": 99e6, "step": 1000, "wrap": 3, "unit": "Hz"}}
        (m, n), _ = self.received([json_frames("t", np.zeros((2, 4), np.float32), dims=["channel", "bin"], axes=axes),
                                   json_frames("n", ramp(3))])
        self.assertEqual(list(m.axes), ["channel", "bin"])
        np.testing.assert_array_equal(m.axes["channel"], [1e8, 2e8])
        np.testing.assert_array_equal(m.axes["bin"], [99e6, 99e6 + 1000, 99e6 + 2000, 99e6 - 1000])
        np.testing.assert_array_equal(n.axes["n"], [0, 1e-6, 2e-6])

    def test_items_are_a_structured_array(self):
        packets = [{"start": 5, "time_ns": 7, "metric": 0.5, "tap": [1, -2], "name": "a"},
                   {"start": 9, "time_ns": 8, "metric": None, "tap": [None, 0.5], "name": "b"}]
        x = np.zeros((2, 1, 3), np.uint8)
        (m, none), _ = self.received([
            json_frames("t", x, dims=["packet", "kind", "bit"], kinds=["zf"], packets=packets),
            json_frames("t", x, dims=["packet", "kind", "bit"], kinds=["zf"], seq=1)])
        self.assertEqual(m.items.dtype.names, ("start", "time_ns", "metric", "tap", "name"))
        np.testing.assert_array_equal(m.items["start"], [5, 9])
        self.assertEqual(m.items["start"].dtype, np.int64)
        np.testing.assert_array_equal(m.items["metric"], [0.5, np.nan])
        np.testing.assert_array_equal(m.items["tap"], [1 - 2j, complex(np.nan, 0.5)])
        self.assertEqual(m.items[1]["name"], "b")
        self.assertEqual(m.labels, {"kind": ["zf"]})
        self.assertIs(m.items, m.items)
        self.assertIsNone(none.items)

    def test_only_the_topics_that_were_asked_for(self):
        publisher = self.publisher()
        with iqd.subscribe(publisher.endpoint, ["a", "b"], timeout=PATIENCE) as sub:
            self.assertEqual({publisher.await_reader(), publisher.await_reader()}, {"a ", "b "})
            publisher.send(*(json_frames(t, ramp(1)) for t in ("a2", "b", "c", "a")))
            self.assertEqual([next(sub).topic, next(sub).topic], ["b", "a"])


class Struct(SubscribeTest):
    def one(self, *arguments, **more):
        (m,), _ = self.received([struct_frames("t", *arguments, **more)])
        return m

    def test_samples(self):
        m = self.one(ramp(6), 1, 0, 6, 1, 1, seq=9, sample=-4, gap=3, dropped=8, halo=2, time_ns=10**18)
        np.testing.assert_array_equal(m.data, ramp(6))
        self.assertEqual((m.seq, m.sample, m.gap, m.time_ns), (9, -4, 3, 10**18))
        self.assertEqual({k: m.header[k] for k in ("time", "dropped", "halo", "datatype")},
                         {"time": "radio", "dropped": 8, "halo": 2, "datatype": "cf32_le"})
        self.assertEqual((m.rate, m.frequency, m.dims, m.axes, m.items), (None, None, (), {}, None))

    def test_shapes(self):
        x = np.arange(24, dtype=np.float32)
        self.assertEqual(self.one(x, 2, 1, 12, 1, 2).data.shape, (2, 12))    # [channel][n]
        self.assertEqual(self.one(x, 2, 0, 4, 6, 3).data.shape, (4, 6))      # [packet][kind, symbol]
        self.assertEqual(self.one(x, 2, 1, 4, 3, 3).data.shape, (2, 4, 3))
        self.assertEqual(self.one(x, 2, -1, 1, 24, 1).data.shape, (24,))
        self.assertEqual(self.one(x[:0], 2, 0, 0, 6, 2).data.shape, (0, 6))
        np.testing.assert_array_equal(self.one(x, 2, 1, 4, 3, 3).data, x.reshape(2, 4, 3))

    def test_integer_pairs(self):
        x = np.array([[[1, 2], [3, 4]], [[5, 6], [-7, 8]]], np.int16)
        m = self.one(x, 0, 1, 2, 1, 2)
        np.testing.assert_array_equal(m.data, x)
        np.testing.assert_array_equal(m.samples * 32768, [[1 + 2j, 3 + 4j], [5 + 6j, -7 + 8j]])

    def test_every_element(self):
        dtypes = ("<c8", "<f4", "<f2", "<i8", "<i4", "<i2", "<i1", "<u1")
        for element, dtype in enumerate(dtypes, 1):
            m = self.one(np.arange(3).astype(dtype), element, 0, 3, 1, 1)
            self.assertEqual(m.data.dtype, np.dtype(dtype))
            np.testing.assert_array_equal(m.data, [0, 1, 2])


def symbol(name):
    return struct.pack(">BH", 2, len(name)) + name.encode()


def tag_header(offset, tags):
    """As GNU Radio writes it: little-endian, with big-endian PMTs."""
    packed = struct.pack("<HBQQ", 0x5ff0, 1, offset, len(tags))
    for key, value in tags.items():
        packed += struct.pack("<Q", offset) + symbol(key) + value + symbol("source")
    return packed


class GnuRadioTags(SubscribeTest):
    RATE = struct.pack(">Bd", 4, 1e6)
    TIME = struct.pack(">BI", 12, 2) + struct.pack(">BQ", 11, 1790000000) + struct.pack(">Bd", 4, 0.25)

    def frames(self, offset, x, tags=None, topic="iq "):
        return [*([topic.encode()] if topic else []), tag_header(offset, tags or {}) + x[:1].tobytes(), x[1:].tobytes()]

    def test_samples_and_tags(self):
        x = ramp(8)
        tags = {"rx_time": self.TIME, "rx_rate": self.RATE, "rx_freq": struct.pack(">Bd", 4, 868e6)}
        (a, b, c), sub = self.received([self.frames(16, x, tags), self.frames(24, x), self.frames(40, x[:1])])
        np.testing.assert_array_equal(a.data, x)
        self.assertEqual((a.topic, a.sample, a.gap, a.rate, a.frequency), ("iq", 16, 0, 1e6, 868e6))
        self.assertEqual(a.time_ns, 1790000000_250_000_000)
        self.assertEqual(a.header["tags"]["rx_time"], (1790000000, 0.25))
        self.assertEqual((b.sample, b.gap, b.time_ns - a.time_ns, b.rate), (24, 0, 8000, 1e6))
        self.assertEqual((c.sample, c.gap, c.data.shape), (40, 8, (1,)))
        self.assertEqual((sub.lost_samples, sub.malformed), (8, 0))
        self.assertFalse(a.data.flags.writeable)

    def test_without_a_topic_over_push(self):
        publisher = self.publisher(zmq.PUSH)
        with iqd.subscribe(publisher.endpoint, kind="pull", timeout=PATIENCE) as sub:
            publisher.send(self.frames(0, ramp(4, np.float32), topic=""))
            m = next(sub)
            self.assertEqual((m.topic, m.data.dtype), ("", np.float32))
            np.testing.assert_array_equal(m.data, [0, 1, 2, 3])

    def test_pairs_if_asked_for(self):
        x = np.array([[1, 2], [3, 4], [5, 6]], np.int16)
        (m,), _ = self.received([self.frames(0, x)], dtype="sc16")
        np.testing.assert_array_equal(m.data, x)
        np.testing.assert_array_equal(m.samples * 32768, [1 + 2j, 3 + 4j, 5 + 6j])

    def test_what_is_cut_off_is_malformed(self):
        whole = self.frames(0, ramp(4), {"rx_time": self.TIME, "rx_rate": self.RATE})
        cut = [[whole[0], whole[1][:n], b""] for n in range(3, len(whole[1]) - 8, 5)]
        many = [b"iq ", struct.pack("<HBQQ", 0x5ff0, 1, 0, 2**60), b""]
        deep = [b"iq ", struct.pack("<HBQQ", 0x5ff0, 1, 0, 1) + bytes(8) + b"\x0c\0\0\0\1" * 1000, b""]
        messages, sub = self.received([*cut, many, deep, whole])
        self.assertEqual((len(messages), sub.malformed), (1, len(cut) + 2))


class Malformed(SubscribeTest):
    def test_it_is_counted_and_left_out(self):
        x = ramp(4)
        good = header(x)
        def with_(**more):
            return json_frames("t", x, **{**good, **more})
        wrong = [[b"t"], [b"t {}"], [b"", b""], [b"t {", b""], [b"t []", b""], [b"t null", b""], [b"\xff {}", b""],
                 [b"t " + b"[" * 100_000, b""], [b"t " + b'{"a":' * 100_000, b""], [b"t {}", b"", b""],
                 [b"t iqd1" + bytes(60), b"123"], [b"t iqd1" + b"\xff" * 60, b"123"], [b"t iqd1", b""],
                 with_(dtype="O"), with_(dtype="<c32"), with_(dtype=5), with_(dtype=[["a", "<i4"]]), with_(dtype=">c8"),
                 with_(shape=[5]), with_(shape=[3]), with_(shape=[-4]), with_(shape="4"), with_(shape=[4.0]),
                 with_(shape=[2**70]), with_(shape=[2**62, 2**62]), with_(shape=[[4]]), with_(shape=[1] * 40 + [4]),
                 [json_frames("t", x)[0].replace(b"433920000.0", b"NaN"), x.tobytes()],
                 [json_frames("t", x)[0] + b"}", x.tobytes()]]
        messages, sub = self.received([*wrong, json_frames("t", x)])
        self.assertEqual((len(messages), sub.malformed), (1, len(wrong)))
        self.assertIn("not a JSON object", sub.malformed_why)
        np.testing.assert_array_equal(messages[0].data, x)

    def test_strange_facts_do_no_harm(self):
        x = ramp(4)
        strange = dict(seq="1", sample=2.5, gap=-3, time_ns=None, sample_rate="fast", frequency=[], dims=7, axes=5)
        (m, n), sub = self.received([json_frames("t", x, **strange),
                                     json_frames("t", x, seq=2**64 - 1, dims=["a", "b"])])
        self.assertEqual((m.seq, m.sample, m.gap, m.time, m.latency, m.rate, m.frequency, m.dims, m.axes, m.items),
                         (None, None, 0, None, None, None, None, (), {}, None))
        self.assertEqual((n.seq, n.dims), (2**64 - 1, ()))
        self.assertEqual((sub.messages, sub.lost_messages), (2, 0))
        self.assertIn("t: complex64 [4]", repr(m))

    def test_random_bytes(self):
        rng = np.random.default_rng(1)
        head, payload = json_frames("t", ramp(4), packets=[{"start": 1}])
        frames = []
        for _ in range(2000):
            bad = bytearray(head)
            for at in rng.integers(0, len(bad), 3):
                bad[at] = rng.integers(256)
            frames.append([bytes(bad), payload])
        messages, sub = self.received(frames)
        self.assertEqual(len(messages) + sub.malformed, 2000)
        for m in messages:
            self.assertEqual(m.data.nbytes, 32)
            repr(m)


class Wrong(unittest.TestCase):
    def refused(self, words, *arguments, **options):
        with self.assertRaises(iqd.ConfigError) as caught:
            iqd.subscribe(*arguments, **options)
        self.assertIn(words, str(caught.exception))

    def test_endpoints(self):
        for endpoint in ("127.0.0.1:5555", "tcp://127.0.0.1", "tcp://127.0.0.1:0", "tcp://127.0.0.1:99999", "tcp://:5",
                         "tcp://h:5x", "udp://127.0.0.1:1", "ipc://", "", None, 5, b"tcp://127.0.0.1:1"):
            self.refused("is not an endpoint: use tcp://host:port", endpoint)
        self.refused("there is no endpoint", [])
        self.refused("cannot connect to ipc://" + "x" * 200, "ipc://" + "x" * 200)

    def test_options(self):
        where = "tcp://127.0.0.1:1"
        self.refused("is not a topic", where, "a b")
        self.refused("is not a topic", where, ["a", None])
        self.refused("neither", where, kind="push")
        self.refused("bind=True is for", where, bind=True)
        self.refused("must be seconds", where, timeout=float("nan"))
        self.refused("must be seconds", where, timeout=-1)
        self.refused("must be seconds", where, reconnect="soon")
        self.refused("is not a type of samples", where, dtype="<q9")
        self.refused("number of messages", where, hwm=-1)

    def test_nothing_listens(self):
        with iqd.subscribe("tcp://127.0.0.1:9", timeout=0.2) as sub:
            with self.assertRaisesRegex(iqd.Timeout, "no message in 0.2 s: .*nothing listens there"):
                next(sub)
            with self.assertRaises(TimeoutError):
                sub.receive(timeout=0)
            self.assertFalse(sub.closed)

    def test_a_warning_says_why_nothing_comes(self):
        with iqd.subscribe("ipc:///nowhere/at/all", timeout=3.3) as sub:
            with warnings.catch_warnings(record=True) as said, self.assertRaises(iqd.Timeout):
                warnings.simplefilter("always")
                next(sub)
        self.assertEqual(len(said), 1)
        self.assertIn("no message yet: ipc:///nowhere/at/all: nothing listens there", str(said[0].message))
        self.assertEqual(said[0].filename, __file__)


if __name__ == "__main__":
    unittest.main()
