# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A live radio in a GNU Radio flowgraph: a million items, each checked. framing_test.py tests the tags themselves."""

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

RATE, TONE, COUNT = 1e6, 123_457, 1_000_000
LOSE_EVERY, LOSE = 300_000, 777


@unittest.skipIf(gr is None, "NOT TESTED: GNU Radio with gr-zeromq is not installed")
class GnuRadio(iqd.SystemTest):
    def read(self, source, where, entry, args="", waiting=True):
        """Reads COUNT items of the simulated radio in real time, and their tags."""
        sink = blocks.vector_sink_c()
        head = blocks.head(gr.sizeof_gr_complex, COUNT)
        top = gr.top_block()
        top.connect(source, head, sink)
        text = (f"source: {{soapy: {{args: \"driver=iqdsim,frequency={TONE}{args}\", rate: {RATE}, "
                f"frequency: 433.92 MHz}}}}\nblock: 16384\n"
                f"publish: [{{port: source, topic: iq, bind: \"{where}\", dtype: cf32, {entry}}}]\n")
        top.start()
        try:
            with self.daemon(text, *(["--wait-subscribers", 1] if waiting else [])) as daemon:
                ends = time.monotonic() + iqd.PATIENCE
                while len(sink.data()) < COUNT and time.monotonic() < ends:
                    time.sleep(0.05)
                top.stop()
                self.assertEqual(daemon.stop(), 0, daemon.text)
        finally:
            top.stop()
            top.wait()
        x = np.array(sink.data(), np.complex64)
        self.assertEqual(len(x), COUNT)
        return x, sink.tags()

    def assertTone(self, x, places):
        """Each sample is the tone's at its position, up to a common phase: a queue's reader may have started late.

        The tone's phase does not repeat within COUNT samples, so no other position would match.
        """
        ideal = iqd.tone(places, TONE, RATE)
        turn = np.vdot(ideal, x)
        self.assertLess(np.abs(x - ideal * turn / abs(turn)).max(), 1.1 / 32768)

    def test_a_million_items_by_subscription(self):
        where = iqd.endpoint()
        source = gr_zeromq.sub_source(gr.sizeof_gr_complex, 1, where, 100, False, -1, "iq ")
        x, _ = self.read(source, where, "framing: json")
        self.assertTone(x, np.arange(COUNT))

    def check_tagged(self, source, where, entry, waiting):
        """The time tags give the position of each run of samples, so losses are known to the sample."""
        x, tags = self.read(source, where, entry, f",lose_every={LOSE_EVERY},lose={LOSE}", waiting)
        times = {t.offset: pmt.to_python(t.value) for t in tags if pmt.symbol_to_string(t.key) == "rx_time"}
        facts = {pmt.symbol_to_string(t.key): pmt.to_python(t.value) for t in tags}
        self.assertEqual((facts["rx_rate"], facts["rx_freq"]), (RATE, 433.92e6))
        gaps = sorted(times)[1:]
        self.assertEqual(gaps, list(range(gaps[0], COUNT, LOSE_EVERY - LOSE)))
        places = np.arange(COUNT)
        seconds, fraction = times[0]
        for offset in gaps:
            place = round(((times[offset][0] - seconds) + (times[offset][1] - fraction)) * RATE)
            self.assertEqual(place, places[offset] + LOSE)
            places[offset:] = place + np.arange(COUNT - offset)
        self.assertTone(x, places)

    def test_a_million_items_with_losses_that_are_tagged(self):
        where = iqd.endpoint()
        source = gr_zeromq.sub_source(gr.sizeof_gr_complex, 1, where, 100, True, -1, "iq ")
        self.check_tagged(source, where, "framing: gnuradio-tags", True)

    def test_a_million_items_off_a_queue(self):
        where = iqd.endpoint()
        source = gr_zeromq.pull_source(gr.sizeof_gr_complex, 1, where, 100, True)
        self.check_tagged(source, where, "kind: push, framing: gnuradio-tags", False)

    def test_what_it_sends_has_no_header_and_is_refused(self):
        """`source: zmq` reads iqd's own format; messages of GNU Radio's sinks are ignored, with the reason."""
        where = iqd.endpoint()
        text = f"source: {{zmq: {{kind: pull, connect: \"{where}\", rate: 1e6}}}}\n"
        sink = gr_zeromq.push_sink(gr.sizeof_gr_complex, 1, where)
        top = gr.top_block()
        top.connect(blocks.null_source(gr.sizeof_gr_complex), sink)
        with self.daemon(text + f"publish: [{{port: source, topic: t, bind: \"{iqd.endpoint()}\"}}]\n") as daemon:
            top.start()
            try:
                daemon.wait_for_log("ignored a message: it does not have two frames")
            finally:
                top.stop()
                top.wait()
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertEqual(daemon.final[0]["received"], 0)

    def check_into(self, sink, where, entry, lossless=True):
        """Sends a ramp of COUNT items from a flowgraph to iqd, which publishes it."""
        out = iqd.endpoint()
        reader = self.reader(out, "t")
        ramp = (np.arange(COUNT) - 1j).astype(np.complex64)
        head = blocks.vector_source_c(ramp, False)
        top = gr.top_block()
        top.connect(head, blocks.throttle(gr.sizeof_gr_complex, 2 * RATE), sink)
        text = (f"source: {{zmq: {{connect: \"{where}\", rate: {RATE}, {entry}}}}}\nblock: 10000\n"
                f"publish: [{{port: source, topic: t, bind: \"{out}\"}}]\n")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            daemon.wait_for(lambda p: p["endpoints"][0]["connected"] == 1)
            time.sleep(0.5)  # a subscription needs time to arrive
            top.start()
            try:
                messages = reader.take(1)
                while messages[-1].x[-1].real < COUNT - 10000:
                    messages += reader.take(1)
            finally:
                top.stop()
                top.wait()
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertConserved(daemon.final[0])
        x = np.concatenate([m.x for m in messages])
        if lossless:
            self.assertEqual(x[0], ramp[0])
        first = int(x[0].real)
        np.testing.assert_array_equal(x, ramp[first:first + len(x)])

    def test_a_flowgraph_that_answers(self):
        where = iqd.endpoint()
        self.check_into(gr_zeromq.rep_sink(gr.sizeof_gr_complex, 1, where), where, "kind: req")

    def test_a_flowgraph_that_pushes(self):
        where = iqd.endpoint()
        self.check_into(gr_zeromq.push_sink(gr.sizeof_gr_complex, 1, where), where, "kind: pull, framing: raw")

    def test_a_flowgraph_that_publishes(self):
        where = iqd.endpoint()
        self.check_into(gr_zeromq.pub_sink(gr.sizeof_gr_complex, 1, where, 100, False, -1, "key"), where,
                        "kind: sub, framing: raw, topic: key", lossless=False)

    def test_a_flowgraph_that_publishes_with_tags(self):
        where = iqd.endpoint()
        self.check_into(gr_zeromq.pub_sink(gr.sizeof_gr_complex, 1, where, 100, True, -1), where,
                        "kind: sub, framing: gnuradio-tags", lossless=False)

    def test_a_flowgraph_that_asks(self):
        where = iqd.endpoint()
        ramp = (np.arange(COUNT) - 1j).astype(np.complex64)
        path = iqd.write_recording(self.folder / "ramp", ramp, rate=RATE)
        sink = blocks.vector_sink_c()
        top = gr.top_block()
        top.connect(gr_zeromq.req_source(gr.sizeof_gr_complex, 1, where), sink)
        text = (f"source: {{file: {{path: {path}}}}}\nblock: 10000\n"
                f"sinks: [{{port: source, zmq: {{kind: rep, bind: \"{where}\"}}}}]\n")
        top.start()
        try:
            with self.daemon(text) as daemon:
                self.assertEqual(daemon.wait(), 0, daemon.text)
            time.sleep(0.2)
        finally:
            top.stop()
            top.wait()
        np.testing.assert_array_equal(np.array(sink.data(), np.complex64), ramp)

    def test_tags_of_a_flowgraph_are_times(self):
        """`rx_time` in the middle of a flowgraph's stream dates the samples after it."""
        where, out = iqd.endpoint(), iqd.endpoint()
        reader = self.reader(out, "t")
        tag = gr.tag_t()
        tag.offset, tag.key = 12345, pmt.intern("rx_time")
        tag.value = pmt.make_tuple(pmt.from_uint64(1_700_000_000), pmt.from_double(0.25))
        source = blocks.vector_source_c(np.zeros(100_000, np.complex64), False, 1, [tag])
        top = gr.top_block()
        top.connect(source, gr_zeromq.push_sink(gr.sizeof_gr_complex, 1, where, 100, True))
        text = (f"source: {{zmq: {{kind: pull, connect: \"{where}\", rate: {RATE}, framing: gnuradio-tags}}}}\n"
                f"block: 10000\npublish: [{{port: source, topic: t, bind: \"{out}\"}}]\n")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            top.start()
            try:
                messages = reader.take(5)
            finally:
                top.stop()
                top.wait()
            self.assertEqual(daemon.stop(), 0, daemon.text)
        last = messages[-1]
        self.assertEqual(last.time_ns, 1_700_000_000_250_000_000 + (last.sample - 12345) * 1000)


if __name__ == "__main__":
    unittest.main()
