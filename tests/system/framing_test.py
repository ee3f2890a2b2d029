# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The other framings: `struct`, read as docs/wire.md describes, and `gnuradio-tags` in a GNU Radio flowgraph."""

import struct
import time
import unittest

import numpy as np

import iqd

try:
    import pmt
    from gnuradio import blocks, gr
    from gnuradio import zeromq as gr_zeromq
except ImportError:
    gr = None

RATE = 1e6
SECOND_AT = 130000  # stream position of the recording's second segment: 30000 samples are missing before it
PIECES = [100000, 150000]
START = "2024-02-03T04:05:06.250000Z"
START_S = 1706933106


def ramp(n):
    """Values that encode their position."""
    return (np.arange(n) / 1e6 - 1j * np.arange(n) / 1e6).astype(np.complex64)


class Framing(iqd.SystemTest):
    def recording(self, x, **more):
        captures = [{"core:sample_start": 0, "core:frequency": 433.92e6, "core:datetime": START},
                    {"core:sample_start": PIECES[0], "core:global_index": SECOND_AT, "core:frequency": 433.92e6,
                     "core:datetime": "2024-02-03T04:05:06.380000Z"}]
        return iqd.write_recording(self.folder / "signal", x, rate=RATE, captures=captures, **more)

    def pipeline(self, path, where, framing, port="source", stages="", kind="pub"):
        return (f"name: test\nsource: {{file: {{path: {path}}}}}\nblock: 8192\nstages: [{stages}]\n"
                f"publish:\n  - {{port: {port}, topic: iq, bind: \"{where}\", kind: {kind}, framing: {framing}}}\n")


class Struct(Framing):
    FIELDS = "magic element ndim varying flags seq sample time_ns extent gap dropped halo item".split()

    def read(self, socket):
        head, payload = socket.recv_multipart()
        self.assertTrue(head.startswith(b"iq "))
        self.assertEqual(len(head), 3 + 64)
        return dict(zip(self.FIELDS, struct.unpack("<4s2BbBQ5q2I", head[3:]))), payload

    def take(self, x, port="source", stages=""):
        where = iqd.endpoint()
        socket = self.reader(where, "iq").socket
        with self.daemon(self.pipeline(self.recording(x), where, "struct", port, stages), "--wait-subscribers", 1) as d:
            self.assertEqual(d.wait(), 0, d.text)
        messages = []
        while socket.poll(300):
            messages.append(self.read(socket))
        self.assertEqual([m["seq"] for m, _ in messages], list(range(len(messages))))
        self.assertTrue(all(m["magic"] == b"iqd1" for m, _ in messages))
        return messages

    def test_samples_places_and_gaps(self):
        x = ramp(sum(PIECES))
        messages = self.take(x)
        got = np.concatenate([np.frombuffer(payload, "<c8") for _, payload in messages])
        np.testing.assert_array_equal(got, x)
        due = 0
        for m, payload in messages:
            self.assertEqual((m["element"], m["ndim"], m["varying"], m["item"]), (1, 1, 0, 1))
            self.assertEqual(m["extent"] * 8, len(payload))
            self.assertEqual(m["gap"], SECOND_AT - PIECES[0] if m["sample"] == SECOND_AT else 0)
            self.assertEqual(m["dropped"], 0 if m["sample"] < SECOND_AT else SECOND_AT - PIECES[0])
            self.assertEqual(m["sample"], due + m["gap"])
            self.assertEqual(m["flags"], 1)
            self.assertEqual(m["time_ns"], START_S * 10**9 + 250_000_000 + m["sample"] * 1000)
            due = m["sample"] + m["extent"]

    def test_integers_frames_and_rows(self):
        x = np.arange(2 * 2 * 4096, dtype=np.int16).reshape(4096, 2, 2)
        path = iqd.write_recording(self.folder / "pair", x, rate=RATE)
        where, other = iqd.endpoint(), iqd.endpoint()
        sockets = [self.reader(at, "iq").socket for at in (where, other)]
        text = self.pipeline(path, where, "struct", "fft.out", "fft: {size: 256}")
        text += f"  - {{port: source, topic: iq, bind: \"{other}\", framing: struct}}\n"
        with self.daemon(text, "--wait-subscribers", 2) as d:
            self.assertEqual(d.wait(), 0, d.text)
        seen = {}
        for socket in sockets:
            while socket.poll(300):
                m, payload = self.read(socket)
                seen[m["element"]] = (m, payload)
        m, payload = seen[1]
        self.assertEqual((m["ndim"], m["varying"], m["extent"], m["item"]), (3, 1, 16, 256))
        self.assertEqual(np.frombuffer(payload, "<c8").reshape(-1, m["extent"], m["item"]).shape, (2, 16, 256))
        m, payload = seen[0]
        self.assertEqual((m["ndim"], m["varying"], m["extent"], m["item"]), (2, 1, 4096, 1))
        got = np.frombuffer(payload, "<i2").reshape(2, 4096, 2)
        np.testing.assert_array_equal(got, x.transpose(1, 0, 2))


@unittest.skipIf(gr is None, "NOT TESTED: GNU Radio with gr-zeromq is not installed")
class GnuRadio(Framing):
    def receive(self, source, sink, count):
        """A generator: first starts a flowgraph, then waits for `count` values and yields them and their tags."""
        top = gr.top_block()
        top.connect(source, sink)
        top.start()
        try:
            yield
            ends = time.monotonic() + iqd.PATIENCE
            while len(sink.data()) < count and time.monotonic() < ends:
                time.sleep(0.05)
        finally:
            top.stop()
            top.wait()
        yield sink.data(), sink.tags()

    def run_graph(self, source, text, count, *arguments, sink=None):
        graph = self.receive(source, sink or blocks.vector_sink_c(), count)
        next(graph)
        with self.daemon(text, *arguments) as d:
            data, tags = next(graph)
            self.assertEqual(d.wait(), 0, d.text)
        return data, tags

    def assertTagged(self, tags, rate=RATE):
        """Tags at the start and after the gap: time, rate and frequency. The times are those of the samples."""
        places = {0: 0.25, PIECES[0] * rate / RATE: 0.38}
        self.assertEqual({t.offset for t in tags}, set(places))
        self.assertEqual(len(tags), 6)
        for t in tags:
            key, value = pmt.symbol_to_string(t.key), pmt.to_python(t.value)
            if key == "rx_time":
                self.assertEqual(value[0], START_S)
                self.assertAlmostEqual(value[1], places[t.offset], places=8)
            else:
                self.assertEqual(value, {"rx_rate": rate, "rx_freq": 433.92e6}[key])

    def test_a_subscriber_gets_samples_and_tags(self):
        x = ramp(sum(PIECES))
        where = iqd.endpoint()
        source = gr_zeromq.sub_source(gr.sizeof_gr_complex, 1, where, 100, True, -1, "iq ")
        data, tags = self.run_graph(source, self.pipeline(self.recording(x), where, "gnuradio-tags"), len(x),
                                    "--wait-subscribers", 1)
        np.testing.assert_array_equal(np.array(data, np.complex64), x)
        self.assertTagged(tags)
        self.assertEqual({pmt.symbol_to_string(t.srcid) for t in tags}, {"source"})

    def test_the_rate_is_that_of_the_port(self):
        x = ramp(sum(PIECES))
        where = iqd.endpoint()
        source = gr_zeromq.sub_source(gr.sizeof_gr_complex, 1, where, 100, True, -1, "iq")
        text = self.pipeline(self.recording(x), where, "gnuradio-tags", "fir.out", "fir: {taps: [1], decimation: 4}")
        data, tags = self.run_graph(source, text, len(x) // 4, "--wait-subscribers", 1)
        np.testing.assert_array_equal(np.array(data, np.complex64), x[::4])
        self.assertTagged(tags, RATE / 4)

    def test_a_puller_gets_samples_and_tags(self):
        x = ramp(sum(PIECES))
        where = iqd.endpoint()
        source = gr_zeromq.pull_source(gr.sizeof_gr_complex, 1, where, 100, True)
        text = self.pipeline(self.recording(x), where, "gnuradio-tags", kind="push")
        data, tags = self.run_graph(source, text, len(x))
        np.testing.assert_array_equal(np.array(data, np.complex64), x)
        self.assertTagged(tags)

    def test_integers_are_pairs_of_shorts(self):
        x = np.arange(2 * sum(PIECES), dtype=np.int32).astype(np.int16).reshape(-1, 2)
        where = iqd.endpoint()
        source = gr_zeromq.sub_source(gr.sizeof_short, 2, where, 100, True, -1, "iq ")
        data, tags = self.run_graph(source, self.pipeline(self.recording(x), where, "gnuradio-tags"), x.size,
                                    "--wait-subscribers", 1, sink=blocks.vector_sink_s(2))
        np.testing.assert_array_equal(np.array(data, np.int16).reshape(-1, 2), x)
        self.assertTagged(tags)

    def test_json_goes_to_a_flowgraph_without_tags(self):
        x = ramp(sum(PIECES))
        where = iqd.endpoint()
        source = gr_zeromq.sub_source(gr.sizeof_gr_complex, 1, where, 100, False, -1, "iq ")
        data, tags = self.run_graph(source, self.pipeline(self.recording(x), where, "json"), len(x),
                                    "--wait-subscribers", 1)
        np.testing.assert_array_equal(np.array(data, np.complex64), x)
        self.assertEqual(len(tags), 0)


class Tags(Framing):
    def test_a_late_reader_gets_tags_within_a_second_of_the_stream(self):
        where = iqd.endpoint()
        text = (f"name: test\nsource: {{generate: {{rate: 1 MS/s, samples: 2500000}}}}\nblock: 50000\npublish:\n"
                f"  - {{port: source, topic: t, bind: \"{where}\", framing: gnuradio-tags}}\n")
        socket = self.reader(where, "t").socket
        with self.daemon(text, "--wait-subscribers", 1) as d:
            self.assertEqual(d.wait(), 0, d.text)
        tagged, place = [], 0
        while socket.poll(300):
            key, head, rest = socket.recv_multipart()
            self.assertEqual(key, b"t ")
            magic, version, offset, count = struct.unpack("<HBQQ", head[:19])
            self.assertEqual((magic, version, offset), (0x5FF0, 1, place))
            place += 1 + len(rest) // 8
            if count:
                tagged.append(offset)
        self.assertEqual(tagged, [0, 1000000, 2000000])

    def test_offsets_count_items_of_the_port(self):
        """After a stage that decimates, and after a fractional ratio: offsets count the items that came, and jump by
        the missing ones."""
        lost = SECOND_AT - PIECES[0]
        path = self.recording(ramp(sum(PIECES)))
        for stage, port, up, down in (("fir: {taps: [1], decimation: 4}", "fir.out", 1, 4),
                                      ("resampler: {ratio: 3/5}", "resampler.out", 3, 5)):
            where = iqd.endpoint()
            socket = self.reader(where, "iq").socket
            with self.daemon(self.pipeline(path, where, "gnuradio-tags", port, stage), "--wait-subscribers", 1) as d:
                self.assertEqual(d.wait(), 0, d.text)
            place, missing = 0, []
            while socket.poll(300):
                _, head, rest = socket.recv_multipart()
                offset, = struct.unpack("<Q", head[3:11])
                if offset != place:
                    missing.append(offset - place)
                place = offset + 1 + len(rest) // 8
            self.assertEqual(len(missing), 1, stage)
            self.assertAlmostEqual(missing[0], lost * up / down, delta=1)
            self.assertAlmostEqual(place, (sum(PIECES) + lost) * up / down, delta=1)

    def test_ports_that_are_no_plain_stream_are_refused(self):
        for stage, port in [("fft: {size: 256}", "fft.out"), ("spectrum: {size: 256}", "spectrum.out")]:
            path = self.folder / "wrong.yaml"
            path.write_text(f"source: {{generate: {{rate: 1 MS/s}}}}\nstages: [{stage}]\npublish:\n"
                            f"  - {{port: {port}, topic: t, bind: \"ipc://x\", framing: gnuradio-tags}}\n",
                            encoding="utf-8")
            done = iqd.command("check", path)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"wrong\.yaml:4:\d+ publish\[0\]\.framing: gnuradio-tags needs samples of one channel")


if __name__ == "__main__":
    unittest.main()
