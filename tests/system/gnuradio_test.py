# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A live radio in a flowgraph of GNU Radio: a million items, each looked at. What the tags are is tested in framing."""

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
        """COUNT items of the simulated radio, at its own speed, and their tags."""
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
        """Each sample is that of its place, but for a turn of all of them: a queue's reader may have come late.

        The tone's phase does not come again within COUNT samples, so that no other place would do.
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
        """The time tags say where each stretch of samples belongs, so that the losses are known to the sample."""
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
        """`source: zmq` reads iqd's own format; what GNU Radio's sinks send is left out, with the reason."""
        where = iqd.endpoint()
        text = f"source: {{zmq: {{kind: pull, connect: \"{where}\", rate: 1e6}}}}\n"
        sink = gr_zeromq.push_sink(gr.sizeof_gr_complex, 1, where)
        top = gr.top_block()
        top.connect(blocks.null_source(gr.sizeof_gr_complex), sink)
        with self.daemon(text + f"publish: [{{port: source, topic: t, bind: \"{iqd.endpoint()}\"}}]\n") as daemon:
            top.start()
            try:
                daemon.wait_for_log("a message was left out: it has not two frames")
            finally:
                top.stop()
                top.wait()
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertEqual(daemon.final[0]["received"], 0)


if __name__ == "__main__":
    unittest.main()
